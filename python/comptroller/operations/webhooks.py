"""Webhooks: endpoints that get a signed request for each change of a record."""

from __future__ import annotations

from comptroller import arguments
from comptroller.arguments import Id, Key, Texts, Timestamp
from comptroller.operations.resource import Request, Resource, request
from comptroller.records import Webhook, WebhookDeliveries, WebhookDelivery, Webhooks, WebhookSecret
from comptroller.values import WebhookStatus


class WebhookOperations(Resource):
    """The webhooks of a service.

    Each is a :class:`comptroller.records.Webhook`. A client manages the webhooks of its customer;
    they get the events of its records only.
    """

    __slots__ = ()

    def list(self, *, customer_id: Id | None = None) -> tuple[Webhook, ...]:
        """Lists webhooks, oldest first.

        Args:
            customer_id: only webhooks of this customer; a client may only name its own.

        Raises:
            Forbidden: the caller lacks the scope ``webhooks:read``.
        """
        sent = request("webhooks.list", query={"customer_id": customer_id})
        answer = self._send(sent, Webhooks)
        return answer.items

    def get(self, id: Id) -> Webhook:
        """Returns one webhook. Raises NotFound."""
        return self._send(request("webhooks.get", query={"id": id}), Webhook)

    def create(
        self,
        *,
        url: str,
        event_types: Texts | None = None,
        description: str | None = None,
        customer_id: Id | None = None,
        idempotency_key: Key | None = None,
    ) -> Webhook:
        """Creates a webhook, which gets the events from now on.

        Args:
            url: an https URL with a DNS name. That of the operator's own webhook may be http, and
                have an IP address.
            event_types: such as ``claim.created``, ``claim.*`` or ``*``; default: all.
            description: text for people, at most 256 characters.
            customer_id: the customer whose events it gets; default: the client's own, those of all
                customers for the operator.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: the caller lacks the scope ``webhooks:write``.
            Conflict: the customer, or the operator, has 100 webhooks.
        """
        return self._send(
            request(
                "webhooks.create",
                body={
                    "url": url,
                    "event_types": event_type_texts(event_types),
                    "description": description,
                    "customer_id": customer_id,
                },
                idempotency_key=idempotency_key,
            ),
            Webhook,
        )

    def update(
        self,
        id: Id,
        *,
        url: str | None = None,
        event_types: Texts | None = None,
        description: str | None = None,
        status: WebhookStatus | None = None,
        status_reason: str | None = None,
        idempotency_key: Key | None = None,
    ) -> Webhook:
        """Changes the members that are given.

        Args:
            id: identifies the webhook.
            url: as for `create`.
            event_types: replaces the types; ``*`` is all.
            description: text for people, at most 256 characters.
            status: PAUSED, or ACTIVE, which continues after the last delivered event.
            status_reason: why it is paused.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            NotFound: there is no such webhook.
        """
        return self._send(
            request(
                "webhooks.update",
                query={"id": id},
                body={
                    "url": url,
                    "event_types": event_type_texts(event_types),
                    "description": description,
                    "status": status,
                    "status_reason": status_reason,
                },
                idempotency_key=idempotency_key,
            ),
            Webhook,
        )

    def delete(self, id: Id, *, idempotency_key: Key | None = None) -> Webhook:
        """Deletes a webhook and its undelivered events. Returns it as it was. Raises NotFound."""
        return self._send(write_request("webhooks.delete", id, idempotency_key), Webhook)

    def secret(self, id: Id) -> WebhookSecret:
        """Returns the secret and the public key of a webhook.

        Raises:
            Forbidden: the caller lacks the scope ``webhooks:write``, or ``operator:write``.
            NotFound: there is no such webhook.
        """
        return self._send(request("webhooks.secret", query={"id": id}), WebhookSecret)

    def rotate(self, id: Id, *, idempotency_key: Key | None = None) -> Webhook:
        """Gives a webhook a new secret. Raises NotFound.

        For 24 hours requests also have signatures of the secret before.
        """
        return self._send(write_request("webhooks.rotate", id, idempotency_key), Webhook)

    def test(self, id: Id, *, idempotency_key: Key | None = None) -> WebhookDelivery:
        """Sends an event of the type `webhook.test`, once. Raises NotFound.

        The outcome is in `deliveries` when the event was sent.
        """
        return self._send(write_request("webhooks.test", id, idempotency_key), WebhookDelivery)

    def deliveries(self, id: Id) -> tuple[WebhookDelivery, ...]:
        """Lists the events that were not delivered yet, and the last test.

        At most 1000 events. A test was delivered if it has an attempt and no `last_error`. Raises
        NotFound.
        """
        sent = request("webhooks.deliveries", query={"id": id})
        answer = self._send(sent, WebhookDeliveries)
        return answer.items

    def replay(
        self,
        id: Id,
        *,
        since: Timestamp | None = None,
        after: str | None = None,
        idempotency_key: Key | None = None,
    ) -> Webhook:
        """Delivers all events since a time, or after a place in the change feed, again.

        In their order. Earlier events that were not delivered yet remain.

        Args:
            id: identifies the webhook.
            since: the time.
            after: instead of `since`: the `cursor` of a change, or the `next_cursor` of a page.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: the time or the cursor is not valid, or not exactly one is given.
            NotFound: there is no such webhook.
        """
        return self._send(
            request(
                "webhooks.replay",
                query={"id": id},
                body={"since": since, "after": after},
                idempotency_key=idempotency_key,
            ),
            Webhook,
        )


def write_request(operation: str, id: Id, idempotency_key: Key | None) -> Request:
    """Returns the request of a write without further members."""
    return request(operation, query={"id": id}, body={}, idempotency_key=idempotency_key)


def event_type_texts(given: Texts | None) -> list[str] | None:
    """Returns one type or several as a list."""
    return None if given is None else arguments.texts("event_types", given)
