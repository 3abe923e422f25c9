"""The tour: a store from its first record to its report, on real rewards and on a sample."""

from __future__ import annotations

import io
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from importlib import resources
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import click
import msgspec

import comptroller
from comptroller import figures
from comptroller.cli import screen
from comptroller.cli.afar import ask_from_afar
from comptroller.cli.bulk import account, rejections
from comptroller.cli.guide import Guide
from comptroller.cli.reporting import draw_overview
from comptroller.errors import unusable
from comptroller.markup import printable
from comptroller.records import Claim
from comptroller.values import KINDS

if TYPE_CHECKING:
    from rich.table import Table

_SAMPLE_CLAIMS = 20_000
_LINE = (
    '{"id": "%s", "claim_type": "CLAIM_ALL", "onchain_status": "%s", "amount": "%s", '
    '"payout_group_id": "0197f3c4-5b6a-7c8d-9e0f-a1b2c3d4e5f6", "created_at": "%s"}\n'
)
_LINES_WITH_FAULTS = (
    _LINE % ("c-1", "PENDING", "1.50", "2026-01-31T12:00:00Z")
    + _LINE % ("c-2", "PENDING", "1e3", "2026-01-31T12:00:00Z")
    + _LINE % ("c-3", "DONE", "1.50", "2026-01-31T12:00:00Z")
    + _LINE % ("c-4", "PENDING", "1.50", "2026-02-30T12:00:00Z")
)


def tour(db: str | None = None) -> int:
    """Show everything, in a temporary store or in the new file `db`.

    Returns 0 if the sums of the real rewards are the published ones, else 1.
    """
    if db is not None and Path(db).exists():
        raise unusable(f"{db} is there already; the tour wants a new file")
    with tempfile.TemporaryDirectory(prefix="comptroller-") as folder:
        store = db or str(Path(folder) / "tour.db")
        with comptroller.open(store) as svc:
            guide = Guide(svc, store)
            guide.say(
                "This is comptroller: who may do what, which rewards belong to whom, and what was "
                "claimed, kept in one file. The tour uses a temporary store and touches nothing of "
                "yours. Lines after >>> are the Python that is run, lines after $ the commands "
                "that do the same."
            )
            agree = _real_rewards(guide)
            _restrict(guide)
            _attribute(guide)
            _turn_pages(guide)
            _refuse_a_file(guide)
            _report_a_sample(guide, Path(folder))
            ask_from_afar(guide)
            _part(guide)
    return 0 if agree else 1


def _real_rewards(guide: Guide) -> bool:
    rewards = _rewards()
    guide.chapter("Real rewards, exact to the last of 18 digits")
    guide.say(
        "Six reward intervals of Rocket Pool on Ethereum: who earned how much of which asset, as "
        "published by github.com/rocket-pool/rewards-trees under the Apache License 2.0."
    )
    kinds = ("payout-groups", "reward-addresses", "claims")
    guide.command(*(f"comptroller load {kind} {kind}.ndjson.gz" for kind in kinds))
    results = {}
    began = time.perf_counter()
    for kind in kinds:
        with rewards.joinpath(f"{kind}.ndjson.gz").open("rb") as file:
            results[kind] = guide.svc.load(kind, cast("BinaryIO", file))
    lasted = time.perf_counter() - began
    guide.show(account(results))
    lines = sum(result.read for result in results.values())
    guide.say(
        f"{lines:,} lines in {lasted:.1f} s, every one accounted for. Is every last digit there? "
        "All claims are read back page by page and summed, for each interval and asset, and set "
        "against the total that was published:"
    )
    published = msgspec.json.decode(rewards.joinpath("totals.json").read_bytes())["amount"]
    sums = _sums_by_interval(guide.svc)
    compared = screen.table("interval to", "asset", ">claims", ">sum of the claims", ">off by")
    differences = []
    for end, totals in published.items():
        for asset, total in totals.items():
            claims, total_of_claims = sums[datetime.fromisoformat(end), asset]
            differences.append(total_of_claims - Decimal(total))
            compared.add_row(
                *screen.cells([end[:10], asset, claims]),
                figures.with_fraction(total_of_claims, 18),
                figures.with_fraction(differences[-1], 18),
            )
    guide.show(compared)
    equal = differences.count(Decimal(0))
    guide.say(f"{equal} of {len(differences)} sums equal the published totals.")
    return equal == len(differences)


def _rewards() -> Traversable:
    """Find the real rewards: in the installed package, or in the checkout it is run from.

    Raises Unusable if it is in neither.
    """
    checkout = Path(__file__).parents[3] / "notebooks" / "data" / "rocket-pool"
    for folder in (resources.files("comptroller").joinpath("rocket_pool"), checkout):
        if folder.joinpath("totals.json").is_file():
            return folder
    raise unusable("the real rewards are not beside the package; install it again")


def _sums_by_interval(
    svc: comptroller.Service,
) -> defaultdict[tuple[datetime, str | None], tuple[int, Decimal]]:
    sums: defaultdict[tuple[datetime, str | None], tuple[int, Decimal]] = defaultdict(
        lambda: (0, Decimal(0))
    )
    with localcontext(prec=60):
        for claim in svc.claims.iter():
            claims, total = sums[claim.created_at, claim.asset_type]
            sums[claim.created_at, claim.asset_type] = (claims + 1, total + claim.amount)
    return sums


def _restrict(guide: Guide) -> None:
    guide.chapter("Restrict an identity")
    guide.say("The operator sees every customer. Alice belongs to the customer acme:")
    guide.run('svc.identities.put(id="alice", customer_id="acme")')
    guide.say(
        "A client sees its own records only. Acme sets the old flag user_disabled, and the flag "
        "makes a control:"
    )
    guide.run('comptroller.open(store, customer="acme")', name="acme")
    guide.run('acme.identities.update("alice", user_disabled=True)')
    guide.run('acme.controls.list(identity_id="alice")')
    guide.say("To freeze her is the operator's alone: a client can neither do it nor undo it:")
    guide.names["before"] = datetime.now(UTC)
    freeze = (
        '.controls.create(identity_id="alice", type="FROZEN",',
        '    reason_code="COMPLIANCE_REVIEW")',
    )
    guide.run("acme" + freeze[0], freeze[1])
    guide.run("svc" + freeze[0], freeze[1], name="frozen")
    guide.run('acme.identities.get("alice")')
    guide.run("acme.controls.delete(frozen.id)")
    guide.say("May she sell? Not now, but she could a moment ago, and the store remembers:")
    guide.run('acme.identities.permits("alice", "SELL")')
    guide.run('acme.identities.permits("alice", "SELL", at=before)')
    guide.say("Both restrictions are lifted:")
    guide.run('svc.controls.delete(frozen.id, reason="review closed")')
    guide.run('acme.identities.update("alice", user_disabled=False)')


def _attribute(guide: Guide) -> None:
    guide.chapter("Attribute a reward address")
    guide.say("Addresses are monitored, and their rewards attributed to a payout group:")
    guide.run(
        'acme.payout_groups.create(name="Treasury", ledger="ETHEREUM",',
        '    asset_type="RPL", jurisdiction="DE",',
        '    claimer_address="0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")',
        name="group",
    )
    guide.run(
        'acme.reward_addresses.create(ledger="ETHEREUM",',
        '    name="Validator 1",',
        '    address="0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359")',
        name="address",
    )
    guide.run("acme.reward_addresses.update(address.id, payout_group_id=group.id)")
    guide.say("A single letter of the wrong case is a broken checksum, and is refused:")
    guide.run(
        'acme.reward_addresses.create(ledger="ETHEREUM",',
        '    address="0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6Fb")',
    )


def _turn_pages(guide: Guide) -> None:
    guide.chapter("List, page by page")
    guide.say("Every list comes in pages, the newest first, and a cursor leads to the next:")
    page = guide.run('svc.claims.list(chain="ETHEREUM", limit=2)', name="page")
    guide.show(_claims(page.items))
    page = guide.run(
        'svc.claims.list(chain="ETHEREUM", limit=2,',
        "    page_cursor=page.next_page_cursor)",
    )
    guide.show(_claims(page.items))
    guide.say("A cursor belongs to its own list. With other filters it is refused:")
    guide.run('svc.claims.list(chain="INK", page_cursor=page.next_page_cursor)')


def _claims(claims: list[Claim]) -> Table:
    listed = screen.table("claim", "created", "status", ">amount", "asset")
    for claim, amount in zip(claims, figures.aligned([c.amount for c in claims]), strict=True):
        listed.add_row(
            f"{printable(claim.id)[:24]}...",
            f"{claim.created_at:%Y-%m-%d}",
            claim.onchain_status,
            amount,
            screen.cell(claim.asset_type),
        )
    return listed


def _refuse_a_file(guide: Guide) -> None:
    guide.chapter("Bad input is named, line by line")
    guide.say(
        "A file of four claims, three of them wrong. Nothing of it is kept; the counts say what "
        "would have been:"
    )
    guide.command("comptroller load claims faults.ndjson")
    result = guide.svc.load("claims", io.BytesIO(_LINES_WITH_FAULTS.encode()))
    guide.show(account({"claims": result}), rejections(result))
    guide.say("With --keep-going the good line would be kept, and the others told the same.")


def _report_a_sample(guide: Guide, folder: Path) -> None:
    guide.chapter("A sample, and its report")
    guide.say("For a look at a busy service there is made-up data, as much as one wants:")
    guide.command(
        f"comptroller sample all --rows {_SAMPLE_CLAIMS} --customer sample --out sample/",
        "comptroller load KIND sample/KIND.ndjson       (for each kind)",
        "comptroller report",
    )
    comptroller.sample("all", _SAMPLE_CLAIMS, customer="sample", out=folder / "sample")
    for kind in KINDS:
        guide.svc.load(kind, folder / "sample" / f"{kind}.ndjson")
    click.echo()
    if find_spec("duckdb") and find_spec("sqlglot"):
        draw_overview(guide.svc.reports.overview())
    else:
        guide.say('Reports need: pip install "comptroller[analysis]"')


def _part(guide: Guide) -> None:
    found = guide.svc.check()
    rows = sum(found["rows"].values())
    guide.chapter("What next")
    guide.say(
        f"The store now holds {rows:,} records; an examination of all of them found "
        f"{'nothing wrong' if found['ok'] else 'something wrong'}. Try:"
    )
    guide.command(
        "comptroller demo --db tour.db          the tour again, its store kept",
        "comptroller report --db tour.db        everything at a glance",
        "comptroller serve --sample 10000       a server to try, with a client",
        "comptroller export claims failed.csv --db tour.db --where statuses=FAILED",
        "comptroller load claims yours.ndjson   into comptroller.db",
        "comptroller --help",
    )
    guide.say(
        'In Python: import comptroller; svc = comptroller.open("tour.db"); '
        "svc.claims.stream().to_polars(); help(svc.claims)"
    )
