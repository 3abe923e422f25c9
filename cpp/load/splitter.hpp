// The formats of a load: each splits the bytes of a file. See documents.hpp for what counts as a
// document and what is refused.
#pragma once

#include "load/bytes.hpp"
#include "load/documents.hpp"
#include "load/value.hpp"

namespace comptroller::load {

class Splitter {
 public:
  virtual ~Splitter() = default;

  // Takes the batch on: to the end of a document, or a fault, or of what is between them. False
  // when nothing follows.
  virtual bool advance(Bytes& bytes, Batch& batch) = 0;
};

// NDJSON.
class LineSplitter : public Splitter {
 public:
  explicit LineSplitter(std::size_t largest) : largest_(largest) {}
  bool advance(Bytes& bytes, Batch& batch) override;

 private:
  std::size_t largest_;
  std::uint64_t line_ = 1;
};

// An array, or saved answers.
class ItemSplitter : public Splitter {
 public:
  enum class Format : std::uint8_t { array, answers };

  // The next byte must be the opening bracket, which is on this line.
  ItemSplitter(Format format, std::uint64_t line, std::size_t largest)
      : format_(format), largest_(largest), line_(line) {}
  bool advance(Bytes& bytes, Batch& batch) override;

 private:
  enum class Expected : std::uint8_t {
    document,  // the array or an answer, or the end of the file
    item_or_end,
    item,
    comma_or_end_of_items,
    name_or_end,
    name,
    colon,
    member,
    comma_or_end_of_answer,
  };
  enum class Role : std::uint8_t { item, name, member };

  void accept(Bytes& bytes, Batch& batch);
  // What is expected behind a comma, colon or closing bracket; nothing where it may not stand.
  std::optional<Expected> after_mark(char character) const;
  void begin_document(Bytes& bytes, Batch& batch);
  void take_member(Bytes& bytes, Batch& batch);
  void take_value(Role role, Bytes& bytes, Batch& batch);
  // Refuses a value that began on the line `begin` and is not whole.
  void end_inside(Role role, Ending ending, std::uint64_t begin, const Bytes& bytes, Batch& batch);
  void refuse_end(Batch& batch) const;
  void refuse_unexpected(char character, Batch& batch);
  std::string place() const;

  Format format_;
  std::size_t largest_;
  std::uint64_t line_;
  std::uint64_t items_ = 0;
  Expected expected_ = Expected::document;
  bool is_begun_ = false;
  bool is_ended_ = false;  // by a fault or the end of the file

  std::uint64_t answer_line_ = 0;
  bool is_items_ = false;  // whether the present member is
  bool has_items_ = false;
};

}  // namespace comptroller::load
