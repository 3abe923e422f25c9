#include "json/excerpts.hpp"

#include "json/document.hpp"
#include "model/error.hpp"
#include "model/wording.hpp"

namespace comptroller::json {

Excerpts::Excerpts() = default;
Excerpts::~Excerpts() = default;

std::optional<std::string> Excerpts::value_of(std::string_view document, std::string_view path) {
  const std::string_view name = path.substr(0, path.find_first_of(".["));
  if (document.empty() || name.empty()) return std::nullopt;
  if (!parser_) parser_ = std::make_unique<Parser>();
  try {
    for (const auto& [key, value] : parser_->parse(document, false)) {
      if (key != name) continue;
      std::string_view text;
      if (value.get_string().get(text) == simdjson::SUCCESS) return shorten(text);
      return shorten(parser_->text_of(value));
    }
  } catch (const Error& error) {
    if (problem(error.code()).status >= 500) throw;
  }
  return std::nullopt;
}

}  // namespace comptroller::json
