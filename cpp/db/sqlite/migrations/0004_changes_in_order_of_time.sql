-- The claims of a payout group whose jurisdiction changed are rewritten in order of time, whatever
-- their status: claims up to the position (created_at, claim_key) have the current jurisdiction.
-- Changes in progress begin again.
UPDATE jurisdiction_changes SET created_at = -9223372036854775808, claim_key = 0;
ALTER TABLE jurisdiction_changes DROP COLUMN onchain_status;
