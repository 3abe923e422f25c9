// scan STORE: the limit of reading everything. One thread steps all claims in order of arrival and
// touches every column. Prints the seconds and the number of rows.
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const double started = now();
  sqlite3* store = NULL;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(arguments[1], &store, flags, NULL) != SQLITE_OK) return 1;
  sqlite3_exec(store, "PRAGMA cache_size = -8192", NULL, NULL, NULL);
  sqlite3_stmt* rows = NULL;
  if (sqlite3_prepare_v2(store,
                         "SELECT id, payout_group_id, claim_type, claim_schedule_id,"
                         " onchain_status, amount, tx_hash, addresses, error_message, blockchain,"
                         " asset_type, submitted_at, confirmed_at, created_at, updated_at"
                         " FROM claims WHERE key >= 1 ORDER BY key",
                         -1, &rows, NULL) != SQLITE_OK) {
    fprintf(stderr, "%s\n", sqlite3_errmsg(store));
    return 1;
  }
  const int columns = sqlite3_column_count(rows);
  uint64_t touched = 0;
  long found = 0;
  while (sqlite3_step(rows) == SQLITE_ROW) {
    ++found;
    for (int column = 0; column < columns; ++column) {
      sqlite3_value* value = sqlite3_column_value(rows, column);
      const int type = sqlite3_value_type(value);
      if (type == SQLITE_INTEGER) {
        touched += (uint64_t)sqlite3_value_int64(value);
      } else if (type != SQLITE_NULL) {
        const unsigned char* bytes =
            type == SQLITE_TEXT ? sqlite3_value_text(value) : sqlite3_value_blob(value);
        const int size = sqlite3_value_bytes(value);
        if (size > 0) touched += bytes[0] + bytes[size - 1];
      }
    }
  }
  sqlite3_finalize(rows);
  sqlite3_close(store);
  printf("%.6f %ld %llu\n", now() - started, found, (unsigned long long)touched);
  return 0;
}
