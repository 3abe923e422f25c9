-- Claims that wait unusually long
-- Which claims have waited longer than nearly all confirmed claims of their chain?
-- Without rows: no claim that the filters select waits longer than nearly all confirmed ones.
--
-- A claim waits from its submission, or from its creation if it is PENDING or has no time of
-- submission. It is listed if it waits longer than the threshold of its chain: the time within
-- which the given share of the chain's CONFIRMED claims, whatever the filters but within since and
-- until, were confirmed after their submission. The filter status selects among PENDING and
-- SUBMITTED.
--
-- $as_of (time?): the end of the waiting times; by default the newest change of a claim
-- $percentile (share = 0.99): the share of the threshold, by nearest rank; above 0, at most 1
-- id (text): the claim
-- group (text): its payout group
-- chain (text): its chain; claims without one are compared with each other
-- status (text): PENDING or SUBMITTED
-- asset (text): its asset
-- amount (amount): its amount
-- age_seconds (seconds): its waiting time
-- threshold_seconds (seconds): the threshold of its chain
WITH ranked AS (
  SELECT
    chain,
    took,
    count(*) OVER (PARTITION BY chain) AS claims,
    row_number() OVER (PARTITION BY chain ORDER BY took) AS place
  FROM (
    SELECT chain, date_diff('microsecond', submitted_at, confirmed_at) AS took
    FROM every_claim
    WHERE status = 'CONFIRMED' AND submitted_at IS NOT NULL AND confirmed_at IS NOT NULL
  ) AS confirmed
), thresholds AS (
  -- by nearest rank
  SELECT chain, min(took) FILTER (WHERE place >= $percentile * claims) AS threshold
  FROM ranked
  GROUP BY chain
), waiting AS (
  SELECT
    *,
    date_diff(
      'microsecond',
      CASE status WHEN 'SUBMITTED' THEN coalesce(submitted_at, created_at) ELSE created_at END,
      as_of
    ) AS age
  FROM claims CROSS JOIN moment
  WHERE status IN ('PENDING', 'SUBMITTED')
)
SELECT waiting.*, age / 1e6 AS age_seconds, threshold / 1e6 AS threshold_seconds
FROM waiting
JOIN thresholds ON thresholds.chain IS NOT DISTINCT FROM waiting.chain
WHERE age > threshold
ORDER BY age_seconds DESC, id
