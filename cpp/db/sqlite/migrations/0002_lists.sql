-- Lists of bounded cost: controls by whether they are active, payout groups by the prefix of their
-- name, and an operator's lists over any number of customers.

DROP INDEX controls_by_identity;
DROP INDEX controls_by_customer;
DROP INDEX controls_active_by_customer;
DROP INDEX controls_by_type;
DROP INDEX controls_by_set_by;
DROP INDEX controls_by_reason_code;
CREATE INDEX controls_by_identity ON controls (identity_key, (deleted_at IS NULL), created_at);
CREATE INDEX controls_by_customer ON controls (customer_id, (deleted_at IS NULL), created_at);
CREATE INDEX controls_by_type ON controls (customer_id, type, (deleted_at IS NULL), created_at);
CREATE INDEX controls_by_set_by ON controls (customer_id, set_by, (deleted_at IS NULL), created_at);
CREATE INDEX controls_by_reason_code
  ON controls (customer_id, reason_code, (deleted_at IS NULL), created_at);

DROP INDEX payout_groups_by_name;
CREATE INDEX payout_groups_by_name ON payout_groups (customer_id, name, created_at);

-- Has a row with state 1 if the indexes of an operator's lists over many customers exist.
CREATE TABLE operator_indexes (state INTEGER PRIMARY KEY);
