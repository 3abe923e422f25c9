-- The filter tx_hash of the list of claims.
CREATE INDEX claims_by_tx_hash ON claims (customer_id, tx_hash, created_at)
  WHERE tx_hash IS NOT NULL;
