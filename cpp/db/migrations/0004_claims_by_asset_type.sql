CREATE INDEX claims_by_asset_type ON claims (customer_id, asset_type, onchain_status, created_at);
