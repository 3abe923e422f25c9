// What a file is split into, as text.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "load/documents.hpp"
#include "load/pieces.hpp"

namespace comptroller::load {

// A document as one line: `line[.item] text`, `line blank`, or `line[.item] !code: message`.
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
  Batch batch;
  while (documents.next(batch)) {
    CHECK_FALSE(batch.documents.empty());
    for (const Document& document : batch.documents) {
      outcome.push_back(shown(document));
      if (document.text.data() == nullptr) continue;
      const char* const end = document.text.data() + document.text.size();
      CHECK(end + json::padding <= batch.bytes.data() + batch.bytes.size());
    }
  }
  CHECK_FALSE(documents.next(batch));
  return outcome;
}

inline std::vector<std::string> split(std::string_view text,
                                      std::size_t piece = std::string_view::npos,
                                      const Documents::Limits& limits = {}) {
  TextInput input(text, piece);
  return split(input, limits);
}

}  // namespace comptroller::load
