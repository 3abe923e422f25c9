// The formats of a load: each splits a window that moves over the file. See documents.hpp for what
// counts as a document and what is refused.
#pragma once

#include <optional>

#include "load/documents.hpp"
#include "load/value_scan.hpp"

namespace comptroller::load {

// The part of the file that is in memory.
struct Window {
  const char* bytes = nullptr;
  std::size_t size = 0;
  std::size_t begin = 0;  // the first byte still needed: where an unfinished document begins
  std::size_t at = 0;     // the first byte not looked at yet
  bool is_last = false;   // the file ends with it
};

// Bounds what a batch, and the records made of it, spend on documents of hardly any bytes.
inline constexpr std::size_t most_documents = std::size_t{1} << 13U;

class Splitter {
 public:
  virtual ~Splitter() = default;

  // Appends the documents that end in the window, until there are `most_documents`, and moves
  // `begin` and `at`. False when nothing follows.
  virtual bool split(Window& window, std::vector<Document>& documents) = 0;
};

// NDJSON.
class LineSplitter : public Splitter {
 public:
  explicit LineSplitter(std::size_t largest) : largest_(largest) {}
  bool split(Window& window, std::vector<Document>& documents) override;

 private:
  bool split_rest(Window& window, std::vector<Document>& documents);
  void add(std::string_view line, std::vector<Document>& documents) const;

  std::size_t largest_;
  std::uint64_t line_ = 1;
  bool is_passing_over_ = false;  // the rest of a line that was refused
};

// An array, or saved answers.
class ItemSplitter : public Splitter {
 public:
  enum class Format : std::uint8_t { array, answers };

  // The window must begin at the opening bracket, which is on this line.
  ItemSplitter(Format format, std::uint64_t line, std::size_t largest)
      : format_(format), largest_(largest), line_(line) {}
  bool split(Window& window, std::vector<Document>& documents) override;

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
  enum class Role : std::uint8_t { none, item, name, member };

  void accept(char character, Window& window, std::vector<Document>& documents);
  // What is expected behind a comma, colon or closing bracket; nothing where it may not stand.
  std::optional<Expected> after_mark(char character) const;
  void begin_document(char character, Window& window, std::vector<Document>& documents);
  void begin_member(char character, Window& window, std::vector<Document>& documents);
  void begin_value(Role role, char character, Window& window, std::vector<Document>& documents);
  void go_on(Window& window, std::vector<Document>& documents);
  void end_value(const Window& window, std::vector<Document>& documents);
  void end_file(std::vector<Document>& documents);
  void refuse(std::uint64_t line, std::uint64_t item, Code code, std::string message,
              std::vector<Document>& documents) const;
  void refuse_answer(std::vector<Document>& documents) const;
  void refuse_unexpected(char character, std::vector<Document>& documents);
  std::string place() const;

  Format format_;
  std::size_t largest_;
  std::uint64_t line_;
  std::uint64_t items_ = 0;
  Expected expected_ = Expected::document;
  bool is_begun_ = false;
  bool is_broken_ = false;

  Role role_ = Role::none;  // of the value that is being scanned
  ValueScan value_;
  bool is_kept_ = false;  // whether its bytes are needed
  std::uint64_t value_line_ = 0;

  std::uint64_t answer_line_ = 0;
  bool is_items_ = false;  // whether the present member is
  bool has_items_ = false;
};

}  // namespace comptroller::load
