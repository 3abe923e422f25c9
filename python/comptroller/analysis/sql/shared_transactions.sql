-- Transactions of several claims
-- Which transactions are named by more than one claim?
-- Without rows: no two claims that the filters select name the same transaction.
--
-- Claims of one chain with the same tx_hash. The spellings of an EVM hash are one hash; the case of
-- any other hash is significant. One transaction may pay several groups; if it does not, the claim
-- was recorded twice and its amount counts twice. Filters select claims before they are compared.
--
-- tx_hash (text): the hash of the transaction; an EVM hash in lower case
-- chain (text): the chain
-- asset (text): the asset of these claims
-- claims (count): the number of claims that name the transaction
-- groups (count): the number of their payout groups
-- confirmed_amount (amount): the exact sum of the amounts of those that are CONFIRMED
-- first_at (time): when the first of them was created
-- last_at (time): when the last of them was created
WITH hashed AS (
  SELECT *, fold_hash(tx_hash) AS hash
  FROM claims
  WHERE tx_hash IS NOT NULL
),
named AS (
  SELECT chain, hash
  FROM hashed
  GROUP BY chain, hash
  HAVING count(*) > 1
)
SELECT
  hashed.hash AS tx_hash,
  hashed.chain,
  hashed.asset,
  count(*) AS claims,
  count(DISTINCT hashed."group") AS groups,
  total(CASE WHEN hashed.status = 'CONFIRMED' THEN hashed.amount ELSE 0 END) AS confirmed_amount,
  min(hashed.created_at) AS first_at,
  max(hashed.created_at) AS last_at
FROM hashed
JOIN named ON named.hash = hashed.hash AND named.chain IS NOT DISTINCT FROM hashed.chain
GROUP BY hashed.hash, hashed.chain, hashed.asset
ORDER BY claims DESC, tx_hash, chain, asset
