"""How the documentation is built: `make docs`, without a network."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

import comptroller
import http_reference

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "comptroller"
author = "the comptroller authors"
release = version = comptroller.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
myst_enable_extensions = ["attrs_inline", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

# In the docstrings a name in single backticks is code.
default_role = "code"
# Docstrings of reports list the columns of their rows.
napoleon_custom_sections = [("Columns", "params_style")]
# Of it only names are shown, and it is large.
autodoc_mock_imports = ["pyspark"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
autodoc_type_aliases = {"Amount": "Amount", "Time": "Time"}
nitpick_ignore_regex = [
    # The documentation of other libraries is elsewhere.
    ("py:class", r"(?!comptroller\.).*"),
    # What only type checkers name.
    (
        "py:class",
        r"comptroller\..*(Amount|ArrowStream|Definition|Engine|Filters|Host|Options|R|Rows|Source|Statement"
        r"|Streaming|Transport)",
    ),
]

html_theme = "furo"
html_title = "comptroller"
smartquotes = False
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False


def setup(app: Sphinx) -> None:
    """Puts what the interface says of itself on its page; leaves out how classes are made.

    Numbers of sections in docstrings are links.
    """
    app.connect("source-read", _add_http_reference)
    app.connect("source-read", _name_sections)
    app.connect("autodoc-process-docstring", _link_sections)
    app.connect("autodoc-process-signature", _without_constructor)


def _add_http_reference(_app: Sphinx, page: str, source: list[str]) -> None:
    if page == "reference/http":
        source[0] += http_reference.text()


def _name_sections(_app: Sphinx, page: str, source: list[str]) -> None:
    if page == "specification":
        heading = re.compile(r"^(##+ (\d+(?:\.\d+)?)\b)", re.MULTILINE)
        source[0] = heading.sub(r"(specification-\2)=\n\1", source[0])


def _link_sections(_app: Sphinx, *event: object) -> None:
    lines = event[-1]
    assert isinstance(lines, list)
    section = re.compile(r"\b([Ss]pecification) (\d+(?:\.\d+)?)")
    lines[:] = [section.sub(r":ref:`\1 \2 <specification-\2>`", line) for line in lines]


def _without_constructor(_app: Sphinx, what: str, *_: object) -> tuple[str, None] | None:
    # Programs construct neither records, whose arguments are the members below, nor services.
    return ("", None) if what in ("class", "exception") else None
