-- Claims compared with balances
-- Do the amounts that groups claimed match the balances of their addresses?
-- Without rows: nothing that the filters select was claimed or held.
--
-- annual_rate = claimed / average_holdings x 365 / days; deviation = annual_rate / median_rate - 1,
-- where the median is that of the groups of the same asset and ledger in the same month. Claims are
-- CONFIRMED claims, in the month of their confirmation. Holdings are weighted by time. since and
-- until exclude claims created outside them; they do not limit holdings. The filters select rows by
-- their group, whose ledger is the chain; the median is that of all groups. With a filter status
-- that does not select CONFIRMED, nothing counts as claimed.
--
-- $month (month?): a month such as 2026-05; by default each month with claims or holdings
-- $tolerance (number = 0.05): the tolerated deviation from the median rate
-- group (text): the payout group, in each month from its first month on
-- month (date): the month
-- asset (text): the asset: the group's, and others that it claimed
-- ledger (text): its ledger; null if the group is unknown
-- claimed (amount): the exact sum of its CONFIRMED claims
-- average_holdings (holdings): the mean of its holdings; null without a snapshot
-- days (count): from the group's first claim or snapshot to the last of any group
-- annual_rate (ratio): claimed / average_holdings x 365 / days
-- median_rate (ratio): the lower median of groups of the same asset and ledger
-- deviation (ratio): annual_rate / median_rate - 1
-- within_tolerance (flag): whether the deviation is tolerated; false for claims on holdings of 0
WITH confirmed AS (
  SELECT "group", asset, date_trunc('day', local(confirmed_at)) AS day, total(amount) AS amount
  FROM every_claim
  WHERE status = 'CONFIRMED' AND confirmed_at IS NOT NULL
    AND ($status IS NULL OR status IN (SELECT unnest($status)))
  GROUP BY "group", asset, date_trunc('day', local(confirmed_at))
), seen AS (
  SELECT "group", asset, day FROM confirmed
  UNION ALL
  SELECT "group", NULL AS asset, date_trunc('day', local(at)) AS day FROM snapshots
), months AS (
  SELECT
    month,
    month + INTERVAL 1 MONTH AS month_end,
    until,
    utc(month) AS begins_at,
    utc(month + INTERVAL 1 MONTH) AS ends_at,
    utc(until) AS until_at
  FROM (
    SELECT DISTINCT date_trunc('month', day) AS month FROM seen WHERE $month IS NULL
    UNION ALL
    SELECT $month AS month WHERE $month IS NOT NULL
  ) AS chosen
  CROSS JOIN (SELECT max(day) + INTERVAL 1 DAY AS until FROM seen) AS known
), every_group AS (
  -- where the asset of a group is unknown, the only one that it claimed
  SELECT
    "group",
    coalesce(max(asset), CASE WHEN min(claimed) = max(claimed) THEN max(claimed) END) AS own_asset,
    max(ledger) AS ledger,
    min(day) AS begun
  FROM (
    SELECT "group", asset, ledger, NULL::VARCHAR AS claimed, NULL::TIMESTAMP AS day FROM groups
    UNION ALL
    SELECT "group", NULL AS asset, NULL AS ledger, asset AS claimed, day FROM seen
  ) AS named
  GROUP BY "group"
), listed AS (
  -- each group in each month from its beginning on
  SELECT
    *,
    CASE
      WHEN begun IS NOT NULL AND month < until
      THEN date_diff('day', greatest(month, begun), least(month_end, until))
    END AS days
  FROM every_group CROSS JOIN months
  WHERE begun IS NULL OR begun < month_end
), standing AS (
  -- whole units and fractions apart: their product has more digits than a decimal
  SELECT
    "group",
    month,
    floor(balance)::DECIMAL(20, 0) AS units,
    (balance - floor(balance))::DECIMAL(18, 18) AS fraction,
    greatest(at, begins_at) AS begins,
    least(next_at, ends_at, until_at) AS ends
  FROM snapshots
  JOIN months
    ON at < ends_at AND begins_at < until_at AND (next_at IS NULL OR next_at > begins_at)
), weighed AS (
  SELECT *, date_diff('microsecond', begins, ends)::DECIMAL(13, 0) AS lasted FROM standing
), held AS (
  SELECT
    "group",
    month,
    (sum(units * lasted)::DOUBLE + sum(fraction * lasted)::DOUBLE)
      / date_diff('microsecond', min(begins), max(ends)) AS average_holdings
  FROM weighed
  GROUP BY "group", month
), parts AS (
  SELECT "group", month, NULL::VARCHAR AS asset, 0::DECIMAL(38, 18) AS amount FROM listed
  UNION ALL
  SELECT "group", date_trunc('month', day), asset, amount FROM confirmed
), joined AS (
  SELECT
    "group",
    month,
    coalesce(asset, own_asset) AS asset,
    max(ledger) AS ledger,
    max(days) AS days,
    max(CASE WHEN asset IS NULL OR asset = own_asset THEN average_holdings END) AS average_holdings,
    total(amount) AS claimed
  FROM parts
  JOIN listed USING ("group", month)
  LEFT JOIN held USING ("group", month)
  GROUP BY "group", month, coalesce(asset, own_asset)
), rated AS (
  SELECT *, claimed / nullif(average_holdings, 0) * 365.0 / days AS annual_rate FROM joined
), ranked AS (
  SELECT
    *,
    count(annual_rate) OVER (PARTITION BY asset, ledger, month) AS rates,
    row_number() OVER (PARTITION BY asset, ledger, month ORDER BY annual_rate NULLS LAST) AS place
  FROM rated
), compared AS (
  -- the lower middle
  SELECT
    *,
    CASE
      WHEN asset IS NOT NULL AND ledger IS NOT NULL
      THEN min(CASE WHEN 2 * place >= rates THEN annual_rate END)
        OVER (PARTITION BY asset, ledger, month)
    END AS median_rate
  FROM ranked
)
SELECT
  compared.*,
  annual_rate / nullif(median_rate, 0) - 1 AS deviation,
  CASE
    WHEN average_holdings = 0 AND claimed > 0 THEN FALSE
    ELSE abs(annual_rate - median_rate) <= median_rate * ($tolerance + 1e-12)
  END AS within_tolerance
FROM compared
LEFT JOIN groups USING ("group")
WHERE ($group IS NULL OR "group"::VARCHAR IN (SELECT unnest($group)))
  AND ($chain IS NULL OR compared.ledger IN (SELECT unnest($chain)))
  AND ($asset IS NULL OR compared.asset IN (SELECT unnest($asset)))
  AND ($jurisdiction IS NULL OR groups.jurisdiction IN (SELECT unnest($jurisdiction)))
  AND ($customer IS NULL OR groups.customer IN (SELECT unnest($customer)))
ORDER BY "group", month, asset
