-- The orchestrations that the filters of a report select; none has a chain or a payout group.
SELECT r.*
FROM main.orchestrations AS r
WHERE ($status IS NULL OR r.status IN (SELECT unnest($status)))
  AND (
    $asset IS NULL
    OR r.source_asset IN (SELECT unnest($asset))
    OR r.destination_asset IN (SELECT unnest($asset))
  )
  AND ($customer IS NULL OR r.customer_id IN (SELECT unnest($customer)))
  AND $chain IS NULL AND $jurisdiction IS NULL AND $group IS NULL
