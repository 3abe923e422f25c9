// Single members of JSON documents, for messages about documents that are rejected.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace comptroller::json {

class Parser;

// Reuses its buffers. For one thread at a time.
class Excerpts {
 public:
  Excerpts();
  ~Excerpts();
  Excerpts(const Excerpts&) = delete;
  Excerpts& operator=(const Excerpts&) = delete;

  // Returns the value of a member of an object, the text of a string and JSON of another value, or
  // nullopt if the text is not an object or does not have the member. Of a path such as
  // `addresses[1]` or `metadata.key` the first name counts. Long values are shortened.
  std::optional<std::string> value_of(std::string_view document, std::string_view path);

 private:
  std::unique_ptr<Parser> parser_;
};

}  // namespace comptroller::json
