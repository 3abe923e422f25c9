"""Whom a token names, for the peers: tokens that were verified before, kept in memory."""

from __future__ import annotations

CUSTOMER = "default"
# As long as a signed one.
TOKEN = "eyJ" + "a" * 550
CALLERS = {TOKEN: CUSTOMER}
