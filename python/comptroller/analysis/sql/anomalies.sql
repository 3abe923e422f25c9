-- Days with unusually many or few claims, or amounts
-- On which days was the number of claims or the confirmed amount far from usual?
-- Without rows: no day of the claims that the filters select lies outside the band.
--
-- score = (value - median) / MAD, where MAD, the median absolute deviation, is the usual distance
-- from the median: half of the days are nearer to it. All days count from the series' first claim
-- to the last day of any series. A day without claims counts as 0. The amount of a day is that of
-- its CONFIRMED claims, or with the filter status that of the claims of these statuses. A day is
-- listed if its score is beyond the band, or if MAD is 0 and its value is not the median. Medians
-- are the lower middle value.
--
-- $band (number = 5.0): the tolerated distance from the median, in MADs
-- $measure (claims or amount): the measured value
-- day (date): the day; the last day may be incomplete
-- value (amount): the claims created on it, or the exact sum of their confirmed amounts
-- median (amount): the median of the series
-- mad (amount): the median distance from the median
-- score (ratio): (value - median) / mad; null if mad is 0
WITH daily AS (
  SELECT
    keys,
    day,
    total(
      CASE
        WHEN $measure = 'claims' THEN 1::DECIMAL(38, 18)
        WHEN $status IS NOT NULL OR status = 'CONFIRMED' THEN amount
        ELSE 0
      END
    ) AS value
  FROM claims
  GROUP BY keys, day
), weighed AS (
  -- a day without a claim counts as 0: one row stands for all of a series, which runs from the day
  -- of its first claim to the last day of any
  SELECT keys, day, value, 1 AS days, NULL::TIMESTAMP AS first, NULL::TIMESTAMP AS last FROM daily
  UNION ALL
  SELECT keys, NULL, 0, date_diff('day', min(day), max(until)) + 1 - count(*), min(day), max(until)
  FROM daily CROSS JOIN (SELECT max(day) AS until FROM daily) AS everywhere
  GROUP BY keys
), ranked AS (
  SELECT
    *,
    sum(days) OVER (PARTITION BY keys) AS all_days,
    sum(days) OVER (PARTITION BY keys ORDER BY value) AS place
  FROM weighed
), centred AS (
  -- the lower middle; unknown if the value of a day is too large
  SELECT
    *,
    CASE
      WHEN count(value) OVER (PARTITION BY keys) = count(*) OVER (PARTITION BY keys)
      THEN min(CASE WHEN 2 * place >= all_days THEN value END) OVER (PARTITION BY keys)
    END AS median
  FROM ranked
), distances AS (
  SELECT
    *,
    abs(value - median) AS distance,
    sum(days) OVER (PARTITION BY keys ORDER BY abs(value - median)) AS distance_place
  FROM centred
), judged AS (
  SELECT
    *,
    min(CASE WHEN 2 * distance_place >= all_days THEN distance END) OVER (PARTITION BY keys) AS mad
  FROM distances
), scored AS (
  SELECT *, (value - median) / nullif(mad, 0) AS score FROM judged WHERE days > 0
), outside AS (
  SELECT * FROM scored
  WHERE abs(score) > $band * (1 + 1e-12) OR (mad = 0 AND distance > 0) OR value IS NULL
), absent AS (
  -- where 0 is outside, fewer than half of the days lack a claim
  SELECT
    keys, value, median, mad, score, unnest(generate_series(first, last, INTERVAL 1 DAY)) AS day
  FROM outside
  WHERE day IS NULL
)
SELECT keys, day, value, median, mad, score FROM outside WHERE day IS NOT NULL
UNION ALL
SELECT keys, day, value, median, mad, score FROM absent
WHERE NOT EXISTS (
  SELECT 1 FROM daily WHERE daily.day = absent.day AND daily.keys IS NOT DISTINCT FROM absent.keys
)
ORDER BY keys, day
