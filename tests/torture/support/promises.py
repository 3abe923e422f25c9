"""What comptroller promises, by number."""

from __future__ import annotations

PROMISES = {
    1: "An answered write survives kill -9; an unanswered one is stored completely or not at all",
    2: "An answered write survives power loss",
    3: "After an I/O error, a full disk or lack of memory nothing is half stored; writes resume",
    4: "A retried write is executed once",
    5: "Writers in threads and processes never overwrite each other's writes",
    6: "Every line of a load is accounted for",
    7: "Amounts are exact",
    8: "A client can use only the operations of its scopes",
    9: "Customers do not see each other's records",
    10: "Forged, changed, expired and revoked tokens are refused",
    11: "Malformed input is refused, never corrected by guessing",
    12: "Limits apply before memory is used",
    13: "Pages are complete while others write",
    14: "Errors help and do not leak",
    15: "The service stays up under load",
    16: "A backup made under write load is consistent",
    17: "Memory is bounded",
    18: "The core is free of memory errors and data races",
    19: "Exports are safe to open",
    20: "The tests find planted defects",
    21: "Forks, links, moved files and other programs do not damage a store",
    22: "A client learns nothing of other customers",
    23: "A server ends in time after a signal",
    24: "The journal shows every change and every alteration",
    25: "Several servers of one database lose no answered write and execute none twice",
}
