"""Texts that a database stores once: their keys, and the locks of payout groups on them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import comptroller
from lines import address, claim, group, identity, load, orchestration
from postgresql_server import Connection, Server

GROUP = "01900000-0000-7000-8000-0000000000aa"


def furnish(svc: comptroller.Service) -> None:
    """Writes a value that no list of the specification has into each member that takes any word."""
    load(svc, "identities", identity(id="alice"))
    svc.controls.create(identity_id="alice", type="FROZEN", reason_code="UNHEARD_OF")
    load(svc, "orchestrations", orchestration(id="moved", status="ON_ITS_WAY"))
    load(svc, "payout-groups", group(id=GROUP, onchain_status="HALF_REGISTERED"))
    load(svc, "reward-addresses", address(payout_group_id=GROUP, status="ABOUT_TO_BE"))
    load(svc, "claims", claim(payout_group_id=GROUP))


def words(svc: comptroller.Service) -> list[str | None]:
    return [
        *(each.reason_code for each in svc.controls.list(reason_code=["UNHEARD_OF"])),
        *(each.status for each in svc.orchestrations.list(status=["ON_ITS_WAY"])),
        *(each.onchain_status for each in svc.payout_groups.list()),
        *(each.status for each in svc.reward_addresses.list()),
    ]


WORDS = ["UNHEARD_OF", "ON_ITS_WAY", "HALF_REGISTERED", "ABOUT_TO_BE"]


def test_a_word_is_kept_however_many_texts_there_are(
    server: Server, store_path: str, tmp_path: Path
) -> None:
    """The keys of the words need more than two bytes; see the fixture of the store."""
    with comptroller.open(tmp_path / "file.db") as file, comptroller.open(store_path) as svc:
        furnish(file)
        furnish(svc)
        assert words(file) == words(svc) == WORDS
        assert svc.check()["ok"]
        again = [each.to_dict() for each in svc.payout_groups.list()]
        assert svc.load("payout-groups", again).unchanged == 1
        svc.copy_to(tmp_path / "copy.db")
    name = store_path.rpartition("?")[0].rpartition("/")[2]
    ((least,),) = server.execute("SELECT min(reason_code) FROM controls", name)
    assert int(least or 0) > 32_767
    with comptroller.open(tmp_path / "copy.db") as copy:
        assert words(copy) == WORDS


def test_writes_that_refer_to_a_group_do_not_wait_for_each_other(store_path: str) -> None:
    """As a load of its claims or addresses, the open transaction keeps the group as it is."""
    with comptroller.open(store_path) as svc, closing(Connection(store_path)) as other:
        load(svc, "payout-groups", group(id=GROUP))
        load(svc, "claims", claim(id="c", payout_group_id=GROUP))
        other.execute("BEGIN")
        other.execute("SELECT s.key FROM symbols s JOIN payout_groups g ON g.id = s.key FOR SHARE")
        load(svc, "reward-addresses", address(payout_group_id=GROUP))
        line = address()
        made = svc.reward_addresses.create(
            ledger=line["ledger"], address=line["address"], payout_group_id=GROUP
        )
        svc.reward_addresses.update(made.id, payout_group_id=GROUP)
        svc.claims.submit("c", tx_hash="h")
        other.execute("ROLLBACK")
