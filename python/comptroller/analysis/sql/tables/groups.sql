-- Payout groups.
SELECT g.id AS "group", g.asset_type AS asset, g.ledger FROM main.payout_groups AS g
