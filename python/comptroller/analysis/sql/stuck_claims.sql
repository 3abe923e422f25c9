-- Claims that wait longer than a percentile of the confirmed claims of their chain, oldest first.
WITH confirmed AS (
  SELECT chain, date_diff('microsecond', submitted_at, confirmed_at) AS took
  FROM claims
  WHERE status = 'CONFIRMED' AND submitted_at IS NOT NULL AND confirmed_at IS NOT NULL
), ranked AS (
  SELECT
    chain,
    took,
    count(*) OVER (PARTITION BY chain) AS claims,
    row_number() OVER (PARTITION BY chain ORDER BY took) AS place
  FROM confirmed
), thresholds AS (
  -- by nearest rank
  SELECT chain, min(took) FILTER (WHERE place >= $percentile * claims) AS threshold
  FROM ranked
  GROUP BY chain
), waiting AS (
  SELECT
    *,
    date_diff(
      'microsecond',
      CASE status WHEN 'SUBMITTED' THEN coalesce(submitted_at, created_at) ELSE created_at END,
      as_of
    ) AS age
  FROM claims CROSS JOIN moment
  WHERE status IN ('PENDING', 'SUBMITTED')
)
SELECT waiting.*, age / 1e6 AS age_seconds, threshold / 1e6 AS threshold_seconds
FROM waiting
JOIN thresholds ON thresholds.chain IS NOT DISTINCT FROM waiting.chain
WHERE age > threshold
ORDER BY age_seconds DESC, id
