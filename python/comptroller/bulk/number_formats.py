"""Number formats of Excel files (ECMA-376, 18.8.31): what a cell shows beside its value."""

from __future__ import annotations

import re
from typing import NamedTuple

# Text in quotes or behind a backslash; a space as wide as a character; a character that fills the
# cell; a colour, locale, condition or elapsed time in brackets; any other character.
_TOKEN = re.compile(r'"[^"]*"?|\\.|_.|\*.|\[[^\]]*\]|.', re.DOTALL)
_CONDITION = re.compile(r"\[[<>=]")
_ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)
_PADDED = re.compile("[#?]*(00+)")
_SEPARATED = re.compile(r"[0#?]+([^0#?]+[0#?]+)+")
_TEXT = "\0"  # a token that is shown as text
_NOT_OF_NUMBERS = re.compile("[.%/@A-Za-z]")
_CLOCK = re.compile("[hs]", re.IGNORECASE)
#: The built-in formats that show a time of the day.
_BUILT_IN_CLOCKS = {"18", "19", "20", "21", "22", "45", "46", "47"}
#: The first float that other whole numbers are rounded to.
FIRST_ROUNDED = 2**53


class NumberFormat(NamedTuple):
    """What a format shows.

    Attributes:
        digits: how many digits at least it shows of a whole number.
        is_separated: whether other characters are between these digits.
        has_clock: whether it shows a time of the day.
    """

    digits: int = 1
    is_separated: bool = False
    has_clock: bool = False

    def padded(self, number: float) -> str | None:
        """Returns a number with the leading zeros that it shows; None if it shows none."""
        is_exact = number.is_integer() and 0 <= number < FIRST_ROUNDED
        return str(int(number)).zfill(self.digits) if self.digits > 1 and is_exact else None


def number_format(built_in: str | None, code: str) -> NumberFormat:
    """Returns what the format with a number and a code shows; of positive numbers if it differs."""
    if not code:
        return NumberFormat(has_clock=built_in in _BUILT_IN_CLOCKS)
    tokens: list[str] = []
    is_conditional = False
    for token in _TOKEN.findall(code):
        if token == ";":
            break
        is_conditional = is_conditional or bool(_CONDITION.match(token))
        if _ELAPSED.fullmatch(token):
            tokens.append(token[1])
        elif token[0] in '"\\':
            tokens.append(_TEXT)
        elif token[0] not in "_*[" or len(token) == 1:
            tokens.append(token)
    shown = "".join(tokens)
    numbers = shown.replace(",", "").strip(f"{_TEXT} -+()$")
    if _NOT_OF_NUMBERS.search(numbers):
        return NumberFormat(has_clock=bool(_CLOCK.search(shown)))
    padded = _PADDED.fullmatch(numbers)
    if padded is not None:
        return NumberFormat(len(padded[1]), is_separated=is_conditional)
    zeros = numbers.count("0")
    return NumberFormat(zeros, is_separated=zeros > 1) if _SEPARATED.fullmatch(numbers) else _PLAIN


_PLAIN = NumberFormat()
