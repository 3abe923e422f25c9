"""Cells of text as other programs write them, and the advice about those that are refused."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import pytest
from comptroller import InvalidRequest, Service
from examples import GROUP, accounted, short_line

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

HEADER = "id, payout_group_id, claim_type, onchain_status, amount, created_at, error_message\n"
ROW = f"a , {GROUP}, CLAIM_ALL , CONFIRMED, 1.5 , 2026-01-31T00:00:00Z , as it is \n"


def test_spaces_around_cells_matter_in_free_text_alone(operator: Service) -> None:
    result = accounted(operator.load("claims", io.BytesIO((HEADER + ROW).encode())))
    assert result.rejections == []
    claim = operator.claims.get("a")
    assert (claim.amount, claim.claim_type) == (Decimal("1.5"), "CLAIM_ALL")
    assert claim.error_message == " as it is "


@pytest.mark.parametrize("options", [{"decimal": ","}, {"floats": "shortest"}, {"tz": "UTC"}])
def test_spaces_around_cells_of_a_mapped_file_are_no_part(
    operator: Service, options: dict[str, Any]
) -> None:
    row = ROW.replace(" 1.5 ", " 15 ").replace("2026-01-31T00:00:00Z", "31.01.2026")
    result = accounted(operator.load("claims", io.BytesIO((HEADER + row).encode()), **options))
    assert result.rejections == []
    assert operator.claims.get("a").amount == 15


@pytest.mark.parametrize("text", ["1e-07", "1e-7", "1.0E-7"])
@pytest.mark.parametrize("source", ["csv", "rows", "frame", "ndjson"])
def test_small_floats_in_text_are_accepted_on_request(
    operator: Service, source: str, text: str
) -> None:
    def given() -> Any:
        row = short_line("claims", amount=text)
        if source == "rows":
            return [row]
        if source == "ndjson":
            return io.BytesIO(json.dumps(row).encode())
        frame = pl.DataFrame([row])
        return frame if source == "frame" else io.BytesIO(frame.write_csv().encode())

    refused = accounted(operator.load("claims", given()))
    assert 'give floats="shortest"' in refused.rejections[0].message
    result = accounted(operator.load("claims", given(), floats="shortest"))
    assert (result.inserted, result.floats) == (1, 1), result.rejections
    assert operator.claims.get("claim-1").amount == Decimal("0.0000001")


@pytest.mark.parametrize("text", ["0x1", "[0x1]"])
@pytest.mark.parametrize("source", ["rows", "csv", "frame"])
def test_a_text_instead_of_a_list_is_shown_with_what_is_accepted(
    operator: Service, source: str, text: str
) -> None:
    row = short_line("claims", addresses=text)
    frame = pl.DataFrame([row])
    csv = io.BytesIO(frame.write_csv().encode())
    result = accounted(operator.load("claims", {"rows": [row], "csv": csv, "frame": frame}[source]))
    (rejection,) = result.rejections
    assert rejection.message.startswith(f"addresses: must be an array, not {text}; give a list")
    assert '["a", "b"]' in rejection.message


def test_an_id_that_is_no_uuid_has_the_option_in_its_message(operator: Service) -> None:
    row = short_line("claims", payout_group_id="GRP-001")
    result = accounted(operator.load("claims", [row]))
    assert 'give ids="uuid5"' in result.rejections[0].message
    assert accounted(operator.load("claims", [row], ids="uuid5")).inserted == 1


@pytest.mark.parametrize(
    ("group", "advice"),
    [
        ("", ""),
        (" ", "remove the spaces around it"),
        (f"{GROUP} ", "remove the spaces around it"),
        (" GRP-001", "remove the spaces around it"),
        ("GRP-001", 'give ids="uuid5" to convert other ids to UUIDs'),
        (GROUP.replace("-", ""), 'give ids="uuid5" to convert other ids to UUIDs'),
    ],
)
def test_an_option_is_advised_only_if_it_keeps_the_id(
    operator: Service, group: str, advice: str
) -> None:
    """With ids="uuid5" an empty id, and a UUID with a space, would be other UUIDs."""
    result = accounted(operator.load("claims", [short_line("claims", payout_group_id=group)]))
    (rejection,) = result.rejections
    assert rejection.message.rpartition(f'not "{group}"')[2].removeprefix("; ") == advice


@pytest.mark.parametrize("group", ["", " ", f"{GROUP} ", " GRP-001", "GRP\n001"])
@pytest.mark.parametrize("source", ["rows", "frame", "csv", "ndjson"])
def test_text_that_is_no_id_becomes_no_uuid(operator: Service, source: str, group: str) -> None:
    row = short_line("claims", payout_group_id=group)
    frame = pl.DataFrame([row])
    sources: dict[str, Any] = {
        "rows": [row],
        "frame": frame,
        "csv": io.BytesIO(frame.write_csv(quote_style="non_numeric").encode()),
        "ndjson": io.BytesIO(json.dumps(row).encode()),
    }
    result = accounted(operator.load("claims", sources[source], ids="uuid5"))
    is_stripped = source == "csv" and group.strip(" ") not in ("", group)
    expected = [] if is_stripped else ["payout_group_id"]
    assert [each.member for each in result.rejections] == expected


def test_the_value_of_another_member_is_not_shown_as_that_of_a_list(operator: Service) -> None:
    row = short_line("claims", payout_group_id="grp 1", addresses="0x1")
    (rejection,) = accounted(operator.load("claims", [row])).rejections
    assert (rejection.member, rejection.value) == ("payout_group_id", "grp 1")
    assert "addresses: must be an array; give a list" in rejection.message


def test_a_lazy_frame_is_refused_with_what_to_call(operator: Service) -> None:
    with pytest.raises(InvalidRequest, match=r"LazyFrame is not allowed; call its collect\(\)"):
        operator.load("claims", pl.DataFrame([short_line("claims")]).lazy())


def test_columns_of_pandas_with_other_names_than_texts_are_unknown(operator: Service) -> None:
    frame = pd.DataFrame([{**short_line("claims"), 1: "x"}])
    result = accounted(operator.load("claims", frame))
    assert (result.inserted, result.unknown_members) == (1, {"1": 1})
