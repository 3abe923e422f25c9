ALTER TABLE payout_groups ADD COLUMN country TEXT;
