// The bytes of a load, split into documents of one record each. Three formats are told apart by how
// the bytes begin (white space and a UTF-8 byte order mark before that do not count):
//
//   [              one JSON array; each element is a document
//   {"items" ...   saved answers of a list, one after another; each element of their `items` is a
//                  document, other members are passed over. The first member may also be
//                  `next_page_cursor` or the deprecated `orchestrations`
//   anything else  NDJSON; each line is a document
//
// A document is not validated here: its reader refuses what is no object. Faults around documents
// are refusals that stand in their place: content_too_large for a document beyond the limit (what
// follows it is read), malformed_json where the array or answer itself is broken (nothing after it
// is), invalid_request for an answer without an array `items` (what follows it is read).
//
// Memory is bounded, whatever the size of file, line or element.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json/reader.hpp"
#include "load/bytes.hpp"
#include "model/error.hpp"

namespace comptroller::load {

struct Document {
  std::uint64_t line = 0;  // where it begins, from 1
  std::uint64_t item = 0;  // its number among all items of the file, from 1; 0 for NDJSON and for a
                           // fault that is in no item
  std::string_view text;   // of the batch; json::padding readable bytes follow it
  bool is_blank = false;   // an NDJSON line of spaces, tabs and carriage returns at most
  std::unique_ptr<const Error> refusal;  // instead of a text
};

// Some documents and their bytes. May be handed to another thread and filled again later.
struct Batch {
  std::vector<char> bytes;
  std::vector<Document> documents;

  void add(std::uint64_t line, std::uint64_t item, std::string_view text);
  void refuse(std::uint64_t line, std::uint64_t item, Code code, std::string message);
};

class Splitter;

// For one thread at a time, but for `bytes_read`.
class Documents {
 public:
  struct Limits {
    std::size_t document = json::largest_document;
    std::size_t window =
        json::largest_document + json::largest_document / 4;  // more than a document
  };

  // `input` must outlive this.
  explicit Documents(Input& input) : Documents(input, Limits{}) {}
  Documents(Input& input, const Limits& limits);
  ~Documents();
  Documents(const Documents&) = delete;
  Documents& operator=(const Documents&) = delete;

  // Fills the batch with the next documents, at least one of them and at most 1.25 MiB; false
  // at the end. Throws what the input throws.
  bool next(Batch& batch);

  // How much of the input has been taken so far; from any thread.
  std::uint64_t bytes_read() const { return bytes_.bytes_read(); }

 private:
  Limits limits_;
  Bytes bytes_;
  std::unique_ptr<Splitter> splitter_;  // of the format, once that is known
  bool is_finished_ = false;
};

}  // namespace comptroller::load
