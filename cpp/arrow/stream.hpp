// Records of the store as Arrow C streams with the requested columns.
//
// Timestamps are timestamp[us, UTC], amounts decimal128(38, 18), closed sets dictionary<int8,
// utf8>, lists and nested records lists and structs, metadata map<utf8, utf8>, all else utf8. A
// column is nullable where its field may be unset. Rows come in order of arrival.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/abi.hpp"
#include "db/database.hpp"
#include "json/writer.hpp"
#include "store/listing.hpp"

namespace comptroller::arrow {

class Layout;

// The rows that a stream reads. Its functions are called from several threads at once.
struct RowSource {
  std::shared_ptr<db::Database> database;  // kept alive by every open stream
  // Makes the listing on a connection of the stream; its select list is replaced. A listing of
  // reward addresses must have the time of their balances.
  std::function<store::Listing(db::Connection&)> listing;
  // Throws if the service is closed or this is a forked child.
  std::function<void()> check;
};

struct Limits {
  std::int64_t keys_a_chunk = 65'536;  // read by one thread at a time; at most as many rows a batch
  std::size_t bytes_a_batch = std::size_t{256} << 20U;  // approximately
  std::size_t most_threads = 4;
  // A stream that is idle for so long releases its snapshot, which keeps the log from being
  // truncated.
  std::chrono::milliseconds longest_idle = std::chrono::minutes(10);
};

// Records of one kind with the requested columns.
struct Table {
  std::shared_ptr<const Layout> layout;
  RowSource source;
  Limits limits;

  // The same rows with texts as views (utf8_view), which some readers import without a copy.
  Table with_views() const;
  void export_schema(ArrowSchema* out) const;
  // Begins an independent stream, which may outlive the table. It reads one snapshot, taken at its
  // first get_next, and may be used from any thread, one at a time. Throws what RowSource::check
  // throws; failures of the stream are EIO, ENOMEM or EINVAL and a message.
  void open(ArrowArrayStream* out) const;
};

// The records of a kind (claims, orchestrations, reward_addresses, payout_groups, controls,
// identities, balances) with these columns in this order, or all columns. The client audience does
// not see the customer. Throws invalid_request for an unknown kind and for unknown, repeated or no
// columns.
Table make_table(std::string_view kind, const std::optional<std::vector<std::string>>& columns,
                 Audience audience, RowSource source, Limits limits = {});

}  // namespace comptroller::arrow
