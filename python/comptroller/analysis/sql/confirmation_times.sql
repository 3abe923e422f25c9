-- How long claims take to be confirmed, the ones still waiting included.
WITH moment AS (
  SELECT coalesce($as_of, max(updated_at)) AS as_of FROM claims
), timed AS (
  SELECT
    keys,
    status = 'CONFIRMED' AS ended,
    date_diff(
      'microsecond', submitted_at, CASE status WHEN 'CONFIRMED' THEN confirmed_at ELSE as_of END
    ) AS took
  FROM claims CROSS JOIN moment
  WHERE status IN ('CONFIRMED', 'SUBMITTED')
)
SELECT
  keys,
  count(*) FILTER (WHERE ended) AS confirmed,
  count(*) FILTER (WHERE NOT ended) AS waiting,
  min(took) FILTER (WHERE ended AND survivors <= 0.5 + 1e-12) / 1e6 AS p50_seconds,
  min(took) FILTER (WHERE ended AND survivors <= 0.1 + 1e-12) / 1e6 AS p90_seconds,
  min(took) FILTER (WHERE ended AND survivors <= 0.01 + 1e-12) / 1e6 AS p99_seconds
FROM survival
GROUP BY keys
HAVING count(*) > 0
ORDER BY keys
