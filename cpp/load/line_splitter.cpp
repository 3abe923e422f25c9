#include "load/splitter.hpp"

namespace comptroller::load {

bool LineSplitter::advance(Bytes& bytes, Batch& batch) {
  if (!bytes.more()) return false;
  bytes.keep(batch.bytes, largest_ + 1);  // one byte more may be a carriage return
  bool is_ended = false;
  while (!is_ended && bytes.more()) {
    const std::size_t end = bytes.rest().find('\n');
    is_ended = end != std::string_view::npos;
    bytes.pass(is_ended ? end : bytes.rest().size());
  }
  std::optional<std::string_view> line = bytes.kept();
  if (is_ended) bytes.pass(1);
  if (line && line->ends_with('\r')) line->remove_suffix(1);
  if (!line || line->size() > largest_) {
    batch.refuse(line_, 0, Code::content_too_large, "a line may hold at most 1 MiB");
  } else {
    batch.add(line_, 0, *line);
  }
  ++line_;
  return true;
}

}  // namespace comptroller::load
