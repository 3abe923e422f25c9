-- The records that a history is about, whatever its filters.
--
-- record (text): the table of the record
-- id (text): its id; of a balance, that of its address
-- place (text): its address, if the subject is the id of a reward address
WITH addresses_of AS (
  SELECT a.id, a.address
  FROM main.reward_addresses AS a
  WHERE a.id = $id
    OR fold_address(a.address) = fold_address($id)
    OR a.payout_group_id::VARCHAR = $id
), linked AS (
  SELECT
    'reward_addresses' AS record, a.id, CASE WHEN a.id = $id THEN a.address END AS place
  FROM addresses_of AS a
  UNION ALL
  SELECT 'balances', a.id, NULL FROM addresses_of AS a
  UNION ALL
  SELECT 'claims', c.id, NULL
  FROM main.claims AS c
  WHERE c.payout_group_id::VARCHAR = $id
    OR EXISTS (
      SELECT 1
      FROM claim_addresses AS p
      LEFT JOIN addresses_of AS a ON a.id = $id AND fold_address(a.address) = p.address
      WHERE p.claim_id = c.id AND (p.address = fold_address($id) OR a.id = $id)
    )
  UNION ALL
  SELECT 'controls', c.id, NULL FROM main.controls AS c WHERE c.identity_id = $id
  UNION ALL
  SELECT 'orchestrations', o.id, NULL FROM main.orchestrations AS o WHERE o.identity_id = $id
)
SELECT record, id, place FROM linked ORDER BY record, id
