-- Reward addresses that belong to a group at present.
SELECT a.id, a.payout_group_id AS "group" FROM store.reward_addresses AS a
WHERE a.payout_group_id IS NOT NULL
