-- The orchestrations between each pair of assets, by status.
WITH timed AS (
  SELECT
    o.*,
    CASE
      WHEN o.status IN ('COMPLETED', 'FAILED', 'REJECTED')
      THEN date_diff('microsecond', o.created_at, o.updated_at)
    END AS took
  FROM main.orchestrations AS o
  WHERE ($since IS NULL OR o.created_at >= $since) AND ($until IS NULL OR o.created_at < $until)
), ranked AS (
  SELECT
    *,
    count(*) OVER (PARTITION BY source_asset, destination_asset, status) AS everyone,
    row_number() OVER (
      PARTITION BY source_asset, destination_asset, status ORDER BY took
    ) AS place
  FROM timed
)
SELECT
  source_asset,
  destination_asset,
  status,
  count(*) AS orchestrations,
  total(coalesce(source_amount, 0)) AS source_amount,
  min(took) FILTER (WHERE 100 * place >= 50 * everyone) / 1e6 AS p50_seconds,
  min(took) FILTER (WHERE 100 * place >= 90 * everyone) / 1e6 AS p90_seconds
FROM ranked
GROUP BY source_asset, destination_asset, status
ORDER BY source_asset, destination_asset, status
