-- Two events for each control: its creation, and its deletion. If the deletion has an earlier time
-- than the creation, it counts at the time of the creation.
WITH chosen_controls AS (
  SELECT
    c.*,
    c.customer_id AS customer,
    CASE WHEN c.deleted_at IS NOT NULL THEN greatest(c.created_at, c.deleted_at) END AS ended_at
  FROM controls AS c
  WHERE ($since IS NULL OR c.created_at >= $since) AND ($until IS NULL OR c.created_at < $until)
), unkeyed_events AS (
  SELECT *, 'created' AS event, created_at AS at FROM chosen_controls
  UNION ALL
  SELECT *, 'deleted' AS event, ended_at AS at FROM chosen_controls WHERE ended_at IS NOT NULL
)
SELECT
  *,
  date_trunc('hour', at) AS hour,
  date_trunc('day', local(at)) AS day,
  date_trunc('week', local(at)) AS week,
  date_trunc('month', local(at)) AS month,
  date_trunc('quarter', local(at)) AS quarter,
  date_trunc('year', local(at)) AS year
FROM unkeyed_events
