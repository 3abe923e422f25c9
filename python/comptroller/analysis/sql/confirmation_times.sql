-- Time from submission to confirmation
-- How long do claims take to be confirmed, including claims that still wait?
-- Without rows: no claim that the filters select is SUBMITTED or CONFIRMED.
--
-- The time within which half, 90 or 99 percent of claims are confirmed. A claim that is still
-- SUBMITTED counts as longer than its wait until the end of the waiting times (the Kaplan-Meier
-- estimate). A claim confirmed after that end counts as confirmed. If no claim waits, a time is
-- that of one claim, the one of the nearest rank. The filter status selects among SUBMITTED and
-- CONFIRMED.
--
-- $as_of (time?): the end of the waiting times; by default the newest change of a claim
-- confirmed (count): the number of CONFIRMED claims that have both times
-- waiting (count): the number of SUBMITTED claims that have a submitted_at
-- p50_seconds (seconds): the median; null if never reached
-- p90_seconds (seconds): the 90th percentile; null if never reached
-- p99_seconds (seconds): the 99th percentile; null if never reached
WITH timed AS (
  SELECT
    keys,
    status = 'CONFIRMED' AS ended,
    date_diff(
      'microsecond', submitted_at, CASE status WHEN 'CONFIRMED' THEN confirmed_at ELSE as_of END
    ) AS took
  FROM claims CROSS JOIN moment
  WHERE status IN ('CONFIRMED', 'SUBMITTED')
)
SELECT
  keys,
  ended AS confirmed,
  waiting,
  p50 / 1e6 AS p50_seconds,
  p90 / 1e6 AS p90_seconds,
  p99 / 1e6 AS p99_seconds
FROM survival
ORDER BY keys
