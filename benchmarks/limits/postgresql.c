// The limits of a store in PostgreSQL: its own statements, by libpq, on rows that are values
// already.
//
// postgresql page ADDRESS CALLS      a page of 100 of the newest claims, all bytes touched; prints
// the
//                                    median microseconds
// postgresql scan ADDRESS            all claims in order of key, all bytes touched, on two
// connections;
//                                    prints the seconds
// postgresql dump ADDRESS FILE       writes the claims as COPY has them
// postgresql load ADDRESS FILE       stores them in an empty table: looks up 20,000 ids, then COPY;
//                                    prints the seconds
// postgresql creates ADDRESS COUNT   a control for each of the identities user-0, user-1, ...,
//                                    each durable, on 16 connections; prints the controls per
//                                    second
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// libpq-fe.h is not needed to run comptroller, so it may not be there.
typedef struct PGconn PGconn;
typedef struct PGresult PGresult;
PGconn* PQconnectdb(const char*);
char* PQerrorMessage(const PGconn*);
int PQstatus(const PGconn*);
int PQenterPipelineMode(PGconn*);
int PQexitPipelineMode(PGconn*);
int PQpipelineSync(PGconn*);
int PQsendPrepare(PGconn*, const char*, const char*, int, const unsigned*);
int PQsendQueryParams(PGconn*, const char*, int, const unsigned*, const char* const*, const int*,
                      const int*, int);
int PQsendQueryPrepared(PGconn*, const char*, int, const char* const*, const int*, const int*, int);
PGresult* PQexec(PGconn*, const char*);
PGresult* PQexecParams(PGconn*, const char*, int, const unsigned*, const char* const*, const int*,
                       const int*, int);
PGresult* PQgetResult(PGconn*);
int PQresultStatus(const PGresult*);
int PQntuples(const PGresult*);
int PQnfields(const PGresult*);
char* PQgetvalue(const PGresult*, int, int);
int PQgetlength(const PGresult*, int, int);
void PQclear(PGresult*);
int PQgetCopyData(PGconn*, char**, int);
int PQputCopyData(PGconn*, const char*, int);
int PQputCopyEnd(PGconn*, const char*);
void PQfreemem(void*);

enum { command_ok = 1, tuples_ok = 2, copy_out = 3, copy_in = 4, pipeline_sync = 10 };
enum { connections = 16, readers = 2, rows_of_batch = 20000, header_size = 19, id_size = 17 };
enum { bytea = 17, bytea_array = 1001 };

#define COLUMNS                                                                          \
  "id, payout_group_id, claim_type, claim_schedule_id, onchain_status, amount, tx_hash," \
  " addresses, error_message, blockchain, asset_type, submitted_at, confirmed_at,"       \
  " created_at, updated_at, customer_id"
#define BEGIN_READING "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fail(PGconn* connection) {
  fprintf(stderr, "%s\n", PQerrorMessage(connection));
  exit(1);
}

static PGconn* connect_to(const char* address) {
  PGconn* connection = PQconnectdb(address);
  if (PQstatus(connection) != 0) fail(connection);
  return connection;
}

static PGresult* checked(PGconn* connection, PGresult* result) {
  const int status = PQresultStatus(result);
  if (status != command_ok && status != tuples_ok && status != copy_in && status != copy_out) {
    fail(connection);
  }
  return result;
}

static void run(PGconn* connection, const char* sql) {
  PQclear(checked(connection, PQexec(connection, sql)));
}

static uint64_t touch(const char* bytes, int size) {
  return size > 0 ? (unsigned char)bytes[0] + (uint64_t)(unsigned char)bytes[size - 1] : 0;
}

// ---- a pipeline ------------------------------------------------------------------------------

static void send_sql(PGconn* connection, const char* sql) {
  if (!PQsendQueryParams(connection, sql, 0, NULL, NULL, NULL, NULL, 1)) fail(connection);
}

static void prepare(PGconn* connection, const char* name, const char* sql) {
  if (!PQsendPrepare(connection, name, sql, 0, NULL)) fail(connection);
}

static void send_prepared(PGconn* connection, const char* name, int count,
                          const char* const* values) {
  if (!PQsendQueryPrepared(connection, name, count, values, NULL, NULL, 1)) fail(connection);
}

// Returns the last rows of the requests that were sent, or NULL. `syncs`: how many are awaited.
static PGresult* receive(PGconn* connection, int syncs) {
  PGresult* rows = NULL;
  for (int empty = 0; syncs > 0;) {
    PGresult* result = PQgetResult(connection);
    if (result == NULL) {
      if (++empty > 2) fail(connection);
      continue;
    }
    empty = 0;
    const int status = PQresultStatus(result);
    if (status == tuples_ok) {
      PQclear(rows);
      rows = result;
      continue;
    }
    if (status == pipeline_sync) {
      --syncs;
    } else if (status != command_ok) {
      fail(connection);
    }
    PQclear(result);
  }
  return rows;
}

static PGresult* exchange(PGconn* connection) {
  if (!PQpipelineSync(connection)) fail(connection);
  return receive(connection, 1);
}

// ---- pages -----------------------------------------------------------------------------------

static int by_value(const void* left, const void* right) {
  const double difference = *(const double*)left - *(const double*)right;
  return (difference > 0) - (difference < 0);
}

static void page(const char* address, int calls) {
  PGconn* connection = connect_to(address);
  run(connection, "SET enable_seqscan = off");
  run(connection, "SET enable_bitmapscan = off");
  PQenterPipelineMode(connection);
  prepare(connection, "page",
          "SELECT " COLUMNS
          ", created_at, key FROM claims"
          " WHERE customer_id = (SELECT min(key) FROM customers)"
          " ORDER BY created_at DESC, key DESC LIMIT 101");
  PQclear(exchange(connection));
  double* times = malloc(sizeof(double) * (size_t)calls);
  if (times == NULL) exit(1);
  uint64_t touched = 0;
  for (int call = 0; call < calls; ++call) {
    const double started = now();
    send_sql(connection, BEGIN_READING);
    send_prepared(connection, "page", 0, NULL);
    PQpipelineSync(connection);
    PGresult* rows = receive(connection, call > 0 ? 2 : 1);  // also the end of the one before
    for (int row = 0; row < PQntuples(rows); ++row) {
      for (int column = 0; column < PQnfields(rows); ++column) {
        touched += touch(PQgetvalue(rows, row, column), PQgetlength(rows, row, column));
      }
    }
    PQclear(rows);
    send_sql(connection, "ROLLBACK");
    PQpipelineSync(connection);
    times[call] = now() - started;
  }
  qsort(times, (size_t)calls, sizeof(double), by_value);
  printf("%.3f %llu\n", times[calls / 2] * 1e6, (unsigned long long)touched);
}

// ---- rows as COPY has them -------------------------------------------------------------------

static const char* take_int(const char* at, int size, int* number) {
  if (size == 2) {
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    *number = (int16_t)ntohs(bits);
  } else {
    uint32_t bits;
    memcpy(&bits, at, sizeof bits);
    *number = (int)ntohl(bits);
  }
  return at + size;
}

struct Part {
  const char* address;
  const char* snapshot;
  int64_t from, before;
  long rows;
  uint64_t touched;
};

static void* read_part(void* given) {
  struct Part* part = given;
  PGconn* connection = connect_to(part->address);
  char sql[1024];
  run(connection, BEGIN_READING);
  snprintf(sql, sizeof sql, "SET TRANSACTION SNAPSHOT '%s'", part->snapshot);
  run(connection, sql);
  snprintf(sql, sizeof sql,
           "COPY (SELECT " COLUMNS
           ", key FROM claims WHERE key >= %lld AND key < %lld"
           " ORDER BY key) TO STDOUT BINARY",
           (long long)part->from, (long long)part->before);
  run(connection, sql);
  char* row = NULL;
  int size = 0;
  for (int is_first = 1; (size = PQgetCopyData(connection, &row, 0)) > 0; is_first = 0) {
    int columns, length;
    const char* at = take_int(row + (is_first ? header_size : 0), 2, &columns);
    part->rows += columns > 0;
    for (int column = 0; column < columns; ++column) {
      at = take_int(at, 4, &length);
      part->touched += touch(at, length);
      if (length > 0) at += length;
    }
    PQfreemem(row);
  }
  return NULL;
}

static void scan(const char* address) {
  const double started = now();
  PGconn* connection = connect_to(address);
  run(connection, BEGIN_READING);
  PGresult* found =
      checked(connection,
              PQexec(connection, "SELECT pg_export_snapshot(), min(key), max(key) FROM claims"));
  const int64_t first = atoll(PQgetvalue(found, 0, 1));
  const int64_t end = atoll(PQgetvalue(found, 0, 2)) + 1;
  struct Part parts[readers];
  pthread_t threads[readers];
  long rows = 0;
  for (int part = 0; part < readers; ++part) {
    parts[part] = (struct Part){address,
                                PQgetvalue(found, 0, 0),
                                first + (end - first) * part / readers,
                                first + (end - first) * (part + 1) / readers,
                                0,
                                0};
    pthread_create(&threads[part], NULL, read_part, &parts[part]);
  }
  for (int part = 0; part < readers; ++part) {
    pthread_join(threads[part], NULL);
    rows += parts[part].rows;
  }
  printf("%.6f %ld\n", now() - started, rows);
}

static void dump(const char* address, const char* path) {
  PGconn* connection = connect_to(address);
  FILE* file = fopen(path, "wb");
  if (file == NULL) exit(1);
  run(connection,
      "COPY (SELECT " COLUMNS ", jurisdiction, key FROM claims ORDER BY key) TO STDOUT BINARY");
  char* row = NULL;
  for (int size = 0; (size = PQgetCopyData(connection, &row, 0)) > 0; PQfreemem(row)) {
    if (fwrite(row, 1, (size_t)size, file) != (size_t)size) exit(1);
  }
  if (fclose(file) != 0) exit(1);
}

// ---- loads -----------------------------------------------------------------------------------

static char* append_int(char* at, int number) {
  const uint32_t bits = htonl((uint32_t)number);
  memcpy(at, &bits, sizeof bits);
  return at + sizeof bits;
}

static const char* end_of_row(const char* at) {
  int columns, length;
  at = take_int(at, 2, &columns);
  for (int column = 0; column < columns; ++column) {
    at = take_int(at, 4, &length);
    if (length > 0) at += length;
  }
  return at;
}

static void expect_none(PGconn* connection, const char* ids, int count, int size) {
  static char array[20 + rows_of_batch * (4 + id_size)];
  char* at = append_int(append_int(append_int(array, 1), 0), bytea);
  at = append_int(append_int(at, count), 1);
  memcpy(at, ids, (size_t)size);
  const unsigned type = bytea_array;
  const char* const values[] = {array};
  const int lengths[] = {(int)(at - array) + size}, formats[] = {1};
  PGresult* found =
      checked(connection, PQexecParams(connection, "SELECT id FROM claims WHERE id = ANY($1)", 1,
                                       &type, values, lengths, formats, 1));
  if (PQntuples(found) != 0) exit(1);
  PQclear(found);
}

static void copy_rows(PGconn* connection, const char* header, const char* rows, size_t size) {
  run(connection, "SAVEPOINT copied");
  run(connection, "COPY claims (" COLUMNS ", jurisdiction, key) FROM STDIN BINARY");
  PQputCopyData(connection, header, header_size);
  PQputCopyData(connection, rows, (int)size);
  PQputCopyData(connection, "\377\377", 2);
  PQputCopyEnd(connection, NULL);
  for (PGresult* result; (result = PQgetResult(connection)) != NULL;) {
    PQclear(checked(connection, result));
  }
  run(connection, "RELEASE SAVEPOINT copied");
}

static void load(const char* address, const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) exit(1);
  fseek(file, 0, SEEK_END);
  const size_t size = (size_t)ftell(file);
  rewind(file);
  char* bytes = malloc(size);
  if (bytes == NULL || fread(bytes, 1, size, file) != size) exit(1);
  fclose(file);
  static char ids[rows_of_batch * (4 + id_size)];
  PGconn* connection = connect_to(address);
  const double started = now();
  run(connection, "BEGIN");
  const char* const end = bytes + size - 2;  // before the mark of the end
  for (const char* at = bytes + header_size; at < end;) {
    const char* const first = at;
    int count = 0, size_of_ids = 0;
    for (; count < rows_of_batch && at < end; ++count) {
      int length;
      take_int(at + 2, 4, &length);
      if (length > id_size) exit(1);
      memcpy(ids + size_of_ids, at + 2, 4 + (size_t)length);
      size_of_ids += 4 + length;
      at = end_of_row(at);
    }
    expect_none(connection, ids, count, size_of_ids);
    copy_rows(connection, bytes, first, (size_t)(at - first));
  }
  run(connection, "COMMIT");
  printf("%.6f\n", now() - started);
}

// ---- creates ---------------------------------------------------------------------------------

struct Creator {
  const char* address;
  int first, count;
};

static void create(PGconn* connection, int number) {
  char name[32], identity[80] = "\\x01", id[40];
  snprintf(name, sizeof name, "user-%d", number);
  for (const char* at = name; *at != '\0'; ++at) {
    snprintf(identity + strlen(identity), 3, "%02x", *at & 0xffU);
  }
  snprintf(id, sizeof id, "\\x00%032x", number);
  send_sql(connection, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
  send_sql(connection, "SET LOCAL lock_timeout = 30000");
  send_sql(connection, "LOCK TABLE journal_writer IN ROW EXCLUSIVE MODE");
  const char* const by_id[] = {identity};
  send_prepared(connection, "identity", 1, by_id);
  PGresult* found = exchange(connection);
  if (PQntuples(found) != 1) exit(1);
  uint32_t bits;
  memcpy(&bits, PQgetvalue(found, 0, 6) + 4, sizeof bits);  // the lower half of a bigint
  PQclear(found);
  char key[16];
  snprintf(key, sizeof key, "%u", ntohl(bits));
  const char* const by_key[] = {key};
  send_prepared(connection, "active", 1, by_key);
  PQclear(exchange(connection));
  send_prepared(connection, "last", 1, by_key);
  PQclear(exchange(connection));
  const char* const control[] = {id, identity, key};
  send_prepared(connection, "control", 3, control);
  const char* const entry[] = {key, id};
  send_prepared(connection, "entry", 2, entry);
  send_sql(connection, "COMMIT");
  PQclear(exchange(connection));
}

static void* create_some(void* given) {
  const struct Creator* creator = given;
  PGconn* connection = connect_to(creator->address);
  PQenterPipelineMode(connection);
  prepare(connection, "identity",
          "SELECT id, customer_id, ref_id, metadata, created_at, updated_at, key, implied"
          " FROM identities WHERE id = $1 FOR UPDATE");
  prepare(connection, "active",
          "SELECT id, type, set_by, is_overridable, reason_code, reason, created_at, deleted_at,"
          " identity_id, created_by, deleted_by, deletion_reason, customer_id FROM controls"
          " WHERE identity_key = $1 AND (deleted_at IS NULL) = true ORDER BY created_at, key");
  prepare(connection, "last",
          "SELECT created_at, covered_until FROM controls WHERE identity_key = $1 AND type = 0"
          " AND set_by = 0 AND created_at <= 9223372036854775807"
          " ORDER BY created_at DESC, key DESC LIMIT 1");
  prepare(connection, "control",
          "INSERT INTO controls (id, type, set_by, is_overridable, reason_code, created_at,"
          " identity_id, customer_id, identity_key, identity_created_at)"
          " SELECT $1, 0, 0, 1, 0, 1767225600000000, $2, key, $3, 1767225600000000"
          " FROM customers LIMIT 1");
  prepare(connection, "entry",
          "INSERT INTO journal_pending (recorded_at, actor, customer_id, operation, resource, key,"
          " id, content) VALUES (1767225600000000, 1, 1, 1, 1, $1, $2, repeat('x', 300))");
  PQclear(exchange(connection));
  for (int number = creator->first; number < creator->count; number += connections) {
    create(connection, number);
  }
  return NULL;
}

static void creates(const char* address, int count) {
  struct Creator creators[connections];
  pthread_t threads[connections];
  const double started = now();
  for (int each = 0; each < connections; ++each) {
    creators[each] = (struct Creator){address, each, count};
    pthread_create(&threads[each], NULL, create_some, &creators[each]);
  }
  for (int each = 0; each < connections; ++each) pthread_join(threads[each], NULL);
  printf("%.3f\n", count / (now() - started));
}

int main(int count, char** arguments) {
  if (count == 4 && strcmp(arguments[1], "page") == 0) {
    page(arguments[2], atoi(arguments[3]));
  } else if (count == 3 && strcmp(arguments[1], "scan") == 0) {
    scan(arguments[2]);
  } else if (count == 4 && strcmp(arguments[1], "dump") == 0) {
    dump(arguments[2], arguments[3]);
  } else if (count == 4 && strcmp(arguments[1], "load") == 0) {
    load(arguments[2], arguments[3]);
  } else if (count == 4 && strcmp(arguments[1], "creates") == 0) {
    creates(arguments[2], atoi(arguments[3]));
  } else {
    return 2;
  }
  return 0;
}
