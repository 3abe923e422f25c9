"""A mapping for a file, guessed from the names of its columns and their values.

A guess that the names and values do not decide is a comment, which says what to choose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias
from uuid import UUID

from msgspec.structs import replace

from comptroller.bulk import tables
from comptroller.bulk.compression import content, spool
from comptroller.bulk.documents import records
from comptroller.bulk.formats import format_of, separator_of
from comptroller.bulk.mapping import (
    GROUPED,
    GROUPED_WITH_POINT,
    TIME,
    ColumnMapping,
)
from comptroller.bulk.pipes import NamedFile
from comptroller.bulk.row_values import plain
from comptroller.bulk.table_files import table_file
from comptroller.description import core_description, derived_members, members
from comptroller.errors import invalid

_READ_ROWS = 1000
_LEAST_SCORE = 0.6
_FITS = 0.5  # what a fitting type adds to the similarity of the names, which is at most 1
_IS_REQUIRED = 0.1  # what a required member adds
_LIKE = 0.6  # the similarity of names that decides between columns of a type
_NUMBER = re.compile(r"[+-]?\d+([.,\s'\u2019]\d+)*")
# The numbers that have each decimal separator; a text may be both.
_OF_SEPARATOR = {",": GROUPED, ".": GROUPED_WITH_POINT}
_WITHOUT_WHOLE = re.compile(r"^[+-]?(?=[.,]\d)")
_TYPES = {"amount": "numbers", "timestamp": "times"}

Texts: TypeAlias = Sequence[str]
Columns: TypeAlias = Mapping[str, Sequence[object]]


class _Rename(NamedTuple):
    """A column that may be a member; if not `is_sure`, `others` may be it as well."""

    column: str
    member: str
    is_sure: bool
    others: Sequence[str]


def suggest(kind: str, source: str | BinaryIO, given: ColumnMapping) -> str:
    """Returns a mapping file (TOML) for a file of a kind.

    Args:
        kind: the kind of the records.
        source: the path of the file, or the open file.
        given: the options that need no guess; the mapping contains them.

    Raises:
        InvalidRequest: the file cannot be read.
    """
    with ExitStack() as closing:
        if isinstance(source, str):
            try:
                file: BinaryIO = closing.enter_context(Path(source).open("rb"))
            except OSError as error:
                raise invalid("file", f"{source} cannot be read: {error.strerror}") from error
            found = content(file, source, closing)
        else:
            found = content(source, "standard input", closing)
        format = format_of(found.head, found.name)
        if format == "csv" and given.separator is None:
            separator = separator_of(found.head, found.name)
            given = replace(given, separator=None if separator == "," else separator)
        path = spool(found.file, closing).name
        rows: Iterable[object]
        if format == "json":
            opened = closing.enter_context(Path(path).open("rb"))
            rows = records(NamedFile(opened, found.name))
        else:
            rows = tables.rows_of(table_file(format, path, found, given).frames(None))
        columns = _columns(islice(rows, _READ_ROWS))
    if not columns:
        raise invalid("file", f"{found.name} has no rows; give one that has values to guess from")
    return "\n".join(_lines(kind, columns, given)) + "\n"


def _columns(rows: Iterable[object]) -> dict[str, list[object]]:
    """Returns the values of each column that are not missing."""
    columns: dict[str, list[object]] = {}
    for row in rows:
        for name, value in row.items() if isinstance(row, Mapping) else ():
            values = columns.setdefault(str(name), [])
            if (known := plain(value)) is not None:
                values.append(known)
    return columns


def _lines(kind: str, columns: Columns, given: ColumnMapping) -> Iterator[str]:
    """Yields the lines of the mapping file."""
    wanted = {
        name: each for name, each in members(kind).items() if name not in derived_members(kind)
    }
    chosen = {name: given.rename.get(name, name) for name in columns}
    chosen = {name: member for name, member in chosen.items() if member in wanted}
    guessed = _guess(columns, wanted, chosen, given)
    of_member = {each.member: each.column for each in guessed}
    of_member |= {member: name for name, member in chosen.items()}
    values = {
        type: [
            value
            for member, name in of_member.items()
            if str(wanted[member]["type"]).rstrip("?") == type
            for value in columns[name]
        ]
        for type in ("amount", "timestamp", "uuid")
    }
    yield from _options(values, given)
    renamed = {**given.rename, **{each.column: each.member for each in guessed if each.is_sure}}
    if renamed or guessed:
        yield ""
        yield "[rename]"
    for each in guessed:
        yield _rename_line(each, wanted)
    guessed_columns = {each.column for each in guessed}
    for name, member in renamed.items():
        if name not in guessed_columns:
            yield f"{_quote(name)} = {_quote(member)}"
    unused = [name for name in columns if name not in {*chosen, *guessed_columns}]
    if unused:
        yield f"# not used: {', '.join(map(_quote, unused))}"
    if not chosen and not guessed:
        yield "# no column is known: the first row must be the header; delete the rows above it"
    missing = [
        name
        for name, each in wanted.items()
        if _is_needed(each) and name not in of_member and name not in given.constants
    ]
    if given.constants or missing:
        yield ""
    if missing:
        yield f"# not found: {', '.join(missing)}; rename a column, or set them here:"
    if given.constants or missing:
        yield "[constants]" if given.constants else "# [constants]"
    for name, value in given.constants.items():
        yield f"{name} = {_quote(value)}"
    for name in missing:
        yield f'# {name} = ""'


def _rename_line(each: _Rename, wanted: Mapping[str, Mapping[str, object]]) -> str:
    line = f"{_quote(each.column)} = {_quote(each.member)}"
    if not each.others:
        return line
    verb = "has" if len(each.others) == 1 else "have"
    kind = _TYPES[str(wanted[each.member]["type"]).rstrip("?")]
    why = f"{', '.join(map(_quote, each.others))} also {verb} {kind}"
    return f"{line}  # {why}" if each.is_sure else f"# {line}  # choose a column: {why}"


def _guess(
    columns: Columns,
    wanted: Mapping[str, Mapping[str, object]],
    chosen: Mapping[str, str],
    given: ColumnMapping,
) -> list[_Rename]:
    """Returns the columns that may be members, in the order of the file."""
    free = [name for name in columns if name not in chosen]
    open_members = [
        name for name in wanted if name not in {*chosen.values(), *given.rename.values()}
    ]
    likeness = {
        (name, member): _likeness(name, member, str(wanted[member]["doc"]))
        for name in free
        for member in open_members
    }
    fits = {
        (name, member): _fits(
            str(wanted[member]["type"]).rstrip("?"), list(map(str, columns[name]))
        )
        for name, member in likeness
    }
    scores = sorted(
        (
            (
                like
                + {None: 0.0, True: _FITS, False: -1.0}[fits[pair]]
                + (_IS_REQUIRED if _is_needed(wanted[pair[1]]) else 0.0)
                + (0.0 if _may_be(*pair, wanted) else -1.0),
                *pair,
            )
            for pair, like in likeness.items()
        ),
        reverse=True,
    )
    taken: dict[str, str] = {}
    for score, name, member in scores:
        if score >= _LEAST_SCORE and name not in taken and member not in taken.values():
            taken[name] = member
    found = []
    for name, member in taken.items():
        is_typed = str(wanted[member]["type"]).rstrip("?") in _TYPES
        # Other columns of the type, unless their names say that they are something else.
        others = [
            other
            for other in free
            if is_typed
            and other != name
            and fits[other, member]
            and (other not in taken or likeness[other, taken[other]] < _LIKE)
        ]
        best = max((likeness[other, member] for other in others), default=0.0)
        like = likeness[name, member]
        is_sure = not others or (like >= _LIKE and like - best >= 0.15)
        if not _is_needed(wanted[member]) and (not is_sure or (is_typed and like < _LIKE)):
            continue
        found.append(_Rename(name, member, is_sure, others))
    # A column that is only a possible choice is not a member of its own.
    alternatives = {other for each in found if not each.is_sure for other in each.others}
    kept = [each for each in found if each.column not in alternatives or not each.is_sure]
    return sorted(kept, key=lambda each: list(columns).index(each.column))


def _options(values: Mapping[str, Sequence[object]], given: ColumnMapping) -> Iterator[str]:
    """Yields the options that are given, then those that the values need."""
    for name in ("separator", "sheet", "tz", "dayfirst", "ids", "floats"):
        if (value := getattr(given, name)) is not None:
            yield f"{name} = {_quote(value)}"
    if given.decimal != ".":
        yield f"decimal = {_quote(given.decimal)}"
    else:
        yield from _decimal([each for each in values["amount"] if isinstance(each, str)])
    times = [str(each).strip() for each in values["timestamp"]]
    found = {text: each for text in times if (each := TIME.fullmatch(text))}
    local = [text for text, each in found.items() if not each["zone"]]
    if local and given.tz is None:
        clock = next((text for text in local if found[text]["time"]), None)
        what = f"fill in: the time zone of times such as {clock}, and of days"
        if clock is None:
            what = f"the time zone in which days such as {local[0]} begin; by default UTC"
        yield f'# tz = "UTC"  # {what}'
    if given.dayfirst is None:
        yield from _dayfirst([each for each in found.values() if each["by"] != "."])
    if given.ids is None:
        yield from _ids([str(each).strip() for each in values["uuid"]])
    floats = [each for each in values["amount"] if isinstance(each, float)]
    if floats and given.floats is None:
        yield f'floats = "shortest"  # accepts numbers such as {floats[0]!r} as decimals'


def _decimal(amounts: Texts) -> Iterator[str]:
    found: dict[str, str] = {}
    for each in amounts:
        found.setdefault(_decimal_separators(each.strip()), each)
    comma, point, either = (found.get(separators) for separators in (",", ".", ",."))
    if comma and point:
        yield f'# decimal = ","  # choose: {comma} has a decimal comma, {point} a decimal point'
    elif comma:
        yield 'decimal = ","'
    elif either and not point:
        whole = re.sub("[.,]", "", either)
        fraction = either.replace(",", ".")
        yield (
            f'# decimal = ","  # choose: {either} may be {fraction} or {whole}, and no other '
            "amount shows which; without this line, the point is the decimal mark"
        )


def _decimal_separators(amount: str) -> str:
    """Returns those of "," and "." that may separate the decimals of an amount that has one."""
    if "," not in amount and "." not in amount:
        return ""
    whole = _WITHOUT_WHOLE.sub(r"\g<0>0", amount)  # ,5 is 0,5
    return "".join(each for each, of in _OF_SEPARATOR.items() if of.fullmatch(whole))


def _dayfirst(days: Sequence[re.Match[str]]) -> Iterator[str]:
    days = [each for each in days if len(each["a"]) < 4]
    if not days:
        return
    first = any(int(each["a"]) > 12 for each in days)
    second = any(int(each["b"]) > 12 for each in days)
    if first != second:
        yield f"dayfirst = {json.dumps(first)}"
        return
    why = "some have the day first, some the month" if first else "no day is after the 12th"
    yield (
        f"# dayfirst = true  # fill in true or false: {days[0][0]} may begin with the day or the "
        f"month; {why}"
    )


def _ids(ids: Texts) -> Iterator[str]:
    unknown = [each for each in ids if _uuid(each) is None]
    if 0 < len(unknown) < len(ids):
        verb, them = ("is not a UUID", "it") if len(unknown) == 1 else ("are not UUIDs", "them")
        yield (
            f'# ids = "uuid5"  # choose: {len(unknown)} of {len(ids)} ids {verb}, such as '
            f"{_quote(unknown[0])}; correct {them}, or use this line to make new UUIDs of {them}"
        )
        return
    # The core reads UUIDs with hyphens only.
    others = unknown or [each for each in ids if _uuid(each) != each.lower()]
    if others:
        yield f'ids = "uuid5"  # makes UUIDs of ids such as {_quote(others[0])}'


def _may_be(name: str, member: str, wanted: Mapping[str, Mapping[str, object]]) -> bool:
    """Whether a column may be a member; "date" is no `updated_at`, whose letters it has."""
    is_typed = str(wanted[member]["type"]).rstrip("?") in _TYPES
    return _is_needed(wanted[member]) or not is_typed or _has_word_of(name, member)


def _is_needed(member: Mapping[str, object]) -> bool:
    return bool(member["required"]) and not member.get("is_completed")


def _quote(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _likeness(name: str, member: str, meaning: str) -> float:
    """Returns the similarity of a column's name and a member, from 0 to 1."""
    own, wanted = _letters(name), _letters(member)
    likeness = SequenceMatcher(None, own, wanted).ratio()
    if own in {_letters(word) for word in meaning.split()}:
        likeness = max(likeness, 0.5)
    if own and (wanted in own or own in wanted):
        likeness = max(likeness, 0.7)
    return likeness


def _fits(type: str, values: Texts) -> bool | None:
    """Whether the values are of a type; None if that says little."""
    if not values:
        return None
    if type == "amount":
        return all(_NUMBER.fullmatch(each.strip()) and not _is_time(each) for each in values)
    if type == "timestamp":
        return all(map(_is_time, values))
    if type in core_description()["enums"]:
        return {each.upper() for each in values} <= set(core_description()["enums"][type])
    if type == "boolean":
        return {each.lower() for each in values} <= {"true", "false"}
    is_other = all(_NUMBER.fullmatch(each) or _is_time(each) for each in values)
    return False if type == "uuid" and is_other else None


def _is_time(text: str) -> bool:
    return TIME.fullmatch(text.strip()) is not None


def _has_word_of(name: str, member: str) -> bool:
    """Whether a column has a word of a member, or its beginning."""
    words = [each for each in member.split("_") if len(each) > 2]
    own = [each for each in re.findall(r"[^\W\d_]+", name.lower()) if len(each) > 2]
    return any(each.startswith(word) or word.startswith(each) for word in words for each in own)


def _uuid(text: str) -> str | None:
    """Returns the UUID that a text is, also without hyphens or in braces, if any."""
    try:
        return str(UUID(text))
    except ValueError:
        return None


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())
