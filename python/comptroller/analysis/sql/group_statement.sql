-- Statement of a group
-- What did a group hold and claim on each day of a month?
-- Without rows: nothing is known of this group.
--
-- opening_holdings is the sum of the newest snapshots of the group's addresses before the day,
-- closing_holdings before the next day. Claims are CONFIRMED claims, on the day of their
-- confirmation. The last row, without a day, covers the whole month. since, until and the filters
-- exclude claims; they do not limit holdings. The filter asset also excludes the rows of other
-- assets.
--
-- $group (group): the payout group, by id or unique name
-- $month (month): a month such as 2026-05
-- day (date): the day; null in the last row, which covers the month
-- asset (text): the asset: the group's, and others that it claimed
-- opening_holdings (amount): the balance of its addresses when the day began; null if unknown
-- claims (count): the number of its claims confirmed on the day
-- claimed (amount): the exact sum of their amounts
-- closing_holdings (amount): the balance of its addresses when the day ended; null if unknown
-- last_claim (text): the last of these claims; if several are last, the one with the greatest id
-- last_claim_at (time): when it was confirmed
-- group (text): the payout group
WITH named AS (
  SELECT asset, NULL::VARCHAR AS claimed FROM groups
  WHERE "group"::VARCHAR IN (SELECT unnest($group))
  UNION ALL
  SELECT NULL, NULL FROM main.reward_addresses AS a
  WHERE a.payout_group_id::VARCHAR IN (SELECT unnest($group))
  UNION ALL
  SELECT NULL, asset FROM claims
), own AS (
  -- where the asset of the group is unknown, the only one that it claimed
  SELECT
    coalesce(max(asset), CASE WHEN min(claimed) = max(claimed) THEN max(claimed) END) AS own_asset
  FROM named
  HAVING count(*) > 0
), spans AS (
  SELECT day, utc(day) AS begins, utc(day + INTERVAL 1 DAY) AS ends
  FROM (
    SELECT
      unnest(generate_series($month, $month + INTERVAL 1 MONTH - INTERVAL 1 DAY, INTERVAL 1 DAY))
        AS day
  ) AS days
  UNION ALL
  SELECT NULL AS day, utc($month) AS begins, utc($month + INTERVAL 1 MONTH) AS ends
), valid_snapshots AS (
  SELECT
    day,
    balance,
    at < begins AND (next_at IS NULL OR next_at >= begins) AS is_opening,
    at < ends AND (next_at IS NULL OR next_at >= ends) AS is_closing
  FROM spans
  LEFT JOIN (
    SELECT at, next_at, balance FROM snapshots WHERE "group"::VARCHAR IN (SELECT unnest($group))
  ) AS own_snapshots
    ON at < ends AND (next_at IS NULL OR next_at >= begins)
), held AS (
  SELECT
    spans.day,
    CASE
      WHEN count(CASE WHEN is_opening THEN 1 END) > 0
      THEN total(CASE WHEN is_opening THEN balance ELSE 0 END)
    END AS opening,
    CASE
      WHEN count(CASE WHEN is_closing THEN 1 END) > 0
      THEN total(CASE WHEN is_closing THEN balance ELSE 0 END)
    END AS closing
  FROM valid_snapshots AS spans
  GROUP BY spans.day
), confirmed AS (
  SELECT coalesce(asset, own_asset) AS asset, id, amount, confirmed_at
  FROM claims CROSS JOIN own
  WHERE status = 'CONFIRMED'
    AND confirmed_at >= utc($month) AND confirmed_at < utc($month + INTERVAL 1 MONTH)
), assets AS (
  SELECT own_asset AS asset FROM own
  UNION
  SELECT asset FROM confirmed
), claimed AS (
  -- each day of each asset, with its claims if there are any
  SELECT
    day, assets.asset, id, amount, confirmed_at,
    row_number() OVER (PARTITION BY day, assets.asset ORDER BY confirmed_at DESC, id DESC) AS place
  FROM spans CROSS JOIN assets
  LEFT JOIN confirmed
    ON confirmed.asset IS NOT DISTINCT FROM assets.asset
    AND confirmed_at >= begins AND confirmed_at < ends
)
SELECT
  claimed.day,
  asset,
  max(CASE WHEN asset IS NOT DISTINCT FROM own_asset THEN opening END) AS opening_holdings,
  count(id) AS claims,
  total(CASE WHEN id IS NOT NULL THEN amount ELSE 0 END) AS claimed,
  max(CASE WHEN asset IS NOT DISTINCT FROM own_asset THEN closing END) AS closing_holdings,
  max(CASE WHEN place = 1 THEN id END) AS last_claim,
  max(confirmed_at) AS last_claim_at,
  $group[1] AS "group"
FROM claimed
JOIN held ON held.day IS NOT DISTINCT FROM claimed.day
CROSS JOIN own
WHERE $asset IS NULL OR asset IN (SELECT unnest($asset))
GROUP BY claimed.day, asset
ORDER BY day, asset
