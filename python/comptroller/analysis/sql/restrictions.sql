-- Controls created and deleted
-- How many controls were created, deleted and active, and how long do they last?
-- Without rows: no control was created, or none that the filters select.
--
-- active = all controls created - all controls deleted, up to the end of the period. median_days is
-- the time within which half of the controls created in the period are deleted. A control that is
-- still active counts as lasting longer than from its creation to the newest time of all selected
-- controls (the Kaplan-Meier estimate). Controls created outside since and until are excluded, also
-- from active. A control deleted before it was created counts as deleted when it was created. A
-- control has neither status nor chain, asset, jurisdiction or payout group, so these filters
-- select none.
--
-- created (count): the number of controls created in the period
-- deleted (count): the number of controls deleted in the period
-- active (count): the number of controls active at its end
-- median_days (days): the median duration of controls created in it; null while it is not reached
WITH newest AS (
  SELECT max(greatest(created_at, ended_at)) AS newest FROM control_events
), timed AS (
  SELECT
    keys,
    ended_at IS NOT NULL AS ended,
    date_diff('microsecond', created_at, coalesce(ended_at, newest)) AS took
  FROM control_events CROSS JOIN newest
  WHERE event = 'created'
), changes AS (
  SELECT
    keys,
    count(*) FILTER (WHERE event = 'created') AS created,
    count(*) FILTER (WHERE event = 'deleted') AS deleted,
    NULL::BIGINT AS median
  FROM control_events
  GROUP BY keys
  UNION ALL
  SELECT keys, 0 AS created, 0 AS deleted, p50 AS median FROM survival
  UNION ALL
  -- every period has a row for every kind of control; a SELECT needs a column besides its keys
  SELECT keys, 0 AS created, 0 AS deleted, NULL AS median
  FROM (SELECT DISTINCT kinds FROM control_events) AS every_kind
  CROSS JOIN (SELECT DISTINCT periods, TRUE AS is_period FROM control_events) AS every_period
), summed AS (
  SELECT keys, sum(created) AS created, sum(deleted) AS deleted, max(median) AS median
  FROM changes
  GROUP BY keys
), standing AS (
  SELECT *, sum(created - deleted) OVER (PARTITION BY kinds ORDER BY periods) AS active FROM summed
)
SELECT keys, created, deleted, active, median / 86400e6 AS median_days
FROM standing
WHERE created > 0 OR deleted > 0 OR active > 0
ORDER BY keys
