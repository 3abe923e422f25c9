-- The end of the waiting times.
SELECT coalesce($as_of, max(m.updated_at)) AS as_of
FROM main.claims AS m
WHERE ($since IS NULL OR m.created_at >= $since) AND ($until IS NULL OR m.created_at < $until)
