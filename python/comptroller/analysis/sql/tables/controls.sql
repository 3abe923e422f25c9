-- The controls that the filters of a report select; filters by what no control has select none.
SELECT r.*
FROM main.controls AS r
WHERE ($customer IS NULL OR r.customer_id IN (SELECT unnest($customer)))
  AND $status IS NULL AND $chain IS NULL AND $asset IS NULL AND $jurisdiction IS NULL
  AND $group IS NULL
