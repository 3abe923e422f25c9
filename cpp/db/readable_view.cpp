#include "db/readable_view.hpp"

namespace comptroller::db {

namespace {

std::string code_expression(std::span<const std::string_view> texts) {
  std::string expression = "CASE @";
  for (std::size_t code = 0; code < texts.size(); ++code) {
    expression += " WHEN " + std::to_string(code) + " THEN '";
    expression.append(texts[code]).append("'");
  }
  return expression + " END";
}

}  // namespace

std::string ReadableView::name() const {
  return "readable_" + std::string(table);
}

std::string ReadableView::select(
    std::span<const std::pair<StorageClass, const char*>> expressions) const {
  std::string list;
  for (const ReadableColumn& column : columns) {
    std::string pattern =
        column.storage == StorageClass::code ? code_expression(column.texts) : "@";
    for (const auto& [storage, expression] : expressions) {
      if (storage == column.storage) pattern = expression;
    }
    if (!list.empty()) list += ", ";
    for (const char character : pattern) {
      list += character == '@' ? "t." + std::string(column.name) : std::string(1, character);
    }
    list.append(" AS ").append(column.name);
  }
  return "SELECT " + list + " FROM " + std::string(table) + " AS t";
}

}  // namespace comptroller::db
