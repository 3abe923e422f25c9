-- Two events for each control: its creation, and its deletion. If the deletion has an earlier time
-- than the creation, it counts at the time of the creation.
WITH chosen_controls AS (
  SELECT c.*, greatest(c.created_at, c.deleted_at) AS lifted_at
  FROM main.controls AS c
  WHERE ($since IS NULL OR c.created_at >= $since) AND ($until IS NULL OR c.created_at < $until)
), unkeyed_events AS (
  SELECT *, 'created' AS event, created_at AS at FROM chosen_controls
  UNION ALL
  SELECT *, 'lifted' AS event, lifted_at AS at FROM chosen_controls WHERE deleted_at IS NOT NULL
)
SELECT
  customer_id AS customer,
  date_trunc('hour', at) AS hour,
  date_trunc('day', at) AS day,
  date_trunc('week', at) AS week,
  date_trunc('month', at) AS month,
  type,
  set_by,
  reason_code,
  event,
  created_at,
  CASE WHEN deleted_at IS NOT NULL THEN lifted_at END AS lifted_at
FROM unkeyed_events
