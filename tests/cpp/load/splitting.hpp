// Shows the documents of a file as text.
#pragma once

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "load/documents.hpp"
#include "load/pieces.hpp"

namespace comptroller::load {

// Shows a document as one line: `line[.item] text`, `line blank`, or `line[.item] !code: message`.
inline std::string shown(const Document& document) {
  std::string text = std::to_string(document.line);
  if (document.item > 0) text += "." + std::to_string(document.item);
  text += " ";
  if (document.refusal) {
    CHECK(document.text.empty());
    text += "!" + std::string(problem(document.refusal->code()).code) + ": ";
    return text + document.refusal->detail();
  }
  if (document.is_blank) return text + "blank";
  return text.append(document.text);
}

inline std::vector<std::string> split(Input& input, const Documents::Limits& limits) {
  std::vector<std::string> outcome;
  Documents documents(input, limits);
  int padding = 0;
  for (auto batch = documents.next(); !batch.empty(); batch = documents.next()) {
    for (const Document& document : batch) {
      outcome.push_back(shown(document));
      const char* const end = document.text.data() + document.text.size();
      // Reads the padding, so that a sanitizer reports it if it is not readable.
      if (document.text.data() != nullptr) padding += std::accumulate(end, end + json::padding, 0);
    }
  }
  CHECK(padding != -1);
  CHECK(documents.next().empty());
  return outcome;
}

inline std::vector<std::string> split(std::string_view text,
                                      std::size_t piece = std::string_view::npos,
                                      const Documents::Limits& limits = {}) {
  TextInput input(text, piece);
  return split(input, limits);
}

}  // namespace comptroller::load
