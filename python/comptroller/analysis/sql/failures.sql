-- Why claims failed, and their later recovery
-- Why did claims fail, and how many failures did a later claim recover?
-- Without rows: no claim that the filters select has FAILED.
--
-- FAILED claims by their message. A later CONFIRMED claim of the same group and asset recovers a
-- failure, whatever the filters: it includes its rewards. One that was created outside since and
-- until recovers none. The filter status selects FAILED or nothing.
--
-- error_message (text): the message; null if there is none
-- failures (count): the number of FAILED claims with this message
-- amount (amount): the exact sum of their amounts
-- groups (count): the number of their payout groups
-- made_good (count): the number of failures that a later claim recovered
-- made_good_amount (amount): the exact sum of the amounts of these failures
-- first_at (time): when the first failure was created
-- last_at (time): when the last failure was created
WITH latest AS (
  SELECT "group", coalesce(asset, '') AS known_asset, max(created_at) AS confirmed
  FROM every_claim
  WHERE status = 'CONFIRMED'
  GROUP BY "group", coalesce(asset, '')
), failing AS (
  SELECT *, coalesce(asset, '') AS known_asset FROM claims WHERE status = 'FAILED'
), failed AS (
  SELECT *, coalesce(confirmed > created_at, FALSE) AS is_made_good
  FROM failing LEFT JOIN latest USING ("group", known_asset)
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
