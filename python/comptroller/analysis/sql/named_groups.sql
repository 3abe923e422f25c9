-- The names of payout groups, to find a group by its name.
--
-- id (text): the id of the group
-- name (text): its name
SELECT g.id, g.name FROM main.payout_groups AS g WHERE g.name IS NOT NULL ORDER BY id
