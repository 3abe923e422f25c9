-- Statement of a group
-- What did a group hold and claim on each day of a month?
-- Without rows: nothing is known of this group.
--
-- opening_holdings is the sum of the newest snapshots of the group's addresses before the day,
-- closing_holdings before the next day. Claims are CONFIRMED claims by confirmed_at. The last row,
-- without a day, covers the whole month. since and until leave out claims created outside them, but
-- no holdings.
--
-- $group (group): the payout group
-- $month (month): a month such as 2026-05
-- day (time): the day; null in the last row, which covers the month
-- asset (text): the asset: the group's, and others that it claimed
-- opening_holdings (amount): the balance of its addresses when the day began
-- claims (count): the number of its claims confirmed on the day
-- claimed (amount): the exact sum of their amounts
-- closing_holdings (amount): the balance of its addresses when the day ended
-- last_claim (text): the last of these claims; the greatest id of several
-- last_claim_at (time): when it was confirmed
WITH named AS (
  SELECT asset, NULL::VARCHAR AS claimed FROM groups WHERE "group" = $group
  UNION ALL
  SELECT NULL, NULL FROM main.reward_addresses AS a WHERE a.payout_group_id = $group
  UNION ALL
  SELECT NULL, asset FROM claims WHERE "group" = $group
), own AS (
  -- where the asset of the group is unknown, the only one that it claimed
  SELECT
    count(*) AS known,
    coalesce(max(asset), CASE WHEN min(claimed) = max(claimed) THEN max(claimed) END) AS own_asset
  FROM named
), days AS (
  SELECT
    unnest(
      generate_series($month, $month + INTERVAL 1 MONTH - INTERVAL 1 DAY, INTERVAL 1 DAY)
    ) AS day
), spans AS (
  SELECT day, day AS begins, day + INTERVAL 1 DAY AS ends FROM days
  UNION ALL
  SELECT NULL AS day, $month AS begins, $month + INTERVAL 1 MONTH AS ends
), held AS (
  SELECT
    spans.day,
    total(
      CASE WHEN at < begins AND (next_at IS NULL OR next_at >= begins) THEN balance ELSE 0 END
    ) AS opening,
    total(
      CASE WHEN at < ends AND (next_at IS NULL OR next_at >= ends) THEN balance ELSE 0 END
    ) AS closing
  FROM spans
  LEFT JOIN snapshots
    ON "group" = $group AND at < ends AND (next_at IS NULL OR next_at >= begins)
  GROUP BY spans.day
), confirmed AS (
  SELECT spans.day, coalesce(asset, own_asset) AS asset, id, amount, confirmed_at
  FROM spans
  JOIN claims ON confirmed_at >= begins AND confirmed_at < ends
  CROSS JOIN own
  WHERE "group" = $group AND status = 'CONFIRMED'
), ranked AS (
  SELECT
    *, row_number() OVER (PARTITION BY day, asset ORDER BY confirmed_at DESC, id DESC) AS place
  FROM confirmed
), parts AS (
  SELECT
    day,
    own_asset AS asset,
    opening,
    closing,
    0 AS claims,
    0::DECIMAL(38, 18) AS amount,
    NULL::VARCHAR AS last_claim,
    NULL::TIMESTAMP AS confirmed_at
  FROM held CROSS JOIN own
  WHERE known > 0
  UNION ALL
  SELECT spans.day, others.asset, 0, 0, 0, 0, NULL, NULL
  FROM spans CROSS JOIN (SELECT DISTINCT asset FROM confirmed) AS others
  UNION ALL
  SELECT day, asset, 0, 0, 1, amount, CASE WHEN place = 1 THEN id END, confirmed_at FROM ranked
)
SELECT
  day,
  asset,
  total(opening) AS opening_holdings,
  sum(claims) AS claims,
  total(amount) AS claimed,
  total(closing) AS closing_holdings,
  max(last_claim) AS last_claim,
  max(confirmed_at) AS last_claim_at
FROM parts
GROUP BY day, asset
ORDER BY day, asset
