"""The Service object: closing, forking, threads, and its representations."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from decimal import Decimal

import comptroller
import pytest
from lines import address, at, balance, claim, control, group, identity, load, orchestration

HOME = "01900000-0000-7000-8000-000000000001"
NOUNS = (
    "identities",
    "controls",
    "orchestrations",
    "payout_groups",
    "reward_addresses",
    "balances",
    "claims",
)


@pytest.fixture(scope="module")
def furnish_template():
    """Fills stores with a record of each resource."""

    def furnish_store(operator):
        load(operator, "identities", identity(id="i", metadata={"<b>": "&"}))
        load(operator, "controls", control(identity_id="i"))
        load(operator, "orchestrations", orchestration(source_amount="1.50"))
        load(operator, "payout-groups", group(id=HOME, name="<script>"))
        load(operator, "reward-addresses", address(id=HOME))
        load(operator, "balances", balance(address_id=HOME))
        load(operator, "claims", claim(payout_group_id=HOME))

    return furnish_store


@pytest.mark.parametrize("resource", NOUNS)
def test_a_record_is_frozen_and_pickles(shared_operator, resource):
    (record,) = getattr(shared_operator, resource).list()
    name = record.__struct_fields__[0]
    with pytest.raises(AttributeError):
        setattr(record, name, "x")
    with pytest.raises((AttributeError, TypeError)):
        record.nonsense = 1
    assert pickle.loads(pickle.dumps(record)) == record
    assert repr(record).startswith(f"{type(record).__name__}({name}=")
    assert "None" not in repr(record)


@pytest.mark.parametrize("resource", NOUNS)
def test_values_are_plain_text_decimals_and_aware_times(shared_operator, resource):
    (record,) = getattr(shared_operator, resource).list()
    for name in record.__struct_fields__:
        value = getattr(record, name)
        assert not isinstance(value, float), name
        if isinstance(value, str):
            assert type(value) is str
        if isinstance(value, datetime):
            assert value.tzinfo is not None
            assert value.utcoffset().total_seconds() == 0
        if name in ("amount", "source_amount") or (resource == "balances" and name == "balance"):
            assert type(value) is Decimal


@pytest.mark.parametrize("resource", NOUNS)
def test_a_page_has_a_short_escaped_table(shared_operator, resource):
    page = getattr(shared_operator, resource).list()
    assert repr(page) == f"<Page: 1 x {type(page[0]).__name__}, the last page>"
    html = page._repr_html_()
    assert html.count("<table>") == 1
    assert "<script>" not in html
    assert "<b>" not in html


def test_the_repr_of_a_service_names_its_store(open_as, store_path):
    shown = [repr(open_as()), repr(open_as(customer="acme")), repr(open_as(read_only=True))]
    assert all(str(store_path) in text for text in shown)
    assert "operator" in shown[0]
    assert "acme" in shown[1]
    assert "read only" in shown[2]


@pytest.mark.parametrize("resource", NOUNS)
def test_after_close_every_resource_is_closed(operator, resource):
    listed = getattr(operator, resource)
    operator.close()
    operator.close()
    for ask in (listed.list, lambda: next(listed.iter())):
        with pytest.raises(comptroller.Closed) as caught:
            ask()
        assert (caught.value.code, caught.value.status) == ("closed", 503)


def test_leaving_the_context_closes(store_path):
    with comptroller.open(store_path) as service:
        assert service.claims.list().next_page_cursor == ""
    with pytest.raises(comptroller.Closed):
        service.claims.list()


def test_an_error_inside_the_context_is_not_swallowed(store_path):
    with pytest.raises(comptroller.NotFound), comptroller.open(store_path) as service:
        service.claims.get("nobody")


def test_closing_one_service_leaves_another_of_the_same_file_open(open_as):
    first, second = open_as(), open_as()
    first.close()
    assert second.identities.put(id="a").id == "a"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_refused_and_the_parent_continues(operator):
    asks = [
        lambda: operator.identities.get("i"),
        lambda: operator.identities.put(id="j"),
        lambda: operator.claims.list(),
        lambda: operator.check(),
    ]
    child = os.fork()
    if child == 0:
        refusals = 0
        try:
            for ask in asks:
                try:
                    ask()
                except comptroller.Closed:
                    refusals += 1
            operator.close()
        finally:
            os._exit(refusals)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == len(asks)
    assert operator.identities.put(id="k").id == "k"
    assert operator.identities.get("i").id == "i"


def test_threads_share_a_service(operator):
    def work(number: int) -> bool:
        made = operator.identities.put(id=f"id-{number}", metadata={"number": str(number)})
        operator.controls.create(identity_id=made.id, type="CLOSED", reason_code="X")
        shown = operator.identities.get(made.id)
        return shown.metadata == {"number": str(number)} and shown.status == "DISABLED"

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(48)))
    assert len(operator.identities.list()) == 49
    assert len(operator.controls.list()) == 49


def test_closing_during_calls_gives_results_or_closed(operator):
    def work(number: int) -> str:
        try:
            return operator.identities.put(id=f"id-{number}").id
        except comptroller.Error as error:
            return error.code

    with ThreadPoolExecutor(4) as threads:
        working = [threads.submit(work, number) for number in range(40)]
        working[5].result()
        operator.close()
        answers = [future.result() for future in working]
    assert answers[5] == "id-5"
    assert {answer for answer in answers if not answer.startswith("id-")} <= {
        "unavailable",
        "closed",
    }


def test_a_write_of_one_service_is_visible_to_another(open_as):
    writer, reader = open_as(), open_as(customer="default")
    for number in range(10):
        writer.identities.put(id=str(number))
        assert reader.identities.get(str(number)).id == str(number)


@pytest.mark.parametrize("customer", ["", "a b", "é", "x" * 129])
def test_an_invalid_customer_is_refused(store_path, customer):
    with pytest.raises(comptroller.InvalidRequest):
        comptroller.open(store_path, customer=customer)


def test_the_class_of_an_error_follows_its_status(operator, open_as):
    reader = open_as(customer="acme", scopes=["rewards:read_claims"])
    asks = {
        comptroller.NotFound: lambda: operator.claims.get("nobody"),
        comptroller.InvalidRequest: lambda: operator.claims.list(limit=0),
        comptroller.Forbidden: lambda: reader.identities.list(),
        comptroller.Conflict: lambda: operator.balances.record(
            address_id=HOME, balance="2", at=at(0)
        ),
    }
    for kind, ask in asks.items():
        with pytest.raises(kind) as caught:
            ask()
        assert isinstance(caught.value, comptroller.Error)
        assert pickle.loads(pickle.dumps(caught.value)).code == caught.value.code
        assert caught.value.code in str(caught.value)
