"""The meaning and the remedy of each problem, the text of its page."""

from __future__ import annotations

from typing import NamedTuple


class Explanation(NamedTuple):
    """The text of a problem's page."""

    meaning: str
    remedy: str


#: The explanation of every error code of the core.
EXPLANATIONS: dict[str, Explanation] = {
    "malformed-json": Explanation(
        "The body is not JSON (RFC 8259), is not UTF-8, has an invalid escape, or is nested "
        "deeper than 32 levels.",
        "Send one JSON object in UTF-8; the detail names the error.",
    ),
    "invalid-request": Explanation(
        "A member or parameter of the request is unknown, missing, repeated, or has an invalid "
        "value.",
        "Read errors, which names each invalid member and the accepted values. Repeating the "
        "same request gives the same response.",
    ),
    "invalid-cursor": Explanation(
        "The page cursor does not belong to this list. A cursor is valid for one operation, "
        "customer, set of filters and order, and must not be changed.",
        "Send next_page_cursor of the previous page unchanged, with the same filters and order; "
        "limit may differ. Otherwise start with the first page.",
    ),
    "id-mismatch": Explanation(
        "The ids in the body and in the path differ.",
        "Omit the id in the body, or use that of the path.",
    ),
    "ledger-mismatch": Explanation(
        "A reward address can only be attributed to a payout group on its own ledger.",
        "Name a payout group on the ledger of the address.",
    ),
    "unauthenticated": Explanation(
        "There is no valid access token: none was sent, or it has expired, was revoked, or was "
        "not issued for this service.",
        "Get a new token from the token endpoint and send it as Authorization: Bearer. "
        "WWW-Authenticate says what is wrong with one that was sent.",
    ),
    "insufficient-scope": Explanation(
        "The access token is valid, but lacks the scope that the operation needs.",
        "The detail and WWW-Authenticate name the scope. Request a token with it. If the client "
        "is not registered with the scope, only the operator can grant it.",
    ),
    "control-type-not-permitted": Explanation(
        "Clients may create controls of the types SELL_ONLY, CLOSED and DORMANT. Only the "
        "operator may create FROZEN.",
        "Choose one of the three types, or ask the operator.",
    ),
    "control-not-overridable": Explanation(
        "The operator of the service set the control, and only the operator can delete it; "
        "admin_disabled shows such a control.",
        "Ask the operator. is_overridable shows which controls a client may delete.",
    ),
    "customer-not-accessible": Explanation(
        "A client may only name its own customer in customer_id.",
        "Omit customer_id; the access token names the customer.",
    ),
    "not-found": Explanation(
        "There is no record with this id, or no resource at this path. The response is the same "
        "for a record of another customer.",
        "Check the id and the path, and whether the token belongs to the customer of the record.",
    ),
    "method-not-allowed": Explanation(
        "The path exists, but does not accept this method.",
        "Use one of the methods that the header Allow lists.",
    ),
    "already-exists": Explanation(
        "The record exists already: a control of this type by the same setter, an address on "
        "this ledger, or a record with this id and other content.",
        "Use the existing record; if it is yours, meta.existing is its id.",
    ),
    "already-deleted": Explanation(
        "The control was already deleted.",
        "Nothing is left to do. With an Idempotency-Key, a repeated request gets the first "
        "response instead of this error.",
    ),
    "illegal-transition": Explanation(
        "The status of the claim does not permit this transition. A claim transitions from PENDING "
        "to SUBMITTED or FAILED, and from SUBMITTED to CONFIRMED or FAILED.",
        "Read the claim again; another caller may have changed its status.",
    ),
    "idempotency-in-flight": Explanation(
        "A request with the same Idempotency-Key is still being executed.",
        "Repeat the request later; it gets the response of the first request.",
    ),
    "content-too-large": Explanation(
        "The body, or a line of a load, is larger than 1 MiB.",
        "Send a smaller body. For many records use a load, whose length has no limit.",
    ),
    "unsupported-media-type": Explanation(
        "The operation does not accept the media type of the body.",
        "Send the header Content-Type: application/json for all operations except loads and "
        "the token endpoint.",
    ),
    "idempotency-key-reused": Explanation(
        "The Idempotency-Key was used for a different request within the last 24 hours.",
        "Use a new key for a new request, and an old key only to repeat exactly the same request.",
    ),
    "rate-limited": Explanation(
        "The client sends more requests than the operator of the service allows.",
        "Wait for the seconds in Retry-After, and send requests at a lower rate.",
    ),
    "internal": Explanation(
        "A defect of the service.",
        "Report the request_id to the operator, who finds the cause in the log. A write may have "
        "been executed; it can be repeated with the same Idempotency-Key.",
    ),
    "unavailable": Explanation(
        "The service is stopping or busy, or its disk is full.",
        "Try again after the seconds in Retry-After. Repeat a write with the same "
        "Idempotency-Key, because the server may have executed it. The detail has the cause for "
        "the operator.",
    ),
    "closed": Explanation(
        "The service was closed, or its process was forked after the store was opened.",
        "In Python, open the store or connect again; start child processes with the method spawn "
        "or forkserver, or close the store before the fork. Over HTTP, the server is stopping; try "
        "again after the seconds in Retry-After.",
    ),
    "read-only": Explanation(
        "The store was opened read-only, and the operation writes.",
        "Send writes to a service that opened the store for writing.",
    ),
    "unsupported": Explanation(
        "The operation is not possible: a remote store cannot be backed up or checked, an "
        "optional package is not installed, or a callback of a load writes to the store.",
        "Follow the detail. Another attempt gives the same error.",
    ),
    "unusable": Explanation(
        "The store, or a file that the operation needs, cannot be used: it is damaged, belongs "
        "to a newer version, is not a store, exists already, or its permissions forbid access.",
        "Remove the cause, which the detail names; until then another attempt gives the same "
        "error. Restore a damaged store from a backup.",
    ),
    "outcome-unknown": Explanation(
        "A client sent a write and got no response. The write may have been executed.",
        "Repeat it with the same Idempotency-Key, or read the record first. Only the Python client "
        "raises this error; the service never returns it.",
    ),
}
