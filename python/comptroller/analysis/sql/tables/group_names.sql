-- The names of payout groups by id.
SELECT g.id::VARCHAR AS "group", g.name AS group_name FROM main.payout_groups AS g
