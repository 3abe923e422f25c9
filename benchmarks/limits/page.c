// page STORE SIZE first|middle CALLS: the limit of a page. Steps a statement that selects the rows
// of a page of claims and copies the bytes of every column. Prints the median microseconds.
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLUMNS                                                                            \
  "id, payout_group_id, claim_type, claim_schedule_id, onchain_status, amount, tx_hash,"   \
  " addresses, error_message, blockchain, asset_type, submitted_at, confirmed_at,"         \
  " created_at, updated_at, customer_id, created_at, key"
#define BEYOND                                                                             \
  "SELECT " COLUMNS " FROM claims WHERE 1 AND customer_id = ?1 AND created_at >= ?2"       \
  " AND created_at < ?3"
#define SAME_MOMENT                                                                        \
  "SELECT " COLUMNS " FROM claims WHERE 1 AND customer_id = ?1 AND created_at = ?3"        \
  " AND key < ?5 UNION ALL "
#define NEWEST_FIRST " ORDER BY 17 DESC, 18 DESC LIMIT ?4"

static char page[8 << 20];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int by_value(const void* left, const void* right) {
  const double difference = *(const double*)left - *(const double*)right;
  return (difference > 0) - (difference < 0);
}

static size_t copy_rows(sqlite3_stmt* rows) {
  size_t used = 0;
  const int columns = sqlite3_column_count(rows);
  while (sqlite3_step(rows) == SQLITE_ROW) {
    for (int column = 0; column < columns; ++column) {
      sqlite3_value* value = sqlite3_column_value(rows, column);
      const int type = sqlite3_value_type(value);
      if (type == SQLITE_INTEGER) {
        const int64_t integer = sqlite3_value_int64(value);
        memcpy(page + used, &integer, sizeof integer);
        used += sizeof integer;
      } else if (type != SQLITE_NULL) {
        const void* bytes = type == SQLITE_TEXT ? (const void*)sqlite3_value_text(value)
                                                : sqlite3_value_blob(value);
        const size_t size = (size_t)sqlite3_value_bytes(value);
        memcpy(page + used, bytes, size);
        used += size;
      }
    }
  }
  return used;
}

static int64_t number(sqlite3* store, const char* sql) {
  sqlite3_stmt* statement = NULL;
  sqlite3_prepare_v2(store, sql, -1, &statement, NULL);
  if (sqlite3_step(statement) != SQLITE_ROW) exit(1);
  const int64_t value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return value;
}

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const int is_middle = strcmp(arguments[3], "middle") == 0;
  const int calls = atoi(arguments[4]);
  sqlite3* store = NULL;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(arguments[1], &store, flags, NULL) != SQLITE_OK) return 1;
  sqlite3_exec(store, "PRAGMA cache_size = -8192", NULL, NULL, NULL);
  sqlite3_stmt* rows = NULL;
  const char* sql = is_middle ? SAME_MOMENT BEYOND NEWEST_FIRST : BEYOND NEWEST_FIRST;
  if (sqlite3_prepare_v3(store, sql, -1, SQLITE_PREPARE_PERSISTENT, &rows, NULL) != SQLITE_OK) {
    fprintf(stderr, "%s\n", sqlite3_errmsg(store));
    return 1;
  }
  const int64_t customer = number(store, "SELECT customer_id FROM claims LIMIT 1");
  const int64_t key = number(store, "SELECT max(key) / 2 FROM claims");
  const int64_t moment = number(
      store, "SELECT created_at FROM claims WHERE key = (SELECT max(key) / 2 FROM claims)");
  double* times = malloc(sizeof(double) * (size_t)calls);
  if (times == NULL) return 1;
  size_t bytes = 0;
  for (int call = 0; call < calls; ++call) {
    const double started = now();
    sqlite3_bind_int64(rows, 1, customer);
    sqlite3_bind_int64(rows, 2, INT64_MIN);
    sqlite3_bind_int64(rows, 3, is_middle ? moment : INT64_MAX);
    sqlite3_bind_int64(rows, 4, atoi(arguments[2]) + 1);
    if (is_middle) sqlite3_bind_int64(rows, 5, key);
    bytes += copy_rows(rows);
    sqlite3_reset(rows);
    times[call] = now() - started;
  }
  qsort(times, (size_t)calls, sizeof(double), by_value);
  printf("%.3f %zu\n", times[calls / 2], bytes / (size_t)calls);
  sqlite3_finalize(rows);
  sqlite3_close(store);
  return 0;
}
