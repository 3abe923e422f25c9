-- The claims that the filters of a report select.
SELECT * FROM every_claim
WHERE ($status IS NULL OR status IN (SELECT unnest($status)))
  AND ($chain IS NULL OR chain IN (SELECT unnest($chain)))
  AND ($asset IS NULL OR asset IN (SELECT unnest($asset)))
  AND ($jurisdiction IS NULL OR jurisdiction IN (SELECT unnest($jurisdiction)))
  AND ($group IS NULL OR "group"::VARCHAR IN (SELECT unnest($group)))
  AND ($customer IS NULL OR customer IN (SELECT unnest($customer)))
