"""The controls that represent the deprecated booleans of identities."""

from __future__ import annotations

#: Their reason codes. A load replaces an active one by an active control of its type and setter.
LEGACY_REASON_CODES = ("LEGACY_USER_DISABLED", "LEGACY_ADMIN_DISABLED")
