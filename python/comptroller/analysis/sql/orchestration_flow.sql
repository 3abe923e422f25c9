-- The orchestrations between each pair of assets, by status.
WITH timed AS (
  SELECT
    o.*,
    TRUE AS ended,  -- no row counts as waiting
    CASE
      WHEN o.status IN ('COMPLETED', 'FAILED', 'REJECTED')
      THEN date_diff('microsecond', o.created_at, o.updated_at)
    END AS took
  FROM main.orchestrations AS o
  WHERE ($since IS NULL OR o.created_at >= $since) AND ($until IS NULL OR o.created_at < $until)
), counted AS (
  SELECT keys, count(*) AS orchestrations, total(coalesce(source_amount, 0)) AS source_amount
  FROM timed
  GROUP BY keys
)
SELECT counted.*, p50 / 1e6 AS p50_seconds, p90 / 1e6 AS p90_seconds
FROM counted
LEFT JOIN survival ON survival.keys IS NOT DISTINCT FROM counted.keys
ORDER BY keys
