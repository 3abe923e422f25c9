-- Who is restricted
-- Which identities are restricted on a day, by which control, since when and why?
-- Without rows: nobody whom the filters select is restricted on this day.
--
-- A register of the controls that were active at any time of the day: created before it ends, and
-- not deleted before it begins. A control has neither status nor chain, asset, jurisdiction or
-- payout group, so these filters select none.
--
-- $on (time?): the day, by its start; by default the day of the newest change of a control
-- identity (text): the restricted identity
-- reference (text): its reference id, given by the client
-- type (text): what it may not do
-- set_by (text): who restricted it
-- created_at (time): restricted since
-- deleted_at (time): when the control was deleted; null if it was still active
-- reason_code (text): the coded reason
-- reason (text): the reason in prose
-- created_by (text): the client that created the control, or operator
-- control (text): the id of the control
SELECT
  c.identity_id AS identity,
  i.ref_id AS reference,
  c.type,
  c.set_by,
  c.created_at,
  c.deleted_at,
  c.reason_code,
  c.reason,
  c.created_by,
  c.id AS control
FROM controls AS c
CROSS JOIN restricted_span
LEFT JOIN main.identities AS i ON i.id = c.identity_id
WHERE c.created_at < ends AND (c.deleted_at IS NULL OR c.deleted_at >= begins)
  AND ($since IS NULL OR c.created_at >= $since) AND ($until IS NULL OR c.created_at < $until)
ORDER BY identity, created_at, control
