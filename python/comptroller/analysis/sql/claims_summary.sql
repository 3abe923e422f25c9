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
), totals AS (
  SELECT asset, approximate_total(amount) AS asset_amount FROM counted GROUP BY asset
)
SELECT
  counted.*,
  claims / sum(claims) OVER () AS claims_share,
  amount / nullif(asset_amount, 0) AS amount_share,
  confirmed / nullif(confirmed + failed, 0) AS success_rate
FROM counted
JOIN totals ON totals.asset IS NOT DISTINCT FROM counted.asset
ORDER BY keys
