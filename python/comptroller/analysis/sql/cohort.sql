-- Groups by the month of their first claim
-- How many of the groups that first claimed in a month still claim in later months?
-- Without rows: there are no claims.
--
-- A group's month is the month in which it created its first claim of the asset. Its age in a later
-- month is the number of months between. It is active in a month if it created a claim in it.
--
-- month (time): the month of the first claim
-- age_months (count): the number of months since then; 0 in that month
-- asset (text): the asset that they claim
-- groups (count): the number of groups that created a claim at that age
-- amount (amount): the exact sum of these claims, whatever their status
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
