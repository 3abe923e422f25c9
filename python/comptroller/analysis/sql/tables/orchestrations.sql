-- Orchestrations.
SELECT
  o.source_asset, o.destination_asset, o.status, o.source_amount, o.created_at, o.updated_at
FROM main.orchestrations AS o
WHERE ($since IS NULL OR o.created_at >= $since) AND ($until IS NULL OR o.created_at < $until)
