// commit STORE MIGRATION CLIENTS SECONDS: the limit of durable creates. Each client is a thread
// that queues one reward address and waits until it is on disk; one more thread takes all that is
// queued, inserts it into the store's own schema and commits it together (WAL, synchronous FULL).
// A store that is there already gets more.
// Prints the creates per second, and the 50th and 99th percentile of their milliseconds.
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_clients = 1024, most_creates = 4 << 20, id_bytes = 16, address_bytes = 43 };

typedef struct Create {
  char address[address_bytes];
  unsigned char id[id_bytes];
  bool is_done;
  pthread_cond_t done;
} Create;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static Create* queue[most_clients];
static int queued;
static int clients_left;
static double ends;
static uint64_t first;  // of the addresses of this run
static double* times;
static int answered;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void require(sqlite3* store, int code, int expected) {
  if (code == expected) return;
  fprintf(stderr, "%s\n", sqlite3_errmsg(store));
  exit(1);
}

static void run(sqlite3* store, const char* sql) {
  require(store, sqlite3_exec(store, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void* ask(void* number) {
  Create create = {.done = PTHREAD_COND_INITIALIZER};
  uint64_t made = first;
  pthread_mutex_lock(&mutex);
  for (double begun = now(); begun < ends; begun = now()) {
    ++made;
    snprintf(create.address, sizeof create.address, "0x%020llx%020llx",
             (unsigned long long)(uintptr_t)number, (unsigned long long)made);
    sqlite3_randomness(id_bytes, create.id);
    create.is_done = false;
    queue[queued++] = &create;
    pthread_cond_signal(&arrived);
    while (!create.is_done) pthread_cond_wait(&create.done, &mutex);
    if (answered < most_creates) times[answered++] = now() - begun;
  }
  --clients_left;
  pthread_cond_signal(&arrived);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void insert(sqlite3* store, sqlite3_stmt* statement, const Create* create) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  const int64_t created_at = (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
  sqlite3_bind_blob(statement, 1, create->id, id_bytes, SQLITE_STATIC);
  sqlite3_bind_text(statement, 2, create->address, -1, SQLITE_STATIC);
  sqlite3_bind_int64(statement, 3, created_at);
  require(store, sqlite3_step(statement), SQLITE_DONE);
  sqlite3_reset(statement);
}

static void write_all(sqlite3* store, sqlite3_stmt* statement) {
  static Create* taken[most_clients];
  pthread_mutex_lock(&mutex);
  while (true) {
    while (queued == 0 && clients_left > 0) pthread_cond_wait(&arrived, &mutex);
    if (queued == 0) break;
    const int count = queued;
    memcpy(taken, queue, (size_t)count * sizeof *taken);
    queued = 0;
    pthread_mutex_unlock(&mutex);
    run(store, "BEGIN IMMEDIATE");
    for (int i = 0; i < count; ++i) insert(store, statement, taken[i]);
    run(store, "COMMIT");
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < count; ++i) {
      taken[i]->is_done = true;
      pthread_cond_signal(&taken[i]->done);
    }
  }
  pthread_mutex_unlock(&mutex);
}

static bool has_schema(sqlite3* store) {
  sqlite3_stmt* statement = NULL;
  require(store, sqlite3_prepare_v2(store, "PRAGMA schema_version", -1, &statement, NULL), SQLITE_OK);
  require(store, sqlite3_step(statement), SQLITE_ROW);
  const bool found = sqlite3_column_int(statement, 0) != 0;
  sqlite3_finalize(statement);
  return found;
}

static void make_schema(sqlite3* store, const char* path) {
  FILE* file = fopen(path, "rb");
  static char sql[1 << 20];
  if (file == NULL || fread(sql, 1, sizeof sql - 1, file) == 0) exit(1);
  fclose(file);
  run(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  if (!has_schema(store)) run(store, sql);
}

static int by_time(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const int clients = atoi(arguments[3]);
  const int seconds = atoi(arguments[4]);
  times = malloc(most_creates * sizeof *times);
  sqlite3* store = NULL;
  if (times == NULL || clients < 1 || clients > most_clients) return 2;
  if (sqlite3_open(arguments[1], &store) != SQLITE_OK) return 1;
  make_schema(store, arguments[2]);
  sqlite3_stmt* statement = NULL;
  require(store,
          sqlite3_prepare_v2(store,
                             "INSERT INTO reward_addresses (id, ledger, address, name,"
                             " payout_group_id, status, created_at, customer_id)"
                             " VALUES (?1, 0, ?2, 'Northgate', 1, 0, ?3, 1)",
                             -1, &statement, NULL),
          SQLITE_OK);
  const double begun = now();
  first = (uint64_t)time(NULL) << 32;
  ends = begun + seconds;
  clients_left = clients;
  pthread_t threads[most_clients];
  for (int i = 0; i < clients; ++i) {
    if (pthread_create(&threads[i], NULL, ask, (void*)(uintptr_t)(i + 1)) != 0) return 1;
  }
  write_all(store, statement);
  for (int i = 0; i < clients; ++i) pthread_join(threads[i], NULL);
  const double spent = now() - begun;
  sqlite3_finalize(statement);
  sqlite3_close(store);
  qsort(times, (size_t)answered, sizeof *times, by_time);
  printf("%.3f %.6f %.6f\n", answered / spent, times[answered / 2] * 1e3,
         times[(int)(answered * 0.99)] * 1e3);
  return 0;
}
