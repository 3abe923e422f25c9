-- Columns and tables that keep the work of a write or a read of one record independent of history.

-- Whether a control of a type and setter was in force at an instant is read from one row: the last
-- one created at or before it.
ALTER TABLE controls
  ADD COLUMN covered_until INTEGER NOT NULL DEFAULT 9223372036854775807;
  -- the latest end (deleted_at; the largest integer while active) of this control and of those of the
  -- same (identity_key, type, set_by) before it in the order (created_at, key)
UPDATE controls SET covered_until = covered.until
  FROM (SELECT key, max(coalesce(deleted_at, 9223372036854775807))
                      OVER (PARTITION BY identity_key, type, set_by ORDER BY created_at, key) AS until
          FROM controls) AS covered
 WHERE covered.key = controls.key;
CREATE INDEX controls_by_setter ON controls (identity_key, type, set_by, created_at);
-- Of two indexes that seem alike SQLite takes the younger one: this one must be the youngest of those
-- that begin with identity_key.
DROP INDEX controls_active;
CREATE UNIQUE INDEX controls_active ON controls (identity_key, type, set_by) WHERE deleted_at IS NULL;

-- Payout groups whose claims are being rewritten to carry the group's present jurisdiction. Those up
-- to this place in the index claims_by_group carry it already.
CREATE TABLE jurisdiction_changes (
  group_id INTEGER PRIMARY KEY,  -- the symbol of the payout group
  onchain_status INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  claim_key INTEGER NOT NULL
);

-- The latest confirmed_at of a group's CONFIRMED CLAIM_ALL claims; last_claim_all_at is not before it.
ALTER TABLE payout_groups ADD COLUMN claim_all_confirmed_at INTEGER;
UPDATE payout_groups SET claim_all_confirmed_at =
  (SELECT max(confirmed_at) FROM claims
    WHERE payout_group_id = payout_groups.id AND onchain_status = 2
      AND claim_type = (SELECT key FROM symbols WHERE text = 'CLAIM_ALL'));

-- implied = 2: known from its controls alone and changed since, so that they do not bring it back as it
-- is; exports leave out those with 1 only.
UPDATE identities SET implied = 2
 WHERE implied = 1
   AND (metadata IS NOT NULL OR updated_at <> created_at OR created_at IS NOT
        (SELECT c.created_at FROM controls AS c WHERE c.identity_key = identities.key
          ORDER BY +c.key LIMIT 1));
