"""What an export can be taken apart by: the keys of reports that its columns have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from comptroller.analysis.parameters import keys

_COLUMNS = {
    "status": "onchain_status",
    "chain": "blockchain",
    "asset": "asset_type",
    "group": "payout_group_id",
    "customer": "customer_id",
    "schedule": "claim_schedule_id",
    "claim_type": "claim_type",
}


def partitions(columns: Sequence[str], by: Sequence[str]) -> Mapping[str, str]:
    """The keys that rows of these columns are written apart by, each as SQL that gives text.

    Raises InvalidRequest for a key that there is no column for.
    """
    time = '"at"' if "at" in columns else "created_at"
    folders = {key: column for key, column in _COLUMNS.items() if column in columns}
    for period in ("day", "week", "month"):
        folders[period] = f"strftime(date_trunc('{period}', {time}), '%Y-%m-%d')"
    return {key: folders[key] for key in keys(by, list(folders), "partition")}
