-- What an operator notes about a claim.
ALTER TABLE claims ADD COLUMN memo TEXT;
