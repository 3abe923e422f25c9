"""Generates the modules of enumerations, names and records."""

from __future__ import annotations

from description import Description, Member, python_name
from writing import comment, docstring, module, sentence

_TYPES = {
    "amount": "Amount",
    "boolean": "bool",
    "id": "str",
    "members": "dict[str, Any]",
    "metadata": "dict[str, str]",
    "number": "int",
    "string": "str",
    "timestamp": "Time",
    "uuid": "str",
    "word": "str",
}


def values_module(description: Description) -> str:
    """Returns the module with the enumerations as Literals, and the names of kinds and members."""
    sets = [
        "".join(comment(f"{value}: {meaning}.") for value, meaning in values.items())
        + f"{name}: TypeAlias = Literal[{', '.join(map(repr, values))}]"
        for name, values in description.enums.items()
    ]
    kinds = ", ".join(repr(resource.kind) for resource in description.resources)
    every = [*description.records.values(), *description.requests.values()]
    members = [item for record in every for item in record.members.items()]
    amounts = sorted({name for name, member in members if member.type == "amount"})
    renamed = {python_name(name): name for name, _ in members if python_name(name) != name}
    return module(
        ("The values of closed sets, the kinds of records, and names of members.", ""),
        "from typing import Literal, TypeAlias",
        *sets,
        comment(
            "The kinds of records as loads, exports and streams name them, in an order in which "
            "they can be loaded."
        )
        + f"KINDS = ({kinds})",
        comment("The members that are amounts, whose values must be exact.")
        + f"AMOUNTS = frozenset({amounts!r})",
        comment("The parameters whose names no argument can have, by the names of the arguments.")
        + f"RENAMED = {renamed!r}",
    )


def records_module(description: Description) -> str:
    """Returns the module with the records as msgspec structs."""
    sets = sorted(
        {
            member.item_type
            for record in description.records.values()
            for member in record.members.values()
            if member.item_type in description.enums
        }
    )
    literals = f"""
if TYPE_CHECKING:
    from comptroller.values import {", ".join(sets)}
else:
    # Text at run time: a newer server may answer with a value that this version does not know.
    {" = ".join(sets)} = str
"""
    return module(
        (
            "What the service stores: one frozen record for each kind.",
            "Attributes have the names of the JSON members. Amounts are :class:`decimal.Decimal` "
            "(at most 20 integer and 18 fraction digits), times are aware UTC datetimes with "
            "microseconds. A member that is not set is ``None``.",
        ),
        "from typing import TYPE_CHECKING, Any\n"
        "from comptroller.decoding import Amount, Record, Time",
        literals,
        *(_class(description, name) for name in description.records),
    )


def _class(description: Description, name: str) -> str:
    record = description.records[name]
    lines = [f"class {name}(Record, frozen=True, kw_only=True):", docstring(4, record.doc), ""]
    for member, said in record.members.items():
        lines += [f"    {member}: {_annotation(said)}", docstring(4, _doc(description, said))]
    return "\n".join(lines)


def _annotation(member: Member) -> str:
    type = _TYPES.get(member.item_type, member.item_type)
    if member.is_array:
        type = f"tuple[{type}, ...]"
    is_nullable = member.type.endswith("?")
    return type if member.required and not is_nullable else f"{type} | None = None"


def _doc(description: Description, member: Member) -> str:
    return sentence(description.doc_of(member))
