-- The claims of a payout group whose jurisdiction changed are rewritten in order of time, whatever their
-- status: those up to the place (created_at, claim_key) carry the present one. What was in progress
-- begins again.
UPDATE jurisdiction_changes SET created_at = -9223372036854775808, claim_key = 0;
ALTER TABLE jurisdiction_changes DROP COLUMN onchain_status;
