"""Authentication of the peers: a lookup of verified tokens in memory."""

from __future__ import annotations

CUSTOMER = "default"
# A token as long as a signed one.
TOKEN = "eyJ" + "a" * 550
CALLERS = {TOKEN: CUSTOMER}
