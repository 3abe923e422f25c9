// libpq, PostgreSQL's client library. It is loaded when the first address is opened, so that nobody
// else needs it. https://www.postgresql.org/docs/current/libpq.html describes the functions.
#pragma once

#include <cstddef>
#include <string>

namespace comptroller::db::postgresql {

struct PGconn;
struct PGresult;
struct PGcancel;

// PQconninfoOption. A list of them ends with one without a keyword.
struct ConnectionOption {
  const char* keyword;
  const char* variable;
  const char* compiled;
  const char* value;
  const char* label;
  const char* display;
  int display_size;
};

// The values of libpq's enumerations that are used here.
inline constexpr int connection_ok = 0;
inline constexpr int connection_bad = 1;
inline constexpr int polling_failed = 0;
inline constexpr int polling_reading = 1;
inline constexpr int polling_writing = 2;
inline constexpr int polling_ok = 3;
inline constexpr int result_command_ok = 1;
inline constexpr int result_tuples_ok = 2;
inline constexpr int result_copy_out = 3;
inline constexpr int result_copy_in = 4;
inline constexpr int result_fatal_error = 7;
inline constexpr int result_pipeline_sync = 10;
inline constexpr int result_pipeline_aborted = 11;
inline constexpr int transaction_idle = 0;
inline constexpr int transaction_failed = 3;
inline constexpr int field_sqlstate = 'C';
inline constexpr int field_message = 'M';

// ROW(member, name without PQ, result, parameters)
#define COMPTROLLER_LIBPQ(ROW)                                                                   \
  ROW(library_version, libVersion, int, ())                                                      \
  ROW(parse_address, conninfoParse, ConnectionOption*, (const char*, char**))                    \
  ROW(options_of, conninfo, ConnectionOption*, (PGconn*))                                        \
  ROW(free_options, conninfoFree, void, (ConnectionOption*))                                     \
  ROW(free_memory, freemem, void, (void*))                                                       \
  ROW(connect_start, connectStartParams, PGconn*, (const char* const*, const char* const*, int)) \
  ROW(connect_poll, connectPoll, int, (PGconn*))                                                 \
  ROW(finish, finish, void, (PGconn*))                                                           \
  ROW(host, host, char*, (const PGconn*))                                                        \
  ROW(host_address, hostaddr, char*, (const PGconn*))                                            \
  ROW(port, port, char*, (const PGconn*))                                                        \
  ROW(status, status, int, (const PGconn*))                                                      \
  ROW(transaction_status, transactionStatus, int, (const PGconn*))                               \
  ROW(server_version, serverVersion, int, (const PGconn*))                                       \
  ROW(process_of_server, backendPID, int, (const PGconn*))                                       \
  ROW(parameter_status, parameterStatus, const char*, (const PGconn*, const char*))              \
  ROW(error_message, errorMessage, char*, (const PGconn*))                                       \
  ROW(socket, socket, int, (const PGconn*))                                                      \
  ROW(set_nonblocking, setnonblocking, int, (PGconn*, int))                                      \
  ROW(set_notice_processor, setNoticeProcessor, void*,                                           \
      (PGconn*, void (*)(void*, const char*), void*))                                            \
  ROW(flush, flush, int, (PGconn*))                                                              \
  ROW(consume_input, consumeInput, int, (PGconn*))                                               \
  ROW(is_busy, isBusy, int, (PGconn*))                                                           \
  ROW(send_script, sendQuery, int, (PGconn*, const char*))                                       \
  ROW(send_statement, sendQueryParams, int,                                                      \
      (PGconn*, const char*, int, const unsigned*, const char* const*, const int*, const int*,   \
       int))                                                                                     \
  ROW(send_prepare, sendPrepare, int, (PGconn*, const char*, const char*, int, const unsigned*)) \
  ROW(send_describe, sendDescribePrepared, int, (PGconn*, const char*))                          \
  ROW(send_prepared, sendQueryPrepared, int,                                                     \
      (PGconn*, const char*, int, const char* const*, const int*, const int*, int))              \
  ROW(enter_pipeline, enterPipelineMode, int, (PGconn*))                                         \
  ROW(exit_pipeline, exitPipelineMode, int, (PGconn*))                                           \
  ROW(pipeline_sync, pipelineSync, int, (PGconn*))                                               \
  ROW(get_result, getResult, PGresult*, (PGconn*))                                               \
  ROW(put_copy_data, putCopyData, int, (PGconn*, const char*, int))                              \
  ROW(put_copy_end, putCopyEnd, int, (PGconn*, const char*))                                     \
  ROW(get_copy_data, getCopyData, int, (PGconn*, char**, int))                                   \
  ROW(clear, clear, void, (PGresult*))                                                           \
  ROW(result_status, resultStatus, int, (const PGresult*))                                       \
  ROW(error_field, resultErrorField, char*, (const PGresult*, int))                              \
  ROW(result_error, resultErrorMessage, char*, (const PGresult*))                                \
  ROW(result_size, resultMemorySize, std::size_t, (const PGresult*))                             \
  ROW(count_rows, ntuples, int, (const PGresult*))                                               \
  ROW(count_columns, nfields, int, (const PGresult*))                                            \
  ROW(column_name, fname, char*, (const PGresult*, int))                                         \
  ROW(column_type, ftype, unsigned, (const PGresult*, int))                                      \
  ROW(value, getvalue, char*, (const PGresult*, int, int))                                       \
  ROW(length, getlength, int, (const PGresult*, int, int))                                       \
  ROW(is_null, getisnull, int, (const PGresult*, int, int))                                      \
  ROW(count_parameters, nparams, int, (const PGresult*))                                         \
  ROW(parameter_type, paramtype, unsigned, (const PGresult*, int))                               \
  ROW(command_rows, cmdTuples, char*, (PGresult*))                                               \
  ROW(get_cancel, getCancel, PGcancel*, (PGconn*))                                               \
  ROW(free_cancel, freeCancel, void, (PGcancel*))                                                \
  ROW(cancel, cancel, int, (PGcancel*, char*, int))

struct Libpq {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration
#define COMPTROLLER_LIBPQ_MEMBER(member, name, result, parameters) result(*member) parameters;
  COMPTROLLER_LIBPQ(COMPTROLLER_LIBPQ_MEMBER)
#undef COMPTROLLER_LIBPQ_MEMBER
};

// Names a library that a Python package carries. It is used if COMPTROLLER_LIBPQ names none.
// Without effect after the first call of libpq().
void offer_libpq(std::string path);

// Returns the functions; loads the library at the first call: the one that COMPTROLLER_LIBPQ names,
// or that was offered, or the system's. Throws unavailable if there is none, or it is older
// than 14.
const Libpq& libpq();

}  // namespace comptroller::db::postgresql
