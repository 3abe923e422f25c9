-- How many claims there are for each key, their amount, and how many succeeded.
WITH counted AS (
  SELECT
    keys,
    count(*) AS claims,
    total(amount) AS amount,
    count(*) FILTER (WHERE status = 'CONFIRMED') AS confirmed,
    count(*) FILTER (WHERE status = 'FAILED') AS failed
  FROM claims
  GROUP BY keys
), everything AS (
  SELECT sum(claims) AS all_claims FROM counted
), assets AS (
  SELECT asset AS of_asset, approximate_total(amount) AS all_amount FROM counted GROUP BY asset
)
SELECT
  keys,
  claims,
  amount,
  claims / all_claims AS claims_share,
  amount / nullif(all_amount, 0) AS amount_share,
  confirmed,
  failed,
  confirmed / nullif(confirmed + failed, 0) AS success_rate
FROM counted
CROSS JOIN everything
JOIN assets ON of_asset IS NOT DISTINCT FROM asset
ORDER BY keys
