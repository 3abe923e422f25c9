-- Groups by the month of their first claim
-- How many of the groups that first claimed in a month still claim in later months?
-- Without rows: there are no claims that the filters select.
--
-- A group's month is the month in which it created its first claim of the asset that the filters,
-- since and until select. Its age in a later month is the number of months in between. It is active
-- in a month in which it created such a claim. Only confirmed_amount was paid.
--
-- month (date): the month of the first claim
-- age_months (count): the number of months since then; 0 in that month
-- asset (text): the asset that they claim
-- groups (count): the number of groups that created a claim at that age
-- confirmed_amount (amount): the exact sum of those of these claims that are CONFIRMED
-- waiting_amount (amount): the exact sum of those that are PENDING or SUBMITTED
-- failed_amount (amount): the exact sum of those that are FAILED
WITH active AS (
  SELECT
    asset,
    "group",
    month AS active_month,
    total(CASE WHEN status = 'CONFIRMED' THEN amount ELSE 0 END) AS confirmed_amount,
    total(CASE WHEN status IN ('PENDING', 'SUBMITTED') THEN amount ELSE 0 END) AS waiting_amount,
    total(CASE WHEN status = 'FAILED' THEN amount ELSE 0 END) AS failed_amount
  FROM claims
  GROUP BY asset, "group", month
), aged AS (
  SELECT *, min(active_month) OVER (PARTITION BY asset, "group") AS month FROM active
), counted AS (
  SELECT *, date_diff('month', month, active_month) AS age_months FROM aged
)
SELECT
  month,
  age_months,
  asset,
  count(*) AS groups,
  total(confirmed_amount) AS confirmed_amount,
  total(waiting_amount) AS waiting_amount,
  total(failed_amount) AS failed_amount
FROM counted
GROUP BY month, age_months, asset
ORDER BY month, age_months, asset
