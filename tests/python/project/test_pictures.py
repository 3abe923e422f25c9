"""The pictures of the documentation are recent: they show what their pages show now."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from places import ROOT

DOCS = ROOT / "docs"
if not DOCS.exists():
    pytest.skip("the source distribution carries no docs", allow_module_level=True)
for needed in ("nbclient", "ipykernel", "pygments", "duckdb", "altair", "vl_convert", "httptools"):
    pytest.importorskip(needed)

sys.path.append(str(DOCS))
import take_pictures  # noqa: E402
from take_pictures import PICTURES, Picture  # noqa: E402

RECORD = json.loads(take_pictures.RECORD.read_text(encoding="utf-8"))
each_picture = pytest.mark.parametrize("picture", PICTURES, ids=lambda each: each.file)


@pytest.fixture(scope="module")
def pages() -> Iterator[dict[str, str]]:
    with take_pictures.pages() as made:
        yield made


@each_picture
@pytest.mark.xdist_group("pictures")  # making the pages takes longer than opening them
def test_a_picture_shows_what_its_page_shows(
    browser: Any, pages: dict[str, str], picture: Picture
) -> None:
    page = take_pictures.opened(browser, picture, pages)
    shown = take_pictures.shown(page, picture)
    page.close()
    assert RECORD[picture.file]["shows"] == shown, "run `make pictures`, and look at the pictures"


@each_picture
def test_a_picture_is_the_one_of_the_record(picture: Picture) -> None:
    assert RECORD[picture.file]["sha256"] == take_pictures.digest(picture)


def test_every_picture_is_made_by_the_command() -> None:
    files = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.png")}
    assert files == RECORD.keys() == {picture.file for picture in PICTURES}
