-- What happened, in order
-- Which events happened to a claim, an identity, a payout group or an address?
-- Without rows: nothing happened in this time.
--
-- The time of a failed claim or an ended orchestration is that of its last change. The event made
-- good of a failed claim is the next CONFIRMED claim of its group. The journal says who wrote what,
-- and when: recorded is the load or call that stored a record, changed has the old and the new
-- value of a member. Only the operator of a store in this process sees them. Other events show
-- present values, or with as_of_recorded those that the store had then; their amount is the one
-- before later changes. since and until limit the events. The filters select the claims,
-- orchestrations and controls whose events are listed; the events of the record itself remain.
--
-- $id (id): id of a claim, identity, group or reward address, an address, or a unique group name
-- $as_of_recorded (time?): show what the store knew at this time, without later changes
-- $status (texts?): only claims and orchestrations of these statuses
-- at (time): the time of the event
-- record (text): claim, control, orchestration, identity, group or address
-- id (text): the record's id
-- event (text): the event
-- asset (text): the asset of the amount
-- amount (amount): the amount of the claim or orchestration, or the observed balance
-- actor (text): who made the change, or created or deleted the control
-- detail (text): the reason, message, transaction, other record, or entry of the journal
-- member (text): the member that was changed
-- old (text): its value before; null if it was not set
-- new (text): its value after; null if it is not set
WITH addresses_of AS (
  SELECT
    a.id, a.address, a.payout_group_id, a.created_at,
    coalesce(a.name || ' (' || a.address || ')', a.address) AS shown
  FROM main.reward_addresses AS a
  WHERE a.id = $id
    OR fold_address(a.address) = fold_address($id)
    OR a.payout_group_id::VARCHAR = $id
), claims_of AS (
  -- not the relation claims, which the bounds limit
  SELECT c.*
  FROM main.claims AS c
  WHERE ($status IS NULL OR c.onchain_status IN (SELECT unnest($status)))
    AND ($chain IS NULL OR c.blockchain IN (SELECT unnest($chain)))
    AND ($asset IS NULL OR c.asset_type IN (SELECT unnest($asset)))
    AND ($group IS NULL OR c.payout_group_id::VARCHAR IN (SELECT unnest($group)))
    AND ($customer IS NULL OR c.customer_id IN (SELECT unnest($customer)))
    AND (
      $jurisdiction IS NULL
      OR c.payout_group_id IN (
        SELECT g.id
        FROM main.payout_groups AS g
        WHERE g.jurisdiction IN (SELECT unnest($jurisdiction))
      )
    )
    AND (
      c.id = $id
      OR c.payout_group_id::VARCHAR = $id
      OR EXISTS (
        SELECT 1
        FROM claim_addresses AS p
        LEFT JOIN addresses_of AS a ON a.id = $id AND fold_address(a.address) = p.address
        WHERE p.claim_id = c.id AND (p.address = fold_address($id) OR a.id = $id)
      )
    )
), made_good AS (
  SELECT
    f.id,
    c.id AS by_id,
    coalesce(c.confirmed_at, c.created_at) AS at,
    row_number() OVER (PARTITION BY f.id ORDER BY c.created_at, c.id) AS place
  FROM claims_of AS f
  JOIN main.claims AS c
    ON c.payout_group_id = f.payout_group_id AND c.asset_type IS NOT DISTINCT FROM f.asset_type
  WHERE f.onchain_status = 'FAILED' AND c.onchain_status = 'CONFIRMED'
    AND c.created_at > f.created_at
), controls_of AS (
  SELECT c.*, c.type || coalesce(' ' || c.reason_code, '') || coalesce(': ' || c.reason, '') AS why
  FROM controls AS c
  WHERE c.identity_id = $id OR c.id = $id
), orchestrations_of AS (
  SELECT o.*, coalesce(o.source_asset, '?') || ' to ' || coalesce(o.destination_asset, '?') AS route
  FROM orchestrations AS o
  WHERE o.identity_id = $id OR o.id = $id
), events AS (
  SELECT
    created_at AS at, 'claim' AS record, id, 'created' AS event, asset_type AS asset, amount,
    NULL::VARCHAR AS actor, claim_schedule_id AS detail
  FROM claims_of
  UNION ALL
  SELECT submitted_at, 'claim', id, 'submitted', asset_type, amount, NULL, tx_hash
  FROM claims_of WHERE submitted_at IS NOT NULL
  UNION ALL
  SELECT confirmed_at, 'claim', id, 'confirmed', asset_type, amount, NULL, tx_hash
  FROM claims_of WHERE onchain_status = 'CONFIRMED' AND confirmed_at IS NOT NULL
  UNION ALL
  SELECT updated_at, 'claim', id, 'failed', asset_type, amount, NULL, error_message
  FROM claims_of WHERE onchain_status = 'FAILED'
  UNION ALL
  SELECT at, 'claim', id, 'made good', NULL, NULL, NULL, by_id FROM made_good WHERE place = 1
  UNION ALL
  SELECT created_at, 'control', id, 'created', NULL, NULL, created_by, why FROM controls_of
  UNION ALL
  SELECT
    deleted_at, 'control', id, 'deleted', NULL, NULL, deleted_by, coalesce(deletion_reason, why)
  FROM controls_of WHERE deleted_at IS NOT NULL
  UNION ALL
  SELECT created_at, 'orchestration', id, 'created', source_asset, source_amount, NULL, route
  FROM orchestrations_of
  UNION ALL
  SELECT updated_at, 'orchestration', id, lower(status), source_asset, source_amount, NULL, route
  FROM orchestrations_of WHERE status IN ('COMPLETED', 'FAILED', 'REJECTED')
  UNION ALL
  SELECT i.created_at, 'identity', i.id, 'created', NULL, NULL, NULL, i.ref_id
  FROM main.identities AS i WHERE i.id = $id
  UNION ALL
  SELECT g.created_at, 'group', g.id::VARCHAR, 'created', g.asset_type, NULL, NULL, g.name
  FROM main.payout_groups AS g WHERE g.id::VARCHAR = $id
  UNION ALL
  SELECT created_at, 'address', id, 'created', NULL, NULL, NULL, shown FROM addresses_of
  UNION ALL
  SELECT b.at, 'address', b.address_id, 'balance', g.asset_type, b.balance, NULL, a.shown
  FROM main.balances AS b
  JOIN addresses_of AS a ON a.id = b.address_id
  LEFT JOIN main.payout_groups AS g ON g.id = a.payout_group_id
)
SELECT
  at, record, id, event, asset, amount, actor, detail,
  NULL::VARCHAR AS member, NULL::VARCHAR AS old, NULL::VARCHAR AS new
FROM events
WHERE ($since IS NULL OR at >= $since) AND ($until IS NULL OR at < $until)
ORDER BY
  at, record, id,
  CASE event WHEN 'created' THEN 0 WHEN 'submitted' THEN 1 WHEN 'made good' THEN 3 ELSE 2 END
