-- Orchestrations from asset to asset
-- Between which assets does value move, and how do the orchestrations end?
-- Without rows: there are no orchestrations that the filters select.
--
-- The duration of a COMPLETED, FAILED or REJECTED orchestration is the time from its creation to
-- its last change. Percentiles are by nearest rank. The filter asset selects orchestrations that
-- have the asset as source or as destination. An orchestration has neither chain nor jurisdiction
-- nor payout group: these filters select none.
--
-- $status (texts?): only orchestrations of these statuses
-- source_asset (text): the asset that goes in
-- destination_asset (text): the asset that comes out
-- status (text): the status
-- orchestrations (count): the number of orchestrations
-- source_amount (amount): the exact sum of the known amounts, in the source asset; null if none
-- p50_seconds (seconds): the median duration; null unless the status is final
-- p90_seconds (seconds): the 90th percentile; null unless the status is final
WITH timed AS (
  SELECT
    o.*,
    TRUE AS ended,  -- no row counts as waiting
    CASE
      WHEN o.status IN ('COMPLETED', 'FAILED', 'REJECTED')
      THEN date_diff('microsecond', o.created_at, o.updated_at)
    END AS took
  FROM orchestrations AS o
  WHERE ($since IS NULL OR o.created_at >= $since) AND ($until IS NULL OR o.created_at < $until)
), counted AS (
  SELECT
    keys,
    count(*) AS orchestrations,
    CASE WHEN count(source_amount) > 0 THEN total(coalesce(source_amount, 0)) END AS source_amount
  FROM timed
  GROUP BY keys
)
SELECT counted.*, p50 / 1e6 AS p50_seconds, p90 / 1e6 AS p90_seconds
FROM counted
LEFT JOIN survival ON survival.keys IS NOT DISTINCT FROM counted.keys
ORDER BY keys
