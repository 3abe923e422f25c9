"""SQL that brings the spellings of an EVM address, or of an EVM hash of a transaction, to one form.

The spellings differ in case only. Of other addresses and hashes, such as those of Solana, the case
is significant. The core has the same rules in `cpp/model/ledger_address.hpp`.
"""

from __future__ import annotations


def fold_address(text: str) -> str:
    """Returns the lower case of 0x and 40 hexadecimal digits; any other text unchanged."""
    return _fold(text, 40)


def fold_hash(text: str) -> str:
    """Returns the lower case of 0x and 64 hexadecimal digits; any other text unchanged."""
    return _fold(text, 64)


def _fold(text: str, digits: int) -> str:
    pattern = f"^0[xX][0-9a-fA-F]{{{digits}}}$"
    return f"CASE WHEN regexp_matches({text}, '{pattern}') THEN lower({text}) ELSE {text} END"
