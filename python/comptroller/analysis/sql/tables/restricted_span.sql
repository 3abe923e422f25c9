-- The day of the register of restrictions: by default that of the newest change of a control.
SELECT begins, utc(local(begins) + INTERVAL 1 DAY) AS ends
FROM (
  SELECT coalesce($on, utc(date_trunc('day', local(newest)))) AS begins
  FROM (
    SELECT max(greatest(c.created_at, coalesce(c.deleted_at, c.created_at))) AS newest
    FROM controls AS c
  ) AS changes
) AS days
