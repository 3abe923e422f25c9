#include "arrow/stream.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

#include "arrow/layout.hpp"
#include "arrow/table_reader.hpp"
#include "model/error.hpp"

namespace comptroller::arrow {

namespace {

// Small enough that a batch is still in the processor's cache when the engine copies it.
constexpr std::int64_t keys_per_compact_chunk = 16'384;
// At each end of a table.
constexpr std::int64_t keys_with_first_codes = 2'048;
constexpr std::int64_t max_rows_in_memory = 64;  // of these keys

// The private_data of a stream.
struct OpenStream {
  TableReader reader;
  std::string message;  // of the last failure
};

int code_of(const std::exception& failure) {
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) return ENOMEM;
  const auto* error = dynamic_cast<const Error*>(&failure);
  return error != nullptr && error->code() == Code::invalid_request ? EINVAL : EIO;
}

// Returns the message of an exception. An Error's code precedes its detail, because readers get
// only the text.
std::string message_of(const std::exception& failure) {
  const auto* error = dynamic_cast<const Error*>(&failure);
  if (error == nullptr) return failure.what();
  return std::string(problem(error->code()).code) + ": " + error->detail();
}

// Without memory, the message is empty.
void set_message(std::string& message, const std::exception& failure) {
  message.clear();
  try {
    message = message_of(failure);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the code says enough
  }
}

// Runs `action` with the open stream; returns 0 or an errno value. No exception may leave it,
// because the caller may be written in C.
template <class Action>
int attempt(ArrowArrayStream* stream, Action action) {
  auto& open = *static_cast<OpenStream*>(stream->private_data);
  try {
    action(open.reader);
    return 0;
  } catch (const std::exception& failure) {
    set_message(open.message, failure);
    return code_of(failure);
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return attempt(stream, [&](TableReader& reader) { reader.table().export_schema(out); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  out->release = nullptr;
  return attempt(stream, [&](TableReader& reader) { reader.next().give(out); });
}

const char* get_last_error(ArrowArrayStream* stream) {
  const auto& message = static_cast<OpenStream*>(stream->private_data)->message;
  return message.empty() ? nullptr : message.c_str();
}

void release(ArrowArrayStream* stream) {
  auto* open = static_cast<OpenStream*>(stream->private_data);
  // A forked child leaks the stream, because its threads and connections belong to the parent.
  if (open->reader.is_of_this_process()) delete open;
  stream->release = nullptr;
}

// Gives codes to the texts of the first and the last rows, which are usually all texts.
void add_first_codes(const Table& table) {
  table.source.check();
  const db::Lease snapshot = std::move(table.source.database->readers_of_one_snapshot(1).front());
  begin_codes(table.codes, *snapshot);
  store::Listing listing = table.source.listing(*snapshot);
  table.layout->select(listing);
  Builder rows = table.layout->make_batch(table.representation, table.codes);
  for (const auto keys :
       {listing.first_keys(keys_with_first_codes), listing.last_keys(keys_with_first_codes)}) {
    if (!keys) return;
    db::Query query = listing.scan(*keys);
    // SQLite begins a statement again that is stepped after its last row.
    const auto has_more = [&] {
      return table.layout->append(rows, query, *snapshot, max_rows_in_memory) == max_rows_in_memory;
    };
    while (has_more()) rows.take();
  }
}

}  // namespace

void Table::export_schema(ArrowSchema* out) const {
  layout->make_batch(representation, codes).describe().give(out);
}

Table Table::compact(const std::vector<std::string>& names) const {
  Limits compact_limits = limits;
  compact_limits.keys_per_chunk = std::min(limits.keys_per_chunk, keys_per_compact_chunk);
  const Table compact{layout, source, compact_limits, Representation::compact,
                      layout->make_codes(names)};
  if (!compact.codes.empty()) add_first_codes(compact);
  return compact;
}

void Table::open(ArrowArrayStream* out) const {
  source.check();
  *out = {get_schema, get_next, get_last_error, release, new OpenStream{TableReader(*this), {}}};
}

Table make_table(std::string_view kind, const std::optional<std::vector<std::string>>& columns,
                 Audience audience, RowSource source, Limits limits) {
  return {std::make_shared<const Layout>(kind, columns, audience), std::move(source), limits};
}

}  // namespace comptroller::arrow
