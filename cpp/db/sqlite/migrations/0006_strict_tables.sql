-- STRICT tables: SQLite refuses a value that is not of the type of its column. ANY is text, or a
-- blob that represents it.
--
-- Only the definitions change, as https://sqlite.org/lang_altertable.html#otheralter describes: a
-- STRICT table stores its rows in the same format, so rows and indexes are not written again. The
-- program then checks the types of all values, and undoes the migration if one is wrong.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '  id NOT NULL', '  id ANY NOT NULL')
 WHERE type = 'table'
   AND name IN ('identities', 'controls', 'orchestrations', 'reward_addresses', 'claims');
UPDATE sqlite_schema SET sql = replace(sql, '  identity_id NOT NULL', '  identity_id ANY NOT NULL')
 WHERE type = 'table' AND name = 'controls';
UPDATE sqlite_schema SET sql = replace(sql, '  address_id NOT NULL', '  address_id ANY NOT NULL')
 WHERE type = 'table' AND name = 'balances';
UPDATE sqlite_schema
   SET sql = replace(replace(sql, '  tx_hash,', '  tx_hash ANY,'), '  addresses,', '  addresses ANY,')
 WHERE type = 'table' AND name = 'claims';
UPDATE sqlite_schema
   SET sql = replace(replace(replace(replace(replace(sql,
             '  profile_id,', '  profile_id ANY,'),
             '  identity_id,', '  identity_id ANY,'),
             '  account_id,', '  account_id ANY,'),
             '  orchestration_rule_id,', '  orchestration_rule_id ANY,'),
             '  destination_profile_id ', '  destination_profile_id ANY ')
 WHERE type = 'table' AND name = 'orchestrations';
UPDATE sqlite_schema SET sql = sql || iif(sql LIKE '%) WITHOUT ROWID', ', STRICT', ' STRICT')
 WHERE type = 'table'
   AND name IN ('secrets', 'symbols', 'customers', 'identities', 'controls', 'orchestrations',
                'payout_groups', 'reward_addresses', 'balances', 'claims', 'idempotency_keys',
                'operator_indexes', 'jurisdiction_changes');
PRAGMA writable_schema = RESET;
