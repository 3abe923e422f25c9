-- The addresses of each claim, each once and in one form.
SELECT DISTINCT claim_id, fold_address(address) AS address
FROM (SELECT a.id AS claim_id, unnest(a.addresses) AS address FROM main.claims AS a) AS listed
