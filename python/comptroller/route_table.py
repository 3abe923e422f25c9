"""The routes: method, path, operation, and the member that holds the record.

The first route of an operation is the one that is documented.
"""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

ROUTES: tuple[tuple[str, str, str, str | None], ...] = (
    ("GET", "/v2/identity/identities/{id}", "identities.get", None),
    ("GET", "/v2/identity/identities", "identities.list", None),
    ("PUT", "/v2/identity/identities/{id}", "identities.update", None),
    ("PUT", "/operator/identity/identities", "identities.put", None),
    ("GET", "/v2/identity/identities/{id}/permits", "identities.permits", None),
    ("GET", "/v2/identity/controls/{id}", "controls.get", None),
    ("GET", "/v2/identity/controls", "controls.list", None),
    ("POST", "/v2/identity/controls", "controls.create", None),
    ("POST", "/operator/identity/controls", "controls.create", None),
    ("DELETE", "/v2/identity/controls", "controls.delete", None),
    ("DELETE", "/operator/identity/controls", "controls.delete", None),
    ("GET", "/v2/orchestration/orchestrations/{id}", "orchestrations.get", None),
    ("GET", "/v2/orchestration/orchestrations", "orchestrations.list", None),
    ("PUT", "/operator/orchestration/orchestrations", "orchestrations.put", None),
    ("GET", "/rewards/payout-groups/{id}", "payout_groups.get", "group"),
    ("GET", "/v2/rewards/payout-groups/{id}", "payout_groups.get", "group"),
    ("GET", "/rewards/payout-groups", "payout_groups.list", None),
    ("GET", "/v2/rewards/payout-groups", "payout_groups.list", None),
    ("POST", "/rewards/payout-groups", "payout_groups.create", "group"),
    ("POST", "/v2/rewards/payout-groups", "payout_groups.create", "group"),
    ("PUT", "/rewards/payout-groups/{id}", "payout_groups.update", "group"),
    ("PUT", "/v2/rewards/payout-groups/{id}", "payout_groups.update", "group"),
    ("POST", "/operator/rewards/payout-groups/{id}/observe", "payout_groups.observe", "group"),
    ("GET", "/rewards/addresses/{id}", "reward_addresses.get", "address"),
    ("GET", "/v2/rewards/addresses/{id}", "reward_addresses.get", "address"),
    ("GET", "/rewards/addresses", "reward_addresses.list", None),
    ("GET", "/v2/rewards/addresses", "reward_addresses.list", None),
    ("POST", "/rewards/addresses", "reward_addresses.create", "address"),
    ("POST", "/v2/rewards/addresses", "reward_addresses.create", "address"),
    ("PUT", "/rewards/addresses/{id}", "reward_addresses.update", "address"),
    ("PUT", "/v2/rewards/addresses/{id}", "reward_addresses.update", "address"),
    ("POST", "/operator/rewards/addresses/{id}/observe", "reward_addresses.observe", "address"),
    ("GET", "/rewards/claims/{id}", "claims.get", None),
    ("GET", "/v2/rewards/claims/{id}", "claims.get", None),
    ("GET", "/rewards/claims", "claims.list", None),
    ("GET", "/v2/rewards/claims", "claims.list", None),
    ("PUT", "/operator/rewards/claims", "claims.put", None),
    ("POST", "/operator/rewards/claims/{id}/submit", "claims.submit", None),
    ("POST", "/operator/rewards/claims/{id}/confirm", "claims.confirm", None),
    ("POST", "/operator/rewards/claims/{id}/fail", "claims.fail", None),
    ("GET", "/operator/rewards/balances", "balances.list", None),
    ("POST", "/operator/rewards/balances", "balances.record", None),
    ("GET", "/v2/changes", "changes.list", None),
    ("GET", "/v2/journal", "journal.list", None),
    ("GET", "/v2/journal/proof", "journal.prove", None),
)
