"""Metadata is loaded whole or rejected, whatever form and options a load has."""

from __future__ import annotations

from typing import Any

import pytest
from comptroller import Service
from examples import accounted, short_line

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

OPTIONS: list[dict[str, Any]] = [{}, {"tz": "UTC"}, {"decimal": ","}]
METADATA: list[tuple[object, dict[str, str] | None]] = [
    ({"a": "1", "b": None}, {"a": "1"}),
    ([{"key": "a", "value": "1"}, {"key": "b", "value": "2"}], {"a": "1", "b": "2"}),
    ([("a", "1"), ["b", "2"]], {"a": "1", "b": "2"}),
    ((("a", "1"),), {"a": "1"}),
    ('{"a": "1"}', {"a": "1"}),
    ([], {}),
    ([{"a": "1"}, {"b": "2"}], None),
    ([{"key": "a", "value": "1"}, {"key": "a", "value": "2"}], None),
    ([("a", "1"), ("a", "2")], None),
    ([{"key": "a", "value": "1", "unit": "m"}], None),
    ([{"key": "a"}], None),
    ([("a", "1"), {"b": "2"}], None),
    ([("a", "1", "2")], None),
    ([(1, "1")], None),
    (["ab", "cd"], None),
    ('{"a": "1", "a": "2"}', None),
    ('{"a": NaN}', None),
    ('[{"key": "a", "value": "1"}]', None),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("given", "expected"), METADATA, ids=str)
def test_metadata_is_whole_or_rejected(
    operator: Service, given: object, expected: dict[str, str] | None, options: dict[str, Any]
) -> None:
    row = short_line("orchestrations", metadata=given)
    result = accounted(operator.load("orchestrations", [row], **options))
    is_rejected = expected is None
    assert [each.member for each in result.rejections] == ["metadata"] * is_rejected
    found = [each.metadata for each in operator.orchestrations.iter()]
    assert found == [expected] * (not is_rejected)


PAIRS = [("a", "1"), ("b", "2")]
MAPS: dict[str, Any] = {
    "a map": pa.array([PAIRS], pa.map_(pa.string(), pa.string())),
    "structs": pa.array([[{"key": key, "value": value} for key, value in PAIRS]]),
    "lists": pa.array([[[*pair] for pair in PAIRS]]),
}
LIBRARIES: dict[str, Any] = {
    "pyarrow": lambda table: table,
    "polars": pl.DataFrame,
    "pandas": lambda table: table.to_pandas(),
    "pandas of Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("form", MAPS)
@pytest.mark.parametrize("pairs", [PAIRS, [], [("a", "1"), ("a", "2")]], ids=str)
def test_pairs_of_a_frame_are_metadata(
    operator: Service, pairs: list[Any], form: str, library: str, options: dict[str, Any]
) -> None:
    values = [
        [{"key": k, "value": v} for k, v in each] if form == "structs" else each
        for each in (pairs, PAIRS)
    ]
    rows = [short_line("orchestrations", id=f"o-{n}") for n in range(2)]
    metadata = pa.array(values, MAPS[form].type)
    table = pa.Table.from_pylist(rows).append_column("metadata", metadata)
    frame = LIBRARIES[library](table)
    result = accounted(operator.load("orchestrations", frame, keep_going=True, **options))
    found = {each.id: each.metadata for each in operator.orchestrations.iter()}
    is_unique = len(dict(pairs)) == len(pairs)
    assert found == ({"o-0": dict(pairs)} if is_unique else {}) | {"o-1": dict(PAIRS)}
    assert [each.line for each in result.rejections] == ([] if is_unique else [1])
