-- Claims and their amounts
-- How many claims are there, what do they amount to, and how many succeeded?
-- Without rows: there are no claims that the filters select.
--
-- Only confirmed_amount was paid. waiting_amount may still be confirmed; failed_amount was never
-- paid, and a later claim may contain it again. success_rate = confirmed / (confirmed + failed).
-- claims_share is the share of all selected claims, amount_share the share of the asset's confirmed
-- amount. By address, a claim counts once for each of its addresses, also in the totals of the
-- shares.
--
-- claims (count): the number of claims
-- confirmed_amount (amount): the exact sum of the amounts of CONFIRMED claims
-- waiting_amount (amount): the exact sum of the amounts of PENDING and SUBMITTED claims
-- failed_amount (amount): the exact sum of the amounts of FAILED claims
-- claims_share (share): the share of all claims
-- amount_share (share): the share of the asset's confirmed amount; null if that is 0 or unknown
-- confirmed (count): the number of CONFIRMED claims
-- failed (count): the number of FAILED claims
-- success_rate (share): confirmed / (confirmed + failed); null if both are 0
WITH by_status AS (
  -- each amount is added once; the sums by status are few
  SELECT keys, status AS state, count(*) AS claims, total(amount) AS amount
  FROM claims
  GROUP BY keys, status
), counted AS (
  SELECT
    keys,
    sum(claims)::BIGINT AS claims,
    total(CASE WHEN state = 'CONFIRMED' THEN amount ELSE 0 END) AS confirmed_amount,
    total(CASE WHEN state IN ('PENDING', 'SUBMITTED') THEN amount ELSE 0 END) AS waiting_amount,
    total(CASE WHEN state = 'FAILED' THEN amount ELSE 0 END) AS failed_amount,
    sum(CASE WHEN state = 'CONFIRMED' THEN claims ELSE 0 END)::BIGINT AS confirmed,
    sum(CASE WHEN state = 'FAILED' THEN claims ELSE 0 END)::BIGINT AS failed
  FROM by_status
  GROUP BY keys
), totals AS (
  SELECT asset, nullif(approximate_total(confirmed_amount), 0)::DOUBLE AS total_amount
  FROM counted
  GROUP BY asset
)
SELECT
  counted.*,
  claims / all_claims AS claims_share,
  confirmed_amount / total_amount AS amount_share,
  confirmed / nullif(confirmed + failed, 0) AS success_rate
FROM counted
JOIN totals ON totals.asset IS NOT DISTINCT FROM counted.asset
CROSS JOIN (SELECT sum(claims) AS all_claims FROM counted) AS overall
ORDER BY keys
