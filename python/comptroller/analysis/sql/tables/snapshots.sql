-- Balances of the addresses that now belong to a group; each is valid until `next_at`, the time
-- of the next snapshot of the address (NULL for the newest).
SELECT
  a.payout_group_id AS "group",
  b.balance,
  b.at,
  lead(b.at) OVER (PARTITION BY b.address_id ORDER BY b.at) AS next_at
FROM main.balances AS b
JOIN main.reward_addresses AS a ON a.id = b.address_id
WHERE a.payout_group_id IS NOT NULL
