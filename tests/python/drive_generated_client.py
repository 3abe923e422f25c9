"""Calls every operation of a client that openapi-python-client generated, with its Python alone.

``drive_generated_client.py FOLDER ADDRESS ID SECRET``, where FOLDER holds the package ``generated``
and ADDRESS serves an empty store to the operator of these credentials. Prints the ids of the
operations as JSON. Fails where one is refused, or where what was read does not hold all that came.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from importlib import import_module
from pkgutil import walk_packages
from typing import Any
from uuid import UUID

FOLDER, ADDRESS, ID, SECRET = sys.argv[1:]
sys.path.insert(0, FOLDER)

import generated.api  # noqa: E402
from generated import models as m  # noqa: E402
from generated import types  # noqa: E402

EVM = "0x" + "ab" * 20
NOON = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
MODULES = {
    module.name.rpartition(".")[2]: module.name
    for module in walk_packages(generated.api.__path__, "generated.api.")
    if not module.ispkg
}
answered: set[str] = set()


def plain(record: Any) -> Any:
    """Returns the members of a record, with times as they are sent."""
    return json.loads(json.dumps(record.to_dict()).replace("+00:00", "Z"))


def call(client: Any, operation: str, *words: Any, **how: Any) -> Any:
    """Calls an operation; checks that the result matches its description."""
    answer = import_module(MODULES[operation]).sync_detailed(*words, client=client, **how)
    assert answer.status_code == 200, (operation, answer)
    answered.add(operation)
    parsed = answer.parsed
    if hasattr(parsed, "to_dict"):
        assert plain(parsed) == json.loads(answer.content), (operation, answer.content)
        assert not parsed.additional_properties, (operation, parsed)
    return parsed


def token() -> str:
    client = generated.Client(ADDRESS, raise_on_unexpected_status=True)
    grant = m.TokenRequestGrantType.CLIENT_CREDENTIALS
    body = m.TokenRequest(grant, client_id=ID, client_secret=SECRET)
    return str(call(client, "token", body=body).access_token)


def drive_identities(client: Any) -> None:
    put = m.PutIdentity(id="alice", metadata=m.Metadata.from_dict({"team": "one"}))
    assert call(client, "identities_put", body=put, idempotency_key="k-1").id == "alice"
    changed = m.UpdateIdentity(metadata=m.Metadata.from_dict({"team": "two"}))
    call(client, "identities_update", "alice", body=changed)
    assert call(client, "identities_get", "alice").metadata["team"] == "two"
    for suffix in ("", "_operator"):
        made = m.CreateControl("alice", m.ControlType.SELL_ONLY, "ASKED")
        control = call(client, "controls_create" + suffix, body=made)
        assert call(client, "controls_get", str(control.id)).type_ == m.ControlType.SELL_ONLY
        listed = call(client, "identities_list", control_types=[m.ControlType.SELL_ONLY])
        assert [each.id for each in listed.items] == ["alice"]
        may_buy = call(client, "identities_permits", "alice", action=m.Action.BUY)
        assert not may_buy.permitted
        deleted = m.DeleteControl(control_id=str(control.id), reason="asked")
        call(client, "controls_delete" + suffix, body=deleted)
    wanted = {"include_deleted": True, "created_at_gt": NOON, "limit": 1}
    first = call(client, "controls_list", **wanted)
    second = call(client, "controls_list", **wanted, page_cursor=first.next_page_cursor)
    assert first.items[0].id != second.items[0].id


def drive_orchestrations(client: Any) -> None:
    source = m.SourceInput(crypto=m.CryptoEndpointInput.from_dict({"address": EVM}))
    put = m.OrchestrationInput("o-1", "COMPLETED", NOON, source_amount="-1.50", source=source)
    assert call(client, "orchestrations_put", body=put).source_amount == "-1.50"
    assert call(client, "orchestrations_list", orchestration_id="o-1").items
    assert call(client, "orchestrations_get", "o-1").created_at == NOON


def drive_rewards(client: Any, suffix: str, asset: str) -> None:
    """Returns the operations that have paths with and without a version."""
    created = m.CreatePayoutGroup(m.Ledger.ETHEREUM, asset, "US", "first", EVM)
    group = call(client, "payout_groups_create" + suffix, body=created).group
    changed = m.UpdatePayoutGroup(name="second")
    call(client, "payout_groups_update" + suffix, str(group.id), body=changed)
    assert call(client, "payout_groups_get" + suffix, str(group.id)).group.name == "second"
    assert call(client, "payout_groups_list" + suffix, asset_type=asset).items[0].id == group.id
    place = "0x" + ("cd" if suffix else "ef") * 20
    address = call(
        client,
        "reward_addresses_create" + suffix,
        body=m.CreateRewardAddress(m.Ledger.ETHEREUM, place, payout_group_id=UUID(str(group.id))),
    ).address
    renamed = m.UpdateRewardAddress(name="mine")
    call(client, "reward_addresses_update" + suffix, str(address.id), body=renamed)
    assert call(client, "reward_addresses_get" + suffix, str(address.id)).address.name == "mine"
    call(client, "reward_addresses_list" + suffix, include_balance=True, balance_timestamp=NOON)
    call(client, "claims_list" + suffix, statuses=[m.ClaimStatus.PENDING], start_time=NOON)
    call(client, "claims_get" + suffix, "c-1")
    drive_observations(client, group, address)


def drive_observations(client: Any, group: Any, address: Any) -> None:
    seen = m.ObservePayoutGroup(onchain_status="ACTIVE", balance="2.50", balance_at=NOON)
    observed = call(client, "payout_groups_observe", str(group.id), body=seen).group
    assert observed.balance == "2.50"
    confirmed = m.ObserveRewardAddress("CONFIRMED")
    call(client, "reward_addresses_observe", str(address.id), body=confirmed)
    call(client, "balances_record", body=m.BalanceInput(address.id, "3.25", NOON))
    listed = call(client, "balances_list", address_id=address.id)
    assert [each.balance for each in listed.items] == ["3.25"]


def drive_claims(client: Any) -> None:
    group = UUID("00000000-0000-4000-8000-000000000001")
    for id in ("c-1", "c-2"):
        pending = m.ClaimInput(id, group, "CLAIM_ALL", m.ClaimStatus.PENDING, "1.50", NOON)
        assert call(client, "claims_put", body=pending).amount == "1.50"
        call(client, "claims_submit", id, body=m.SubmitClaim("0x1"))
    assert call(client, "claims_confirm", "c-1").onchain_status == m.ClaimStatus.CONFIRMED
    call(client, "claims_fail", "c-2", body=m.FailClaim("no gas"))


def drive_bulk(client: Any) -> None:
    for kind in m.LoadKind:
        name = str(kind).replace("-", "_")
        lines = call(client, f"export_{name}")
        assert lines.endswith(b"}\n"), kind
        account = call(client, "load", kind, body=types.File(lines), dry_run=True)
        assert account.read == account.unchanged == lines.count(b"\n"), (kind, account)
        csv = getattr(m, f"Export{''.join(map(str.title, name.split('_')))}Format").CSV
        assert call(client, f"export_{name}", format_=csv).count(b"\n") > 1


client = generated.AuthenticatedClient(ADDRESS, token(), raise_on_unexpected_status=True)
drive_identities(client)
drive_orchestrations(client)
drive_claims(client)
drive_rewards(client, "", "ETH")
drive_rewards(client, "_v2", "RPL")
drive_bulk(client)
refused = import_module(MODULES["claims_get"]).sync("nobody", client=client)
assert isinstance(refused, m.Problem), refused
assert refused.code == m.ProblemCode.NOT_FOUND, refused
print(json.dumps(sorted(answered)))
