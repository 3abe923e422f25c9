// Records of the store as Arrow C streams, with the columns that are asked for.
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
#include <utility>
#include <vector>

#include "arrow/abi.hpp"
#include "db/database.hpp"
#include "json/writer.hpp"
#include "store/listing.hpp"

namespace comptroller::arrow {

class Layout;

// What a stream reads. Its functions are called from several threads at once.
struct Source {
  std::shared_ptr<db::Database> database;  // kept alive by every open stream
  // Which rows, on a connection of the stream's; its select list is replaced. A listing of
  // reward addresses must have a time for their balances.
  std::function<store::Listing(db::Connection&)> listing;
  // Throws when nothing may be read any more: the service is closed, this is a forked child.
  std::function<void()> check;
};

struct Limits {
  std::int64_t keys_a_chunk = 65'536;  // read at a time by one thread, and most rows of a batch
  std::size_t bytes_a_batch = std::size_t{256} << 20U;  // about; a longer batch is cut
  std::size_t most_threads = 4;
  // A stream that nobody pulls for so long gives up its snapshot: the log could not end before it.
  std::chrono::milliseconds longest_idle = std::chrono::minutes(10);
};

class Table {
 public:
  Table(std::shared_ptr<const Layout> layout, Source source, Limits limits)
      : layout_(std::move(layout)), source_(std::move(source)), limits_(limits) {}

  // The same rows with texts as views (utf8_view): readers that keep them so take no copy.
  Table with_views() const;
  void export_schema(ArrowSchema* out) const;
  // Begins a stream of its own, any number of times; it may outlive the table. It shows one moment,
  // that of its first get_next, and may be used from any thread, one at a time. Throws what
  // Source::check throws; the stream's own failures are EIO, ENOMEM or EINVAL and a message.
  void open(ArrowArrayStream* out) const;

 private:
  std::shared_ptr<const Layout> layout_;
  Source source_;
  Limits limits_;
};

// The records of a kind (claims, orchestrations, reward_addresses, payout_groups, controls,
// identities, balances) with these columns, in this order; all of them without. A client is not
// shown whose records they are. Throws invalid_request for an unknown kind and for unknown,
// repeated or no columns.
std::unique_ptr<Table> make_table(std::string_view kind,
                                  const std::optional<std::vector<std::string>>& columns,
                                  json::Audience audience, Source source, Limits limits = {});

}  // namespace comptroller::arrow
