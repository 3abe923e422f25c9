-- The claims of payout groups.
--
-- id (text): the id of the claim
SELECT c.id FROM main.claims AS c
WHERE c.payout_group_id::VARCHAR IN (SELECT unnest($group))
ORDER BY id
