// A call of an operation, from its parameters to its answer, and what its handler works with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "model/error.hpp"
#include "model/principal.hpp"
#include "model/timestamp.hpp"
#include "service/background_work.hpp"
#include "service/cursor.hpp"
#include "service/parameters.hpp"
#include "store/changes.hpp"
#include "store/page_bytes.hpp"

namespace comptroller::service {

struct Operation;

// The clock and the source of ids, which are passed to the rules.
struct Environment {
  std::function<Timestamp()> now;
  std::function<std::string()> make_id;  // returns a new UUID of version 7
  // Returns the 32 bytes from which the secrets of webhooks follow; makes them if they are missing
  // and may be made, else returns nullopt.
  std::function<std::optional<std::string>(bool may_be_made)> webhook_key = {};
};

struct Call {
  const Operation* operation = nullptr;
  std::vector<Parameter> parameters = {};
  std::string body = {};  // a JSON object, or empty
  std::optional<std::string> idempotency_key = {};
  std::optional<std::string> request_id = {};  // of an HTTP request
};

struct Answer {
  std::string body;  // a JSON object
  bool is_replay = false;
};

// The context of a handler. A read sees one snapshot; a write runs in a transaction, and writes
// records with `changes`.
struct Context {
  db::Connection& connection;
  store::Changes* written;
  const Principal& principal;
  const Environment& environment;
  CursorKeys cursor_keys;
  BackgroundWork& background;
  std::string_view operation;  // its name
  Timestamp now;
  store::PageBytes page_bytes = {};

  // The changes of a write.
  store::Changes& changes() const {
    if (written == nullptr) throw Error(Code::internal, std::string(operation) + " is a read");
    return *written;
  }
};

// A call whose request has been read.
struct PreparedCall {
  std::string_view operation;     // its name
  std::string canonical_request;  // see canonical_text; only if the call has an idempotency key
  // Whether a read usually takes less than a millisecond, and at most a few, in a store of any
  // size.
  bool is_short = true;
  // Runs the operation and returns its answer.
  std::function<std::string(Context&)> run;
};

}  // namespace comptroller::service
