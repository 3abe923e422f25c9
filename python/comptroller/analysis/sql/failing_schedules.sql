-- Schedules whose claims failed since the last confirmed claim.
WITH latest AS (
  SELECT schedule, max(created_at) FILTER (WHERE status = 'CONFIRMED') AS confirmed_at
  FROM claims
  WHERE schedule IS NOT NULL
  GROUP BY schedule
), failed AS (
  SELECT
    claims.*,
    latest.confirmed_at AS last_confirmed_at,
    row_number() OVER (
      PARTITION BY claims.schedule ORDER BY claims.created_at DESC, claims.id DESC
    ) AS place
  FROM claims
  JOIN latest ON latest.schedule = claims.schedule
  WHERE claims.status = 'FAILED'
    AND (latest.confirmed_at IS NULL OR claims.created_at > latest.confirmed_at)
)
SELECT
  schedule,
  count(*) AS failures,
  count(DISTINCT "group") AS groups,
  max(CASE WHEN place = 1 THEN error_message END) AS last_message,
  min(created_at) AS first_at,
  max(created_at) AS last_at,
  max(last_confirmed_at) AS confirmed_at
FROM failed
GROUP BY schedule
HAVING count(*) >= $least
ORDER BY failures DESC, schedule
