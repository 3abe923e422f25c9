-- All claims within the bounds, with their own columns and the keys of reports; what the `claims`
-- of a report are compared with. If `address` is read, a claim has a row for each of its addresses.
-- Weeks begin on Monday.
SELECT
  c.*,
  c.onchain_status AS status,
  c.blockchain AS chain,
  c.asset_type AS asset,
  g.jurisdiction,
  c.payout_group_id AS "group",
  a.address,
  c.customer_id AS customer,
  c.claim_schedule_id AS schedule,
  date_trunc('hour', c.created_at) AS hour,
  date_trunc('day', local(c.created_at)) AS day,
  date_trunc('week', local(c.created_at)) AS week,
  date_trunc('month', local(c.created_at)) AS month,
  date_trunc('quarter', local(c.created_at)) AS quarter,
  date_trunc('year', local(c.created_at)) AS year
FROM main.claims AS c
LEFT JOIN main.payout_groups AS g ON g.id = c.payout_group_id
LEFT JOIN claim_addresses AS a ON a.claim_id = c.id
WHERE ($since IS NULL OR c.created_at >= $since) AND ($until IS NULL OR c.created_at < $until)
