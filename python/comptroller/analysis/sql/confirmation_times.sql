-- Percentiles of the time to confirmation, including waiting claims.
WITH timed AS (
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
  ended AS confirmed,
  waiting,
  p50 / 1e6 AS p50_seconds,
  p90 / 1e6 AS p90_seconds,
  p99 / 1e6 AS p99_seconds
FROM survival
ORDER BY keys
