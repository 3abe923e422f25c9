-- The journal: one entry for each change of a record, and one for all records that a load inserted.
-- `hashes` has the first 8 bytes of the SHA-256 of the entry, then the hashes of the subtrees of the
-- Merkle tree (RFC 9162) that it completes, from 16 entries on, smallest first. An entry is never
-- changed. `record_hashes` of a batch has the first two bytes of the hash of each of its records, so
-- that an altered one has a name. `effects` follows from the content, as bits, and selects the
-- entries of the indexes: 1 the record was removed, 2 a link to another record was changed or
-- removed, 4 a status was.
CREATE TABLE journal (
  sequence INTEGER PRIMARY KEY,
  recorded_at INTEGER NOT NULL,
  actor INTEGER NOT NULL REFERENCES symbols (key),
  customer_id INTEGER REFERENCES symbols (key),
  operation INTEGER NOT NULL REFERENCES symbols (key),
  resource INTEGER REFERENCES symbols (key),
  key INTEGER,
  id ANY,
  content TEXT NOT NULL,
  effects INTEGER NOT NULL,
  idempotency_key BLOB,
  request_id TEXT,
  hashes BLOB NOT NULL,
  record_hashes BLOB
) STRICT;
CREATE INDEX journal_by_record ON journal (resource, key) WHERE key IS NOT NULL;
-- For the change feed: the entries of a client, and the batches.
CREATE INDEX journal_of_customer ON journal (customer_id) WHERE customer_id IS NOT NULL;
CREATE INDEX journal_of_batches ON journal (sequence) WHERE key IS NULL;
-- Finds a record that was removed by its id.
CREATE INDEX journal_of_removed ON journal (id) WHERE (effects & 1) <> 0;
-- Finds records that were linked to another one earlier.
CREATE INDEX journal_of_links ON journal (sequence) WHERE (effects & 2) <> 0;
-- Finds the next change of a record's status, which names the status before.
CREATE INDEX journal_of_statuses ON journal (resource, key) WHERE (effects & 4) <> 0;
-- The keys of the records of a batch that belong to a customer (store/customer_keys.hpp), so that the
-- change feed of a client reads only these.
CREATE TABLE journal_batch_keys (
  customer_id INTEGER NOT NULL REFERENCES symbols (key),
  sequence INTEGER NOT NULL,
  keys BLOB NOT NULL,
  PRIMARY KEY (customer_id, sequence)
) STRICT, WITHOUT ROWID;
-- The entries that were moved to files: the first `size`. `entry` is the entry of the archive.
-- `hashes` has those of the subtrees of which their tree consists, largest first, so that the tree
-- goes on.
CREATE TABLE journal_archives (
  size INTEGER PRIMARY KEY,
  entry INTEGER NOT NULL,
  hashes BLOB NOT NULL
) STRICT;
CREATE TRIGGER journal_is_not_updated BEFORE UPDATE ON journal
BEGIN SELECT raise(ABORT, 'an entry of the journal is never changed'); END;
CREATE TRIGGER journal_is_not_deleted BEFORE DELETE ON journal
WHEN OLD.sequence >= (SELECT coalesce(max(size), 0) FROM journal_archives)
BEGIN SELECT raise(ABORT, 'an entry of the journal is never deleted'); END;
