"""Types and options of parameters that several commands have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click


class Kind(click.Choice[str]):
    """A kind of record, with dashes or underscores."""

    name = "kind"

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:
        """Replace underscores by dashes."""
        return str(choice).replace("_", "-")


class Assignment(click.ParamType[tuple[str, str]]):
    """A name and a value, NAME=VALUE."""

    name = "assignment"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Split the text at its first equals sign."""
        name, equals, given = str(value).partition("=")
        if not name or not equals:
            self.fail(f"{value!r} has no name and value; give NAME=VALUE", param, ctx)
        return name, given


def assigned(option: str, pairs: Iterable[tuple[str, str]]) -> dict[str, str] | None:
    """Return the values of a repeatable option by name; None if there are none.

    Raises UsageError if a name has two values.
    """
    values: dict[str, str] = {}
    for name, value in pairs:
        if values.setdefault(name, value) != value:
            raise click.UsageError(f"{option}: {name} has two values; give one of them")
    return values or None


class NamedPath(click.Path):
    """The path of a file or folder; `-` is a standard stream if `allow_dash`, else refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse an empty path, and a dash that other commands read as a standard stream."""
        if value == "-" and not self.allow_dash:
            self.fail("`-` is not accepted; name a file or a folder", param, ctx)
        if value == "":
            self.fail("the path is empty; name a file or a folder", param, ctx)
        return super().convert(value, param, ctx)


#: How a file of the caller is read.
decimal_option = click.option(
    "--decimal", type=click.Choice([".", ","]), help="Decimal separator of amounts."
)
separator_option = click.option(
    "--separator", metavar="CHARACTER", help="Between cells of CSV. Default: found."
)
sheet_option = click.option("--sheet", metavar="NAME", help="Sheet of an Excel file.")
