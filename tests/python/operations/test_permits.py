"""`permits` answers as the identity does, and at a time, from the controls active then."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta

import comptroller
from hypothesis import HealthCheck, given, settings, strategies as st
from lines import control, identity, load

ACTIONS = ("BUY", "SELL", "DEPOSIT", "WITHDRAW")
NEVER = 10**6

# Hours from now; the clocks of the hosts that wrote the controls may disagree with ours.
hours = st.integers(min_value=-3, max_value=3)
histories = st.lists(
    st.tuples(
        st.sampled_from(["SELL_ONLY", "CLOSED", "FROZEN", "DORMANT"]),
        st.sampled_from(["CLIENT", "PROVIDER"]),
        hours,
        st.one_of(st.none(), st.integers(min_value=0, max_value=4)),  # hours until it is deleted
    ),
    max_size=5,
)


def permitted(types: set[str]) -> set[str]:
    """Returns the actions that controls of these types permit together."""
    return set(ACTIONS) if not types else {"SELL"} if types == {"SELL_ONLY"} else set()


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(history=histories, asked=hours)
def test_permits_agrees_with_the_identity_and_with_the_history(
    template, tmp_path_factory, history, asked
):
    path = shutil.copyfile(template, tmp_path_factory.mktemp("store") / "store.db")
    with comptroller.open(path) as operator:
        load(operator, "identities", identity(id="i"))
        now = datetime.now(UTC)
        kept: list[tuple[str, int, int]] = []
        active: set[tuple[str, str]] = set()
        for number, (type, set_by, created, lasts) in enumerate(history):
            if lasts is None and (type, set_by) in active:
                continue  # one active control of a type and setter
            if lasts is None:
                active.add((type, set_by))
            begin = now + timedelta(hours=created)
            deleted = {} if lasts is None else {"deleted_at": begin + timedelta(hours=lasts)}
            line = control(
                id=f"c{number}",
                identity_id="i",
                type=type,
                set_by=set_by,
                created_at=begin,
                **deleted,
            )
            load(operator, "controls", line)
            kept.append((type, created, NEVER if lasts is None else created + lasts))
        shown = operator.identities.get("i")
        moment = now + timedelta(hours=asked)
        in_force = {type for type, begins, ends in kept if begins <= asked < ends}
        for action in ACTIONS:
            is_permitted = action in shown.status_details.permitted_actions
            assert operator.identities.permits("i", action) == is_permitted
            then = operator.identities.permits("i", action, at=moment)
            assert then == (action in permitted(in_force))
