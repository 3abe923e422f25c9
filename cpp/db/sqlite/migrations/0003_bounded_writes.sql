-- Columns and tables that make the work of a write or a read of one record independent of its
-- history.

-- One row shows whether a control of a type and setter was in force at an instant: the last control
-- created at or before the instant.
ALTER TABLE controls
  ADD COLUMN covered_until INTEGER NOT NULL DEFAULT 9223372036854775807;
  -- The latest end (deleted_at; the largest integer while active) of this control and of the
  -- controls with the same (identity_key, type, set_by) before it in the order (created_at, key).
UPDATE controls SET covered_until = covered.until
  FROM (SELECT key, max(coalesce(deleted_at, 9223372036854775807))
                      OVER (PARTITION BY identity_key, type, set_by ORDER BY created_at, key) AS until
          FROM controls) AS covered
 WHERE covered.key = controls.key;
CREATE INDEX controls_by_setter ON controls (identity_key, type, set_by, created_at);
-- Of two indexes that it considers equal, SQLite uses the younger one. This index must be the
-- youngest of the indexes that begin with identity_key.
DROP INDEX controls_active;
CREATE UNIQUE INDEX controls_active ON controls (identity_key, type, set_by) WHERE deleted_at IS NULL;

-- Payout groups whose claims are being rewritten with the group's current jurisdiction. Claims up
-- to this position in the index claims_by_group already have it.
CREATE TABLE jurisdiction_changes (
  group_id INTEGER PRIMARY KEY,  -- the symbol of the payout group
  onchain_status INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  claim_key INTEGER NOT NULL
);

-- The latest confirmed_at of a group's CONFIRMED CLAIM_ALL claims; last_claim_all_at is never
-- earlier.
ALTER TABLE payout_groups ADD COLUMN claim_all_confirmed_at INTEGER;
UPDATE payout_groups SET claim_all_confirmed_at =
  (SELECT max(confirmed_at) FROM claims
    WHERE payout_group_id = payout_groups.id AND onchain_status = 2
      AND claim_type = (SELECT key FROM symbols WHERE text = 'CLAIM_ALL'));

-- implied = 2: known only from its controls, but changed since, so that a load of the controls does
-- not recreate it as it is. Exports omit only identities with implied = 1.
UPDATE identities SET implied = 2
 WHERE implied = 1
   AND (metadata IS NOT NULL OR updated_at <> created_at OR created_at IS NOT
        (SELECT c.created_at FROM controls AS c WHERE c.identity_key = identities.key
          ORDER BY +c.key LIMIT 1));
