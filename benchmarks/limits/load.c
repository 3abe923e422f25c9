// load STORE MIGRATION ROWS: the limit of loading. Rows that are parsed already (see dump.c) go
// through one prepared INSERT into the store's own schema, in one transaction, its indexes after
// them, a checkpoint at the end. Prints the seconds in all, and those until the last row was in.
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_indexes = 16, most_sql = 4096 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static char* read_whole(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) exit(1);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char* bytes = malloc(*size + 1);
  if (bytes == NULL || fread(bytes, 1, *size, file) != *size) exit(1);
  bytes[*size] = '\0';
  fclose(file);
  return bytes;
}

static void run(sqlite3* store, const char* sql) {
  if (sqlite3_exec(store, sql, NULL, NULL, NULL) == SQLITE_OK) return;
  fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(store));
  exit(1);
}

static int keep_index(void* all, int count, char** values, char** names) {
  (void)count, (void)names;
  char(*indexes)[most_sql] = all;
  int place = 0;
  while (indexes[place][0] != '\0') ++place;
  snprintf(indexes[place], most_sql, "DROP INDEX %s%c%s", values[0], '\0', values[1]);
  return 0;
}

static const char* bind(sqlite3_stmt* insert, int column, const char* at) {
  const int type = *at++;
  if (type == SQLITE_NULL) {
    sqlite3_bind_null(insert, column);
  } else if (type == SQLITE_INTEGER) {
    int64_t value;
    memcpy(&value, at, sizeof value);
    at += sizeof value;
    sqlite3_bind_int64(insert, column, value);
  } else {
    uint32_t size;
    memcpy(&size, at, sizeof size);
    at += sizeof size;
    if (type == SQLITE_TEXT) {
      sqlite3_bind_text(insert, column, at, (int)size, SQLITE_STATIC);
    } else {
      sqlite3_bind_blob(insert, column, at, (int)size, SQLITE_STATIC);
    }
    at += size;
  }
  return at;
}

int main(int count, char** arguments) {
  if (count != 4) return 2;
  size_t size;
  char* migration = read_whole(arguments[2], &size);
  char* rows = read_whole(arguments[3], &size);
  sqlite3* store = NULL;
  if (sqlite3_open(arguments[1], &store) != SQLITE_OK) return 1;
  run(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"
             "PRAGMA cache_size = -65536; PRAGMA threads = 2");
  run(store, migration);

  const double started = now();
  static char indexes[most_indexes][most_sql];
  run(store, "BEGIN IMMEDIATE");
  sqlite3_exec(store,
               "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'claims'"
               " AND sql IS NOT NULL",
               keep_index, indexes, NULL);
  for (int i = 0; i < most_indexes && indexes[i][0] != '\0'; ++i) run(store, indexes[i]);

  int32_t columns;
  memcpy(&columns, rows, sizeof columns);
  char sql[256] = "INSERT INTO claims VALUES (?";
  for (int column = 1; column < columns; ++column) strcat(sql, ",?");
  strcat(sql, ")");
  sqlite3_stmt* insert = NULL;
  if (sqlite3_prepare_v2(store, sql, -1, &insert, NULL) != SQLITE_OK) return 1;
  for (const char* at = rows + sizeof columns; at < rows + size;) {
    for (int column = 1; column <= columns; ++column) at = bind(insert, column, at);
    if (sqlite3_step(insert) != SQLITE_DONE) return 1;
    sqlite3_reset(insert);
  }
  sqlite3_finalize(insert);
  const double inserted = now();
  run(store, "PRAGMA cache_size = -8192");
  for (int i = 0; i < most_indexes && indexes[i][0] != '\0'; ++i) {
    run(store, indexes[i] + strlen(indexes[i]) + 1);
  }
  run(store, "COMMIT");
  run(store, "PRAGMA wal_checkpoint(TRUNCATE)");
  printf("%.6f %.6f\n", now() - started, inserted - started);
  sqlite3_close(store);
  return 0;
}
