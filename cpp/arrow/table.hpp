// Records of one kind with the requested columns, which streams read.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/builder.hpp"
#include "db/database.hpp"
#include "json/writer.hpp"
#include "store/listing.hpp"

namespace comptroller::arrow {

class Layout;

// The rows that a stream reads. Several threads call its functions at once.
struct RowSource {
  std::shared_ptr<db::Database> database;  // every open stream keeps it open
  // Makes the listing on a connection of the stream, which replaces its select list. A listing of
  // reward addresses must have the time of their balances.
  std::function<store::Listing(db::Connection&)> listing;
  // Throws if the service is closed, or in a forked child.
  std::function<void()> check;
};

struct Limits {
  std::int64_t keys_per_chunk =
      65'536;  // read by one thread at a time; a batch has at most as many rows
  std::size_t bytes_per_batch = std::size_t{256} << 20U;  // approximately
  std::size_t max_threads = 4;
  // A stream that is idle for this time releases its snapshot, because a snapshot prevents the
  // truncation of the log.
  std::chrono::milliseconds max_idle_time = std::chrono::minutes(10);
};

// Records of one kind with the requested columns. It can be read any number of times, by many
// threads.
struct Table {
  std::shared_ptr<const Layout> layout;
  RowSource source;
  Limits limits;
  Representation representation = Representation::usual;
  Codes codes{};  // of the columns that have int32 codes instead of texts

  // Returns a table of the same rows with texts as views, which some readers import without a copy.
  Table with_views() const { return {layout, source, limits, Representation::views}; }
  // Returns the same rows in the compact representation, with codes for the columns of repeated
  // texts among `names`. All streams of the result share the codes, which have the texts that were
  // read so far, and from the beginning those of some rows at both ends of the table. Throws the
  // errors of reading these.
  Table compact(const std::vector<std::string>& names) const;
  void export_schema(ArrowSchema* out) const;
  // Opens an independent stream, which may outlive the table. It reads one snapshot, taken at its
  // first get_next. Any thread may use it, one at a time. Throws the errors of RowSource::check.
  // Failures of the stream are EIO, ENOMEM or EINVAL, with a message.
  void open(ArrowArrayStream* out) const;
};

}  // namespace comptroller::arrow
