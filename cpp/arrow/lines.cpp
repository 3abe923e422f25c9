#include "arrow/lines.hpp"

#include <algorithm>
#include <utility>

#include "arrow/line_values.hpp"
#include "model/error.hpp"
#include "store/storage.hpp"
#include "store/tables.hpp"

namespace comptroller::arrow {

namespace {

enum class Use : std::uint8_t { counted, ignored, member, amount };

template <Record Line>
Use use_of(std::string_view name) {
  Use use = Use::counted;
  for_each_field<Line>([&]<class F>() {
    using T = bare<typename F::Type>;
    if (F::name != name) return;
    if constexpr (std::same_as<T, Ignored>) {
      use = Use::ignored;
    } else {
      use = store::storage_class<T>() == StorageClass::amount ? Use::amount : Use::member;
    }
  });
  return use;
}

struct Column {
  std::int64_t position;  // among the children of the stream
  std::string opening;    // the text before the value
  bool is_counted;
  LineValues values;
};

std::vector<Column> read_columns(std::string_view kind, const ArrowSchema& schema) {
  if (std::string_view(schema.format) != "+s") {
    throw Error::invalid("source", "the stream has no columns; give a table or a data frame");
  }
  std::vector<Column> columns;
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema& child = *schema.children[i];
    const std::string name = child.name == nullptr ? "" : child.name;
    if (std::ranges::find(names, name) != names.end()) {
      throw Error::invalid(name, "appears more than once among the columns");
    }
    names.push_back(name);
    Use use = Use::counted;
    store::visit_table(kind, [&]<Record R>() {
      use = use_of<std::conditional_t<std::same_as<R, StoredIdentity>, IdentityLine, R>>(name);
    });
    if (use == Use::ignored) continue;
    std::string opening;
    json::JsonWriter(opening).write(std::string_view(name));
    opening += ':';
    columns.push_back(
        {i, std::move(opening), use == Use::counted, LineValues(child, name, use == Use::amount)});
  }
  return columns;
}

void write_line(json::JsonWriter& out, const std::vector<Column>& columns, const ArrowArray& batch,
                std::int64_t row) {
  std::string_view before = "{";
  for (const Column& column : columns) {
    const ArrowArray& cells = *batch.children[column.position];
    if (!column.values.is_set(cells, row)) continue;
    out.put(std::exchange(before, ","));
    out.put(column.opening);
    column.is_counted ? out.put("0") : column.values.write(out, cells, row);
  }
  out.put(before == "{" ? "{}\n" : "}\n");
}

}  // namespace

TextReader::Formatter make_line_formatter(std::string_view kind, const ArrowSchema& schema) {
  return [columns = read_columns(kind, schema)](std::string& text, const ArrowArray& batch,
                                                std::int64_t begin, std::int64_t end) {
    auto out = json::JsonWriter::replacing(text);
    for (std::int64_t row = begin; row < end; ++row) {
      write_line(out, columns, batch, batch.offset + row);
    }
  };
}

}  // namespace comptroller::arrow
