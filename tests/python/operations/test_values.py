"""Texts, enumeration values, ids and metadata: stored unchanged, with exact limits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from lines import at, claim, fresh, made_group, orchestration, refused

UNUSUAL = [
    " leading and trailing ",
    "\u00e9 composed",
    "e\u0301 decomposed",
    "\u0645\u0631\u062d\u0628\u0627 right to left",
    "\u202eoverridden\u202c",
    "zero\u200bwidth \u200d joiner \ufeff mark",
    "👩‍👩‍👧‍👦 family, 🇨🇭 flag",
    "\u00df \u0130 \u0131 \u01c5 \ufb01 \u212a \u212b cases and folds",
    "\u007f \u0085 \u2028 \u2029",
    "\U0010ffff \ufffe",
    "null",
    '"quoted" \\back\\ /slash/',
    "'; drop table claims; --",
    "%_*?[]",
    "<script>&amp;",
]


def put_orchestration(operator, **members: Any) -> Any:
    return operator.orchestrations.put(orchestration(**members))


def put_identity(operator, **members: Any) -> Any:
    return operator.identities.put(**{"id": fresh("id")} | members)


def with_control(operator, **members: Any) -> Any:
    name = operator.identities.put(id=fresh("id")).id
    return operator.controls.create(identity_id=name, type="CLOSED", reason_code="X", **members)


def lifted(operator, reason: str) -> Any:
    return operator.controls.delete(with_control(operator).id, reason=reason)


# How a text is written and read, with its maximum and minimum length.
LABELS = {
    "ref_id": lambda o, x: put_orchestration(o, ref_id=x).ref_id,
    "identity ref_id": lambda o, x: put_identity(o, ref_id=x).ref_id,
    "source_asset": lambda o, x: put_orchestration(o, source_asset=x).source_asset,
    "destination_asset": lambda o, x: put_orchestration(o, destination_asset=x).destination_asset,
    "address": lambda o, x: (
        put_orchestration(o, source={"crypto": {"address": x}}).source.crypto.address
    ),
    "network": lambda o, x: (
        put_orchestration(o, destination={"crypto": {"network": x}}).destination.crypto.network
    ),
    "tx_hash": lambda o, x: o.claims.put(claim(tx_hash=x)).tx_hash,
    "blockchain": lambda o, x: o.claims.put(claim(blockchain=x)).blockchain,
    "claimed address": lambda o, x: o.claims.put(claim(addresses=["a", x])).addresses[1],
    "claim asset_type": lambda o, x: o.claims.put(claim(asset_type=x)).asset_type,
    "asset_type": lambda o, x: made_group(o, asset_type=x).asset_type,
    "jurisdiction": lambda o, x: made_group(o, jurisdiction=x).jurisdiction,
    "rate_id": lambda o, x: o.payout_groups.observe(made_group(o).id, rate_id=x).rate_id,
}
NAMES = {
    "group name": lambda o, x: made_group(o, name=x).name,
    "renamed": lambda o, x: o.payout_groups.update(made_group(o).id, name=x).name,
}
NOTES = {
    "reason": lambda o, x: with_control(o, reason=x).reason,
    "deletion_reason": lambda o, x: lifted(o, x).deletion_reason,
    "detail": lambda o, x: put_orchestration(o, fail_reason={"detail": x}).fail_reason.detail,
    "source memo": lambda o, x: put_orchestration(o, source={"fiat": {"memo": x}}).source.fiat.memo,
    "destination memo": lambda o, x: (
        put_orchestration(o, destination={"fiat": {"memo": x}}).destination.fiat.memo
    ),
    "error_message": lambda o, x: o.claims.put(claim(error_message=x)).error_message,
}
TEXTS = LABELS | NAMES | NOTES
LENGTHS = [
    *[(name, 1, 128) for name in LABELS],
    *[(name, 1, 256) for name in NAMES],
    *[(name, 0, 1024) for name in NOTES],
]
each_text = pytest.mark.parametrize("write", TEXTS.values(), ids=TEXTS)


@each_text
def test_a_text_is_stored_byte_for_byte(shared_operator, write):
    for text in UNUSUAL:
        assert write(shared_operator, text).encode() == text.encode()


@pytest.mark.parametrize(("name", "shortest", "longest"), LENGTHS)
def test_a_text_may_be_as_long_as_its_limit_in_characters(shared_operator, name, shortest, longest):
    for letter in "xé👩":
        for length in (shortest, longest):
            assert TEXTS[name](shared_operator, letter * length) == letter * length
        for length in (shortest - 1, longest + 1):
            if length >= 0:
                with refused("invalid-request", 400):
                    TEXTS[name](shared_operator, letter * length)


@each_text
def test_a_control_character_is_refused_in_every_text(shared_operator, write):
    for code in (0, 1, 9, 10, 13, 27, 31):
        with refused("invalid-request", 400):
            write(shared_operator, f"a{chr(code)}b")
    with refused("invalid-request", 400):
        write(shared_operator, "a\ud800b")


@settings(max_examples=40)
@given(st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]), max_size=100))
def test_any_other_text_comes_back_from_the_store(shared_operator, text):
    name = fresh("text")
    shared_operator.orchestrations.put(
        orchestration(id=name, fail_reason={"detail": text}, metadata={"k" + text[:63]: text})
    )
    shown = shared_operator.orchestrations.get(name)
    assert shown.fail_reason.detail.encode() == text.encode()
    assert shown.metadata == {"k" + text[:63]: text}


def test_a_filter_finds_a_text_byte_for_byte(shared_operator):
    for text in UNUSUAL:
        name = put_orchestration(shared_operator, ref_id=text, source_asset=text).id
        for filters in ({"ref_id": text}, {"source_asset": text}):
            found = [item.id for item in shared_operator.orchestrations.list(**filters)]
            assert name in found
            for other in (text.upper(), text.strip(), text + " "):
                if other != text:
                    values = dict.fromkeys(filters, other)
                    assert name not in [
                        item.id for item in shared_operator.orchestrations.list(**values)
                    ]


IDS = {
    "identity": lambda o, x: put_identity(o, id=x).id,
    "customer_id": lambda o, x: put_identity(o, customer_id=x).customer_id,
    "orchestration": lambda o, x: put_orchestration(o, id=x).id,
    "profile_id": lambda o, x: put_orchestration(o, profile_id=x).profile_id,
    "identity_id": lambda o, x: put_orchestration(o, identity_id=x).identity_id,
    "account_id": lambda o, x: put_orchestration(o, account_id=x).account_id,
    "orchestration_rule_id": lambda o, x: (
        put_orchestration(o, orchestration_rule_id=x).orchestration_rule_id
    ),
    "claim": lambda o, x: o.claims.put(claim(id=x)).id,
}


@pytest.mark.parametrize("write", IDS.values(), ids=IDS)
def test_an_id_is_1_to_128_printable_ascii_characters_without_space(shared_operator, write):
    for good in ("a", "~" * 128, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "0190", "Case", "CASE"):
        assert write(shared_operator, good) == good
    for bad in ("", "x" * 129, "a b", "é", "a\tb", "a\x7f", "\u00a0"):
        with refused("invalid-request", 400):
            write(shared_operator, bad)


def test_a_uuid_is_stored_in_lower_case_and_found_in_any(shared_operator):
    id = "01900000-0000-7000-8000-0000000000EF"
    made = shared_operator.orchestrations.put(orchestration(id=id))
    assert made.id == id.lower()
    for spelled in (id, id.lower()):
        assert shared_operator.orchestrations.get(spelled) == made
        assert shared_operator.orchestrations.list(orchestration_id=spelled).items == [made]


def test_any_other_id_keeps_its_case(shared_operator):
    for id in ("A" * 36, "Case-1", "0190000000007000800000000000000A"):
        assert shared_operator.orchestrations.put(orchestration(id=id)).id == id
        with refused("not-found"):
            shared_operator.orchestrations.get(id.swapcase())


@pytest.mark.parametrize(
    "id", ["no-uuid", "01900000000070008000000000000001", "{01900000-0000-7000-8000-000000000001}"]
)
def test_a_uuid_member_refuses_other_ids(shared_operator, id):
    with refused("invalid-request", 400):
        shared_operator.claims.put(claim(payout_group_id=id))


def test_uuids_are_shown_in_lower_case_everywhere(shared_operator):
    home = "01900000-0000-7000-8000-00000000ABCD"
    made = shared_operator.claims.put(claim(payout_group_id=home))
    assert made.payout_group_id == home.lower()
    for spelled in (home, home.lower()):
        assert shared_operator.claims.list(payout_group_id=spelled).items == [made]


METADATA = [
    ({f"k{n}": "v" for n in range(50)}, True),
    ({f"k{n}": "v" for n in range(51)}, False),
    ({"é" * 64: "v"}, True),
    ({"é" * 65: "v"}, False),
    ({"k": "👩" * 512}, True),
    ({"k": "👩" * 513}, False),
    ({"k": ""}, True),
    ({"k": 1}, False),
    ({"k": True}, False),
    ({"k": None}, False),
    ({"k": {"nested": "v"}}, False),
    ({"k": ["v"]}, False),
    ({"k\n": "v"}, False),
    ({"k": "v\x00"}, False),
    ({" k ": " v "}, True),
    ({"b": "1", "a": "2", "e\u0301": "3", "\u00e9": "4"}, True),
]


@pytest.mark.parametrize(("metadata", "is_good"), METADATA)
def test_metadata_is_up_to_50_pairs_of_text(shared_operator, metadata, is_good):
    writes = [
        lambda: put_identity(shared_operator, metadata=metadata),
        lambda: put_orchestration(shared_operator, metadata=metadata),
        lambda: shared_operator.identities.update(
            put_identity(shared_operator).id, metadata=metadata
        ),
    ]
    for write in writes:
        if is_good:
            assert write().metadata == metadata
        else:
            with refused("invalid-request", 400) as caught:
                write()
            assert caught.value.errors[0].field.startswith("metadata")


@pytest.mark.parametrize("word", ["A", "Z" * 64, "PROCESSING", "A_1_"])
def test_a_value_of_an_open_set_is_stored_unchanged(shared_operator, word):
    made = put_orchestration(
        shared_operator, status=word, source_transfer={"transfer_id": "t", "status": word}
    )
    assert (made.status, made.source_transfer.status) == (word, word)
    assert made in shared_operator.orchestrations.list(status=word).items


@pytest.mark.parametrize("word", ["", "a", "1A", "_A", "A B", "A-B", "Z" * 65, "É", "A\u0301"])
def test_an_invalid_value_of_an_open_set_is_refused(shared_operator, word):
    made = made_group(shared_operator)
    for write in (
        lambda: put_orchestration(shared_operator, status=word),
        lambda: put_orchestration(shared_operator, destination_transfer={"status": word}),
        lambda: shared_operator.claims.put(claim(claim_type=word)),
        lambda: shared_operator.payout_groups.observe(made.id, onchain_status=word),
    ):
        with refused("invalid-request", 400):
            write()


def test_the_order_of_a_records_timestamps_is_not_checked(shared_operator):
    made = shared_operator.claims.put(
        claim(created_at=at(9), updated_at=at(1), submitted_at=at(5), confirmed_at=at(0))
    )
    assert (made.created_at, made.confirmed_at) == (at(9), at(0))
