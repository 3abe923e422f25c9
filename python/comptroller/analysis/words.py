"""Words from outside, made fit to be shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, count
from unicodedata import east_asian_width

from comptroller.markup import printable

#: What stands for a null.
NONE = "(none)"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: What a label is wide at most, in pixels.
LABEL_WIDTH = 230


def shortened(text: str) -> str:
    """Printable text as long as a label may be; of each UUID its beginning and its end."""
    shown = _UUID.sub(lambda found: f"{found[0][:13]}…{found[0][-4:]}", printable(text))
    if room_of(shown) <= LABEL_WIDTH:
        return shown
    rooms = accumulate((room_of(letter) for letter in shown), initial=room_of("…"))
    fitting = sum(room <= LABEL_WIDTH for room in rooms) - 1
    return shown[:fitting] + "…"


def room_of(text: str) -> int:
    """About how many pixels it takes as a label: some letters are wider than others."""
    return sum(
        11 if east_asian_width(letter) in "WF" else 8 if letter.isupper() else 6 for letter in text
    )


def labels(rows: Sequence[Sequence[str | None]], *more: str) -> list[str]:
    """A label for each row of words and for each one more; those that would be equal numbered."""
    told = [shortened(" · ".join(NONE if word is None else word for word in row)) for row in rows]
    told += more
    times = Counter(told)
    taken = {label for label in told if times[label] == 1}
    for place, label in enumerate(told):
        if times[label] > 1:
            numbered = (f"({number}) {label}" for number in count(1))
            told[place] = next(free for free in numbered if free not in taken)
            taken.add(told[place])
    return told
