-- Claims and their amounts
-- How many claims are there, what do they amount to, and how many succeeded?
-- Without rows: there are no claims.
--
-- success_rate = confirmed / (confirmed + failed). claims_share is the share of all claims,
-- amount_share the share of the asset's sum. By address, a claim counts once for each of its
-- addresses, also in the totals of the shares.
--
-- claims (count): the number of claims
-- amount (amount): the exact sum of their amounts
-- claims_share (share): the share of all claims
-- amount_share (share): the share of the asset's sum; null if 0 or unknown
-- confirmed (count): the number of CONFIRMED claims
-- failed (count): the number of FAILED claims
-- success_rate (share): confirmed / (confirmed + failed); null if both are 0
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
  SELECT asset, nullif(approximate_total(amount), 0)::DOUBLE AS total_amount
  FROM counted
  GROUP BY asset
)
SELECT
  counted.*,
  claims / all_claims AS claims_share,
  amount / total_amount AS amount_share,
  confirmed / nullif(confirmed + failed, 0) AS success_rate
FROM counted
JOIN totals ON totals.asset IS NOT DISTINCT FROM counted.asset
CROSS JOIN (SELECT sum(claims) AS all_claims FROM counted) AS overall
ORDER BY keys
