// dump STORE FILE: the claims of a store as a flat file of column values, for `load`.
// Each value: its SQLite type in a byte; then an int64, or a uint32 length and that many bytes.
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments) {
  if (count != 3) return 2;
  sqlite3* store = NULL;
  sqlite3_stmt* rows = NULL;
  if (sqlite3_open_v2(arguments[1], &store, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
      sqlite3_prepare_v2(store, "SELECT * FROM claims ORDER BY key", -1, &rows, NULL) !=
          SQLITE_OK) {
    fprintf(stderr, "%s\n", sqlite3_errmsg(store));
    return 1;
  }
  FILE* file = fopen(arguments[2], "wb");
  if (file == NULL) return 1;
  const int32_t columns = sqlite3_column_count(rows);
  fwrite(&columns, sizeof columns, 1, file);
  while (sqlite3_step(rows) == SQLITE_ROW) {
    for (int column = 0; column < columns; ++column) {
      const int type = sqlite3_column_type(rows, column);
      fputc(type, file);
      if (type == SQLITE_INTEGER) {
        const int64_t value = sqlite3_column_int64(rows, column);
        fwrite(&value, sizeof value, 1, file);
      } else if (type != SQLITE_NULL) {
        const void* bytes = sqlite3_column_blob(rows, column);
        const uint32_t size = (uint32_t)sqlite3_column_bytes(rows, column);
        fwrite(&size, sizeof size, 1, file);
        fwrite(bytes, 1, size, file);
      }
    }
  }
  sqlite3_finalize(rows);
  sqlite3_close(store);
  return fclose(file) == 0 ? 0 : 1;
}
