"""What each problem means, and what to do about it: the text of its page."""

from __future__ import annotations

from typing import NamedTuple


class Explanation(NamedTuple):
    """The text of a problem's page."""

    meaning: str
    remedy: str


#: One for every code of the core's table.
EXPLANATIONS: dict[str, Explanation] = {
    "malformed-json": Explanation(
        "The body is not JSON (RFC 8259), is not UTF-8, holds an escape that is no character, "
        "or is nested deeper than 32.",
        "Send one JSON object in UTF-8; the detail says what is wrong with this one.",
    ),
    "invalid-request": Explanation(
        "The request can be read, but something in it is not as the interface describes: a "
        "member or parameter that is unknown, missing, repeated, or has a value that is not "
        "allowed.",
        "Look at errors: it names each refused member and what it must be. Asking again "
        "unchanged gives the same answer.",
    ),
    "invalid-cursor": Explanation(
        "The page cursor was not made for this list. A cursor belongs to one operation, one "
        "customer, its filters and its order, and cannot be changed.",
        "Send next_page_cursor of the page before as it came, with the same filters and order; "
        "limit may differ. Otherwise begin with the first page.",
    ),
    "id-mismatch": Explanation(
        "The body names another id than the path.",
        "Leave the id out of the body, or make it that of the path.",
    ),
    "ledger-mismatch": Explanation(
        "A reward address can only be attributed to a payout group on its own ledger.",
        "Name a payout group on the ledger of the address.",
    ),
    "unauthenticated": Explanation(
        "There is no valid access token: none was sent, or it has ended, was revoked, or was "
        "not issued for this service.",
        "Get a new token from the token endpoint and send it as Authorization: Bearer. "
        "WWW-Authenticate says what is wrong with one that was sent.",
    ),
    "insufficient-scope": Explanation(
        "The access token is valid, but does not carry the scope that the operation needs.",
        "The detail and WWW-Authenticate name the scope. Ask for a token with it; where the "
        "client was not registered with it, only the operator can change that.",
    ),
    "control-type-not-permitted": Explanation(
        "Clients may create controls of the types SELL_ONLY, CLOSED and DORMANT. FROZEN is the "
        "operator's.",
        "Choose one of the three, or ask the operator.",
    ),
    "control-not-overridable": Explanation(
        "The control was set by the operator of the service and only the operator can lift it; "
        "admin_disabled is another name of such a control.",
        "Ask the operator. is_overridable tells beforehand which controls a client may delete.",
    ),
    "customer-not-accessible": Explanation(
        "A client can only name its own customer in customer_id, whether or not the other exists.",
        "Leave customer_id out: it is taken from the access token.",
    ),
    "not-found": Explanation(
        "There is nothing of this id, or nothing at this path. What belongs to another customer "
        "is answered in the same way.",
        "Check the id and the path, and that the token is one of the customer whose record it is.",
    ),
    "method-not-allowed": Explanation(
        "The path is there, but does not take this method.",
        "Allow lists the methods that it takes.",
    ),
    "already-exists": Explanation(
        "It is there already: a control of this type by the same setter, an address of this "
        "ledger, or a record of this id with other content.",
        "Use the one that is there; where it is yours, meta.existing is its id.",
    ),
    "already-deleted": Explanation(
        "The control was deleted before: a control is deleted once.",
        "Nothing is left to do. Under an Idempotency-Key a repeated request gets its first "
        "answer instead of this.",
    ),
    "illegal-transition": Explanation(
        "A claim goes from PENDING to SUBMITTED and on to CONFIRMED or FAILED, or from PENDING "
        "to FAILED, and never back. It is not where this step begins.",
        "Read the claim again: somebody else may have moved it.",
    ),
    "idempotency-in-flight": Explanation(
        "A request under the same Idempotency-Key is still being worked on.",
        "Ask again in a moment: the answer will be that of the first request.",
    ),
    "content-too-large": Explanation(
        "The body, or a line of a load, is larger than the 1 MiB that is read.",
        "Send less at once. Many records go to a load, whose length has no limit.",
    ),
    "unsupported-media-type": Explanation(
        "The body is not of a type that the operation reads.",
        "Say in Content-Type what the body is: application/json for everything but a load and "
        "the token endpoint.",
    ),
    "idempotency-key-reused": Explanation(
        "The Idempotency-Key was used for a different request within the last 24 hours.",
        "Use a new key for a new request, and an old one only to repeat exactly the same request.",
    ),
    "rate-limited": Explanation(
        "The client asks more often than the operator of the service allows.",
        "Wait for the seconds that Retry-After names, and spread requests out.",
    ),
    "internal": Explanation(
        "A defect of the service.",
        "Report it to the operator with the request_id: the log has the cause under it. Whether "
        "a write was kept is uncertain; it may be repeated under the same Idempotency-Key.",
    ),
    "unavailable": Explanation(
        "The service cannot answer now: it is stopping or busy, or its disk is full.",
        "Ask again after the seconds that Retry-After names, a write under the same "
        "Idempotency-Key: the server may have gone on with it when it stopped waiting. The "
        "operator finds the cause in the detail.",
    ),
    "closed": Explanation(
        "The service was closed, or its process was forked after the store was opened.",
        "In Python, open the store or connect again. Over HTTP, ask again after the seconds that "
        "Retry-After names: the server is stopping.",
    ),
    "read-only": Explanation(
        "The store was opened read-only, and the operation writes.",
        "Send writes to a service that opened the store for writing.",
    ),
    "unsupported": Explanation(
        "The operation is not possible here: a remote store cannot be copied or checked, an "
        "optional package is not installed, or a callback of a load writes to the store.",
        "Do as the detail says. Asking again gives the same answer.",
    ),
    "unusable": Explanation(
        "The store, or a file that the operation needs, cannot be used as it is: it is damaged, "
        "belongs to a newer version, is not a store, exists already, or its permissions forbid it.",
        "Asking again gives the same answer until somebody mends the cause, which the detail "
        "names. Restore a backup of a damaged store.",
    ),
    "outcome-unknown": Explanation(
        "A client sent a write and got no answer. The write may have been executed.",
        "Repeat it under the same Idempotency-Key, or read the record first. Clients report this "
        "code themselves; the service never answers with it.",
    ),
}
