-- Webhooks: endpoints that get a request for each change of a record, and what was not delivered
-- yet. No secret is stored: those of an endpoint follow from a key in a file beside the store, and
-- from secret_id.
CREATE TABLE webhooks (
  key INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again, as the journal needs
  id ANY NOT NULL,
  url TEXT NOT NULL,
  event_types ANY NOT NULL,
  description TEXT,
  status INTEGER NOT NULL,
  status_reason TEXT,
  secret_changed_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  customer_id INTEGER REFERENCES symbols (key),  -- NULL: the events of all customers
  -- Columns that are not members of the record.
  secret_id TEXT NOT NULL,
  previous_secret_id TEXT,
  previous_until INTEGER,
  -- The place in the change feed whose later changes are considered next; see FeedPosition.
  after_sequence INTEGER NOT NULL,
  after_part INTEGER NOT NULL,
  after_key INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX webhooks_by_id ON webhooks (id);
CREATE INDEX webhooks_by_customer ON webhooks (customer_id);

-- Events that were not delivered yet, and the last test of each endpoint.
CREATE TABLE webhook_deliveries (
  webhook_key INTEGER NOT NULL,
  -- The place in the change feed; for a test -1, 63 and its time.
  sequence INTEGER NOT NULL,
  part INTEGER NOT NULL,
  key INTEGER NOT NULL,
  resource INTEGER NOT NULL,  -- the code of a ChangedResource
  record_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,  -- 0: it waits for an earlier event of the record
  first_attempt_at INTEGER,
  last_attempt_at INTEGER,
  next_attempt_at INTEGER,  -- NULL: there will be none
  last_error TEXT,
  PRIMARY KEY (webhook_key, sequence, part, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_deliveries_by_record
  ON webhook_deliveries (webhook_key, resource, record_id, sequence, part, key);
CREATE INDEX webhook_deliveries_by_time
  ON webhook_deliveries (webhook_key, next_attempt_at) WHERE next_attempt_at IS NOT NULL;

-- The process that delivers. It renews its lease; when the lease ends, another may take it.
CREATE TABLE webhook_lease (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  holder TEXT NOT NULL,
  until INTEGER NOT NULL
) STRICT;
INSERT INTO webhook_lease (only, holder, until) VALUES (1, '', 0);
