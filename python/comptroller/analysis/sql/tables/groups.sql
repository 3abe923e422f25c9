-- Payout groups.
SELECT
  g.id AS "group",
  g.asset_type AS asset,
  g.ledger,
  g.jurisdiction,
  g.customer_id AS customer
FROM main.payout_groups AS g
