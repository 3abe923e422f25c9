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
)
SELECT
  *,
  claims / sum(claims) OVER () AS claims_share,
  amount / nullif(approximate_total(amount) OVER (PARTITION BY asset), 0) AS amount_share,
  confirmed / nullif(confirmed + failed, 0) AS success_rate
FROM counted
ORDER BY keys
