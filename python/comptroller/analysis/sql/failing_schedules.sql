-- Schedules whose claims fail
-- On which schedules have claims failed since the last confirmed claim?
-- Without rows: no schedule that the filters select fails.
--
-- The FAILED claims of a schedule that were created after its last CONFIRMED claim. A schedule is
-- listed if it has at least the given minimum of them. Filters select failures; the last CONFIRMED
-- claim is taken from all claims of the schedule within since and until. The filter status selects
-- FAILED or nothing.
--
-- $least (count = 3): the minimum number of failures of a schedule
-- schedule (text): the schedule
-- failures (count): the number of FAILED claims since its last CONFIRMED claim
-- groups (count): the number of their payout groups
-- last_message (text): the message of the last failure
-- first_at (time): when the first failure was created
-- last_at (time): when the last failure was created
-- confirmed_at (time): when this CONFIRMED claim was created; null if there is none
WITH latest AS (
  SELECT schedule, max(created_at) FILTER (WHERE status = 'CONFIRMED') AS last_confirmed_at
  FROM every_claim
  WHERE schedule IS NOT NULL
  GROUP BY schedule
), failed AS (
  SELECT *, row_number() OVER (PARTITION BY schedule ORDER BY created_at DESC, id DESC) AS place
  FROM claims JOIN latest USING (schedule)
  WHERE status = 'FAILED' AND (last_confirmed_at IS NULL OR created_at > last_confirmed_at)
)
SELECT
  schedule,
  count(*) AS failures,
  count(DISTINCT "group") AS groups,
  max(CASE WHEN place = 1 THEN error_message END) AS last_message,
  min(created_at) AS first_at,
  max(created_at) AS last_at,
  max(last_confirmed_at) AS confirmed_at
FROM failed
GROUP BY schedule
HAVING count(*) >= $least
ORDER BY failures DESC, schedule
