-- Compact tables, and readable views.
--
-- Times are UTC microseconds, and closed sets are small codes. Text that repeats (customers, open
-- words, assets, chains, payout group ids) is stored once in `symbols` and referenced by its key.
-- An id or a hash is a blob if that is exact (a lower-case UUID; 0x and 64 lower-case hex digits),
-- else TEXT. Amounts are stored as the text received. `key` is the order of insertion, and SQLite
-- appends it to every index.

CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

CREATE TABLE symbols (key INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);

CREATE TABLE customers (key INTEGER PRIMARY KEY REFERENCES symbols);

CREATE TABLE identities (
  key INTEGER PRIMARY KEY,
  id NOT NULL UNIQUE,
  customer_id INTEGER NOT NULL,
  ref_id TEXT,
  metadata TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  implied INTEGER NOT NULL DEFAULT 0  -- 1: known from a control alone, its own line is yet to come
);
CREATE INDEX identities_by_customer ON identities (customer_id, created_at);
CREATE INDEX identities_by_ref_id ON identities (customer_id, ref_id, created_at) WHERE ref_id IS NOT NULL;

CREATE TABLE controls (
  key INTEGER PRIMARY KEY,
  id NOT NULL UNIQUE,
  type INTEGER NOT NULL,
  set_by INTEGER NOT NULL,
  is_overridable INTEGER NOT NULL,
  reason_code INTEGER,
  reason TEXT,
  created_at INTEGER NOT NULL,
  deleted_at INTEGER,
  identity_id NOT NULL,
  created_by TEXT,
  deleted_by TEXT,
  deletion_reason TEXT,
  customer_id INTEGER NOT NULL,
  identity_key INTEGER NOT NULL REFERENCES identities,
  identity_created_at INTEGER NOT NULL  -- so that identities can be listed by their active controls
);
CREATE UNIQUE INDEX controls_active ON controls (identity_key, type, set_by) WHERE deleted_at IS NULL;
CREATE INDEX controls_by_identity ON controls (identity_key, created_at);
CREATE INDEX controls_by_customer ON controls (customer_id, created_at);
CREATE INDEX controls_active_by_customer ON controls (customer_id, created_at) WHERE deleted_at IS NULL;
CREATE INDEX controls_by_type ON controls (customer_id, type, created_at);
CREATE INDEX controls_by_set_by ON controls (customer_id, set_by, created_at);
CREATE INDEX controls_by_reason_code ON controls (customer_id, reason_code, created_at);
CREATE INDEX identities_by_control_type
  ON controls (customer_id, type, identity_created_at, identity_key) WHERE deleted_at IS NULL;
CREATE INDEX identities_by_reason_code
  ON controls (customer_id, reason_code, identity_created_at, identity_key) WHERE deleted_at IS NULL;

CREATE TABLE orchestrations (
  key INTEGER PRIMARY KEY,
  id NOT NULL UNIQUE,
  profile_id,
  identity_id,
  account_id,
  customer_id INTEGER NOT NULL,
  ref_id TEXT,
  source_asset INTEGER,
  destination_asset INTEGER,
  source_amount TEXT,
  source_transfer TEXT,
  destination_transfer TEXT,
  status INTEGER NOT NULL,
  fail_reason TEXT,
  source TEXT,
  destination TEXT,
  orchestration_rule_id,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  metadata TEXT,
  destination_profile_id  -- destination.profile.profile_id, which the profile filter matches too
);
CREATE INDEX orchestrations_by_customer ON orchestrations (customer_id, created_at);
CREATE INDEX orchestrations_by_status ON orchestrations (customer_id, status, created_at);
CREATE INDEX orchestrations_by_source_asset ON orchestrations (customer_id, source_asset, created_at);
CREATE INDEX orchestrations_by_destination_asset
  ON orchestrations (customer_id, destination_asset, created_at);
CREATE INDEX orchestrations_by_rule ON orchestrations (customer_id, orchestration_rule_id, created_at)
  WHERE orchestration_rule_id IS NOT NULL;
CREATE INDEX orchestrations_by_profile ON orchestrations (customer_id, profile_id, created_at)
  WHERE profile_id IS NOT NULL;
CREATE INDEX orchestrations_by_destination_profile
  ON orchestrations (customer_id, destination_profile_id, created_at)
  WHERE destination_profile_id IS NOT NULL;
CREATE INDEX orchestrations_by_ref_id ON orchestrations (customer_id, ref_id, created_at)
  WHERE ref_id IS NOT NULL;

CREATE TABLE payout_groups (
  key INTEGER PRIMARY KEY,
  id INTEGER NOT NULL UNIQUE,
  ledger INTEGER NOT NULL,
  asset_type INTEGER,
  rate_id TEXT,
  jurisdiction INTEGER,
  claimer_address TEXT,
  onchain_status INTEGER,
  balance TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  name TEXT,
  manager_address TEXT,
  destination_address TEXT,
  onchain_group_id TEXT,
  balance_at INTEGER,
  last_claim_all_at INTEGER,
  schedule_type INTEGER,
  customer_id INTEGER NOT NULL
);
CREATE INDEX payout_groups_by_customer ON payout_groups (customer_id, created_at);
CREATE INDEX payout_groups_by_ledger ON payout_groups (customer_id, ledger, created_at);
CREATE INDEX payout_groups_by_asset_type ON payout_groups (customer_id, asset_type, created_at);
CREATE INDEX payout_groups_by_jurisdiction ON payout_groups (customer_id, jurisdiction, created_at);
CREATE INDEX payout_groups_by_claimer ON payout_groups (customer_id, claimer_address, created_at);
CREATE INDEX payout_groups_by_status ON payout_groups (customer_id, onchain_status, created_at);
CREATE INDEX payout_groups_by_name ON payout_groups (customer_id, name);

CREATE TABLE reward_addresses (
  key INTEGER PRIMARY KEY,
  id NOT NULL UNIQUE,
  ledger INTEGER NOT NULL,
  address TEXT NOT NULL,
  name TEXT,
  payout_group_id INTEGER,
  status INTEGER,
  created_at INTEGER NOT NULL,
  customer_id INTEGER NOT NULL,
  UNIQUE (ledger, address)
);
CREATE INDEX reward_addresses_by_customer ON reward_addresses (customer_id, created_at);
CREATE INDEX reward_addresses_by_ledger ON reward_addresses (customer_id, ledger, created_at);
CREATE INDEX reward_addresses_by_group ON reward_addresses (payout_group_id, created_at)
  WHERE payout_group_id IS NOT NULL;

CREATE TABLE balances (
  key INTEGER PRIMARY KEY,
  address_id NOT NULL,
  balance TEXT NOT NULL,
  at INTEGER NOT NULL,
  UNIQUE (address_id, at)
);
CREATE INDEX balances_by_time ON balances (at);

CREATE TABLE claims (
  key INTEGER PRIMARY KEY,
  id NOT NULL UNIQUE,
  payout_group_id INTEGER NOT NULL,
  claim_type INTEGER NOT NULL,
  claim_schedule_id INTEGER,
  onchain_status INTEGER NOT NULL,
  amount TEXT NOT NULL,
  tx_hash,
  addresses,  -- 20 bytes each where all are lower-case 0x addresses, else a JSON array
  error_message TEXT,
  blockchain INTEGER,
  asset_type INTEGER,
  submitted_at INTEGER,
  confirmed_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  customer_id INTEGER NOT NULL,
  jurisdiction INTEGER  -- the present one of the payout group, rewritten when that changes
);
CREATE INDEX claims_by_customer ON claims (customer_id, created_at);
CREATE INDEX claims_by_group ON claims (payout_group_id, onchain_status, created_at);
CREATE INDEX claims_by_status ON claims (customer_id, onchain_status, created_at);
CREATE INDEX claims_by_chain ON claims (customer_id, blockchain, onchain_status, created_at);
CREATE INDEX claims_by_jurisdiction
  ON claims (customer_id, jurisdiction, onchain_status, created_at);

-- Answers of idempotency keys, stored for a day.
CREATE TABLE idempotency_keys (
  customer TEXT NOT NULL,  -- empty: the operator
  operation TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  answer TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (customer, operation, idempotency_key)
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
