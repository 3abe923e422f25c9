-- The addresses of each claim.
SELECT DISTINCT a.id AS claim_id, unnest(a.addresses) AS address FROM main.claims AS a
