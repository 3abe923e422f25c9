"""Reports as HTML that opens offline: a section for each, or all of them in one file.

Nothing is fetched from anywhere and nothing is run: the pictures are inline SVG, and what comes
from the store is escaped.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from html import escape
from typing import TYPE_CHECKING

from comptroller.analysis.cells import Column, columns_of
from comptroller.analysis.words import printable
from comptroller.markup import cell

if TYPE_CHECKING:
    import polars

    from comptroller.analysis.overview import Overview
    from comptroller.analysis.report import Report

#: The rows of a report that stand in a document; the rest is counted.
SHOWN_ROWS = 40
#: What is longer may be broken in print.
_LONG = 24
# A tag, and in it the names and what refers to them: words of the store stand elsewhere.
_TAG = re.compile(r'<[a-zA-Z](?:[^"<>]|"[^"]*")*>')
_NAME = re.compile(r'(\s(?:id="|(?:xlink:)?href="#|(?:clip-path|fill|mask|stroke)="url\(#))')

# Of the colours around it, so that a section fits any page.
STYLE = """
.comptroller-report { font: 14px/1.5 system-ui, "Helvetica Neue", Arial, sans-serif }
.comptroller-report h2 { font-size: 1.35em; margin: 2em 0 0 }
.comptroller-report h3 { font-size: 1.05em; margin: 1.2em 0 .3em }
.comptroller-report p { margin: .3em 0; max-width: 44em }
.comptroller-report .over { opacity: .75 }
.comptroller-report figure { margin: 1em 0; overflow-x: auto }
.comptroller-report svg { max-width: 100%; height: auto; overflow: visible }
.comptroller-report .rows { overflow-x: auto }
.comptroller-report table { border-collapse: collapse; font-size: .85em; width: auto }
.comptroller-report th, .comptroller-report td { padding: .15em .8em .15em 0; text-align: left;
  border-bottom: 1px solid rgba(128, 128, 128, .28); white-space: nowrap }
.comptroller-report .number { text-align: right; font-variant-numeric: tabular-nums }
"""
_PAGE_STYLE = """
:root { color-scheme: light dark; --ground: #fff; --text: #1f2328 }
@media (prefers-color-scheme: dark) { :root { --ground: #15181d; --text: #e6e8ea } }
body { background: var(--ground); color: var(--text); margin: 0 auto; max-width: 60em;
  padding: 2em; font: 14px/1.5 system-ui, "Helvetica Neue", Arial, sans-serif }
a { color: inherit }
h1 { font-size: 1.7em; margin: 0 0 .5em }
"""
_PRINT_STYLE = """
@media print {
  :root { color-scheme: light; --ground: #fff; --text: #000 }
  @page { margin: 15mm }
  body { max-width: none; padding: 0; font-size: 11px }
  .comptroller-report { font-size: 11px }
  .comptroller-report + .comptroller-report { break-before: page }
  .comptroller-report h2 { margin-top: 0; break-after: avoid }
  .comptroller-report figure, .comptroller-report tr { break-inside: avoid }
  .comptroller-report .rows, .comptroller-report figure { overflow: visible }
  .comptroller-report table { font-size: .62em; width: 100% }
  .comptroller-report th, .comptroller-report td { padding-right: .5em }
  .comptroller-report .text { white-space: normal; overflow-wrap: break-word }
}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def document(parts: Iterable[Report | Overview], title: str) -> str:
    """One HTML file of several reports, with a table of contents.

    It is light or dark as the reader's system is, and prints each report on pages of its own.
    Pictures are drawn by a thread, while the next of `parts` comes about.

    Raises Unavailable where altair or vl-convert is not installed.
    """
    from comptroller.analysis import plots
    from comptroller.analysis.report import Report

    contents, drawn = [], []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(plots.warm)  # starting the renderer takes as long as reading the store
        for number, part in enumerate(parts, start=1):
            if isinstance(part, Report):
                place, over = f"report-{number}", f", {escape(printable(part.over))}"
                drawn.append(pool.submit(section, part, place))
            else:
                place, over = "overview", ""
                drawn.append(pool.submit(overview, part, place))
            contents.append(f'<li><a href="#{place}">{escape(part.title)}</a>{over}</li>')
        sections = "".join(each.result() for each in drawn)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(title)}</title><style>{_PAGE_STYLE}{STYLE}{_PRINT_STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1><nav><ol>{''.join(contents)}</ol></nav>\n"
        f"{sections}</body></html>\n"
    )


def overview(shown: Overview, place: str) -> str:
    """The tables and the findings of an overview, named `place`."""
    parts = (
        "".join(f"<h3>{name}</h3>{rows_of(frame)}" for name, frame in shown.tables.items())
        or "<p>There are no claims.</p>"
    )
    findings = "".join(
        f"<li>{escape(printable(each.text))}<br><code>{escape(each.command)}</code></li>"
        for each in shown.findings
    )
    told = f"<ul>{findings}</ul>" if findings else "<p>Nothing unusual was found.</p>"
    return (
        f'<section class="comptroller-report" id="{place}"><h2>{shown.title}</h2>'
        f"<h3>Findings</h3>{told}{parts}</section>\n"
    )


def section(report: Report, place: str, shown: int = SHOWN_ROWS) -> str:
    """The title, the formula, the picture and the first rows of a report, named `place`."""
    return (
        f'<section class="comptroller-report" id="{place}"><h2>{escape(report.title)}</h2>'
        f'<p class="over">{escape(printable(report.over))}</p><p>{escape(report.formula)}</p>'
        f"<figure>{_picture(report)}</figure>{table(report, shown)}</section>\n"
    )


def table(report: Report, shown: int) -> str:
    """The first rows of a report, the rest counted."""
    if not len(report):
        return ""
    left = len(report) - shown
    more = f"<p>… {left:,} more rows</p>" if left > 0 else ""
    return rows_of(report.head(shown)) + more


def rows_of(frame: polars.DataFrame) -> str:
    """All rows as a table."""
    columns = columns_of(frame)
    marks = [_mark(column) for column in columns]
    head = "".join(
        f"<th{mark}>{escape(column.name)}</th>" for column, mark in zip(columns, marks, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{mark}>{'-' if text is None else cell(printable(text))}</td>"
            for text, mark in zip(row, marks, strict=True)
        )
        + "</tr>"
        for row in zip(*(column.texts for column in columns), strict=True)
    )
    rows = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="rows">{rows}</div>'


def _mark(column: Column) -> str:
    if column.is_number:
        return ' class="number"'
    is_long = any(text is not None and len(text) > _LONG for text in column.texts)
    return ' class="text"' if is_long else ""


def _picture(report: Report) -> str:
    written = io.StringIO()
    report.plot("page").save(written, format="svg")
    svg = written.getvalue()
    # Pictures of one page share its names: each gets its own.
    mark = f"{zlib.crc32(svg.encode()):08x}-"
    return _TAG.sub(lambda tag: _NAME.sub(rf"\g<1>{mark}", tag[0]), svg)
