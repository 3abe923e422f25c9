-- The number of claims by time to confirmation, in ten steps for each power of ten of seconds.
--
-- step (count): floor(10 x log10(seconds)); -30 for a millisecond or less
-- claims (count): the number of claims with a time in this step
WITH stepped AS (
  SELECT keys, CASE WHEN took > 1000 THEN floor(10 * log10(took) + 1e-9) - 60 ELSE -30 END AS step
  FROM confirmed_claims
)
SELECT keys, step, count(*) AS claims
FROM stepped
GROUP BY keys, step
ORDER BY keys, step
