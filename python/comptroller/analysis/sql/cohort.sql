-- Groups by the month of their first claim of an asset: how many claim it in later months.
WITH active AS (
  SELECT asset, "group", month AS active_month, total(amount) AS amount
  FROM claims
  GROUP BY asset, "group", month
), aged AS (
  SELECT *, min(active_month) OVER (PARTITION BY asset, "group") AS month FROM active
), counted AS (
  SELECT *, date_diff('month', month, active_month) AS age_months FROM aged
)
SELECT month, age_months, asset, count(*) AS groups, total(amount) AS amount
FROM counted
GROUP BY month, age_months, asset
ORDER BY month, age_months, asset
