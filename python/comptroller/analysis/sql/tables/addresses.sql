-- Reward addresses that now belong to a group.
SELECT a.id, a.payout_group_id AS "group" FROM main.reward_addresses AS a
WHERE a.payout_group_id IS NOT NULL
