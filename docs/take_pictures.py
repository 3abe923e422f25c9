"""The pictures of the documentation: `make pictures`.

python docs/take_pictures.py    writes the pictures, and pictures.json with what they show

A test makes the pages again and compares what they show with pictures.json. It does not compare
pixels, which depend on fonts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

DOCS = Path(__file__).parent
RECORD = DOCS / "pictures.json"
NOTEBOOK = DOCS.parent / "notebooks" / "02_claims_analysis.ipynb"
#: The cell of the notebook that the picture shows.
CELL = 'real.reports.claims_summary(by=["month", "asset"]).plot()'
_NAVIGATION = "h1, nav a"
#: Not the labels of axes: Vega cuts and omits them by the width of a font.
_DRAWING = "[class*=role-title] text, .role-axis-title text, .role-legend text"
_REPORT = f"h2, p, {_DRAWING}, summary, button, th"


class Picture(NamedTuple):
    """A picture of a page.

    Attributes:
        file: its path in docs.
        page: the name of the page; see `pages`.
        size: width and height of the window in pixels; None for the whole page.
        section: the element to scroll to.
        shows: the elements whose texts the picture shows.
    """

    file: str
    page: str
    size: tuple[int, int]
    shows: str
    section: str | None = None
    scheme: str = "light"
    is_whole: bool = False


PICTURES = (
    Picture(
        "docs-page.png",
        "interface",
        (1200, 790),
        ".info .title, .info p, .authorize, #operations-tag-identities,"
        " [id^=operations-identities-] .opblock-summary",
    ),
    Picture("notebook.png", "notebook", (760, 400), f"code, {_DRAWING}", is_whole=True),
    Picture(
        "how-to/report-overview.png",
        "reports",
        (1100, 820),
        f"{_NAVIGATION}, #overview :is(h2, h3, li, button, th)",
    ),
    Picture(
        "how-to/report-dark.png",
        "reports",
        (1600, 900),
        f"{_NAVIGATION}, #claims_summary :is({_REPORT})",
        section="#claims_summary",
        scheme="dark",
    ),
    Picture(
        "how-to/report-narrow.png",
        "reports",
        (400, 820),
        f"nav a, #failures :is({_REPORT})",
        section="#failures",
    ),
)


@contextmanager
def browsing() -> Iterator[Any]:
    """Yields a headless Chromium. Raises RuntimeError if it is not installed."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        raise RuntimeError("there is no chromium; install it: apt-get install chromium")
    with sync_playwright() as playwright:
        # Its sandbox does not work in a container; it opens only pages of this module.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def pages() -> Iterator[dict[str, str]]:
    """Makes the pages; yields their addresses by name."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with _served(folder) as interface:
            yield {
                "interface": interface,
                "reports": _reports(folder).as_uri(),
                "notebook": _notebook(folder).as_uri(),
            }


def opened(browser: Any, picture: Picture, pages: dict[str, str]) -> Any:
    """Opens the page of a picture in a window of its size and colours."""
    width, height = picture.size
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=picture.scheme
    )
    page.goto(pages[picture.page])
    page.locator(picture.shows).first.wait_for()
    if picture.section is not None:
        page.locator(picture.section).evaluate("section => section.scrollIntoView()")
        page.locator(f"nav a[href='{picture.section}'][aria-current]").wait_for()
    return page


def shown(page: Any, picture: Picture) -> list[str]:
    """Returns the texts that a picture of the page shows, in the order of the page."""
    # Elements of an SVG have no innerText.
    script = "all => all.map(each => each.innerText ?? each.textContent)"
    texts = page.locator(picture.shows).evaluate_all(script)
    return [" ".join(text.split()) for text in texts]


def digest(picture: Picture) -> str:
    """Returns the digest of the file of a picture."""
    return sha256((DOCS / picture.file).read_bytes()).hexdigest()


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "comptroller", "serve", "--empty", "--port", "0"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=folder, text=True, **pipes) as server:
        try:
            assert server.stdout is not None
            found = re.search(r" at (http://\S+)", server.stdout.readline())
            assert found
            yield f"{found[1]}/docs"
        finally:
            server.terminate()


def _reports(folder: Path) -> Path:
    """Writes the page of all reports on generated records; returns its path."""
    for words in (
        ("sample", "all", "--rows", "3000", "--out", "sample"),
        ("load", "sample", "--db", "books.db"),
        ("report", "--html", "reports.html", "--db", "books.db"),
    ):
        command = [sys.executable, "-m", "comptroller", *words]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "reports.html"


def _notebook(folder: Path) -> Path:
    """Runs the notebook up to the cell of the picture; returns the path of a page of that cell."""
    import nbformat
    from nbclient import NotebookClient
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    number = [cell.source for cell in notebook.cells].index(CELL)
    notebook.cells = notebook.cells[: number + 1]
    where = {"metadata": {"path": str(NOTEBOOK.parent)}}
    client = NotebookClient(notebook, kernel_name="python3", resources=where)
    client.execute(env={**os.environ, "IPYTHONDIR": str(folder)})
    cell = notebook.cells[-1]
    [output] = [each.data["image/svg+xml"] for each in cell.outputs if "data" in each]
    formatter = HtmlFormatter(nowrap=True)
    page = folder / "notebook.html"
    page.write_text(
        f"""<!DOCTYPE html><meta charset="utf-8"><title>{escape(NOTEBOOK.name)}</title><style>
        {formatter.get_style_defs("code")}
        body {{ margin: 8px 0; display: grid; grid-template-columns: 90px auto; gap: 10px 8px;
          font: 13px monospace }}
        i {{ text-align: right; color: #666; font-style: normal; padding: 6px 0 }}
        code {{ background: #f5f5f5; border: 1px solid #ddd; padding: 6px; font: inherit }}
        </style><i>In [{cell.execution_count}]:</i>
        <code>{highlight(cell.source, PythonLexer(), formatter)}</code>
        <i>Out[{cell.execution_count}]:</i><div>{output}</div>""",
        encoding="utf-8",
    )
    return page


def main() -> None:
    """Writes all pictures, and what they show."""
    record = {}
    with browsing() as browser, pages() as made:
        for picture in PICTURES:
            page = opened(browser, picture, made)
            page.screenshot(path=DOCS / picture.file, full_page=picture.is_whole)
            record[picture.file] = {"sha256": digest(picture), "shows": shown(page, picture)}
            page.close()
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
