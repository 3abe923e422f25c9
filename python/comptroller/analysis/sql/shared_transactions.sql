-- Transactions of several claims
-- Which transactions are named by more than one claim?
-- Without rows: no two claims name the same transaction.
--
-- Claims of one chain with the same tx_hash. One transaction may pay several groups; if it does
-- not, the claim was recorded twice and its amount counts twice. Filters select claims before they
-- are compared.
--
-- tx_hash (text): the hash of the transaction
-- chain (text): the chain
-- asset (text): the asset of these claims
-- claims (count): the number of claims that name the transaction
-- groups (count): the number of their payout groups
-- confirmed_amount (amount): the exact sum of the amounts of those that are CONFIRMED
-- first_at (time): when the first of them was created
-- last_at (time): when the last of them was created
WITH named AS (
  SELECT chain, tx_hash
  FROM claims
  WHERE tx_hash IS NOT NULL
  GROUP BY chain, tx_hash
  HAVING count(*) > 1
)
SELECT
  claims.tx_hash,
  claims.chain,
  claims.asset,
  count(*) AS claims,
  count(DISTINCT claims."group") AS groups,
  total(CASE WHEN claims.status = 'CONFIRMED' THEN claims.amount ELSE 0 END) AS confirmed_amount,
  min(claims.created_at) AS first_at,
  max(claims.created_at) AS last_at
FROM claims
JOIN named ON named.tx_hash = claims.tx_hash AND named.chain IS NOT DISTINCT FROM claims.chain
GROUP BY claims.tx_hash, claims.chain, claims.asset
ORDER BY claims DESC, tx_hash, chain, asset
