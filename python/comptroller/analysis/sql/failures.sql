-- Why claims failed, and how many failures a later claim of the group made good.
WITH latest AS (
  SELECT "group", max(created_at) AS confirmed
  FROM claims
  WHERE status = 'CONFIRMED'
  GROUP BY "group"
), failed AS (
  SELECT claims.*, coalesce(latest.confirmed > claims.created_at, FALSE) AS is_made_good
  FROM claims
  LEFT JOIN latest ON latest."group" = claims."group"
  WHERE claims.status = 'FAILED'
)
SELECT
  keys,
  error_message,
  count(*) AS failures,
  total(amount) AS amount,
  count(DISTINCT "group") AS groups,
  count(*) FILTER (WHERE is_made_good) AS made_good,
  total(CASE WHEN is_made_good THEN amount ELSE 0 END) AS made_good_amount,
  min(created_at) AS first_at,
  max(created_at) AS last_at
FROM failed
GROUP BY keys, error_message
ORDER BY keys, error_message
