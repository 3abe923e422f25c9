#include "arrow/lines.hpp"

#include <algorithm>
#include <vector>

#include "arrow/line_values.hpp"
#include "model/error.hpp"
#include "store/storage.hpp"
#include "store/tables.hpp"

namespace comptroller::arrow {

namespace {

template <Record Line>
Use use_of(std::string_view name) {
  Use use = Use::counted;
  for_each_field<Line>([&]<class F>() {
    using T = bare<typename F::Type>;
    if (F::name != name) return;
    if constexpr (std::same_as<T, DerivedInput>) {
      use = Use::omitted;
    } else {
      constexpr StorageClass storage = store::storage_class<T>();
      constexpr bool is_document =
          storage == StorageClass::document || storage == StorageClass::addresses;
      constexpr bool is_text = storage == StorageClass::text || storage == StorageClass::symbol ||
                               storage == StorageClass::identifier || storage == StorageClass::hash;
      use = storage == StorageClass::amount    ? Use::amount
            : storage == StorageClass::boolean ? Use::boolean
            : is_document                      ? Use::document
            : is_text                          ? Use::text
                                               : Use::value;
    }
  });
  return use;
}

LineValues read_columns(std::string_view kind, const ArrowSchema& schema) {
  if (std::string_view(schema.format) != "+s") {
    throw Error::invalid("source", "the stream has no columns; give a table or a data frame");
  }
  std::vector<std::string_view> names;
  return {
      schema, [&](std::string_view name) {
        if (std::ranges::find(names, name) != names.end()) {
          throw Error::invalid(name, "appears more than once among the columns");
        }
        names.push_back(name);
        Use use = Use::counted;
        store::visit_table(kind, [&]<Record R>() {
          use = use_of<std::conditional_t<std::same_as<R, StoredIdentity>, IdentityLine, R>>(name);
        });
        return use;
      }};
}

}  // namespace

TextReader::Formatter make_line_formatter(std::string_view kind, const ArrowSchema& schema) {
  return [columns = read_columns(kind, schema)](std::string& text, const ArrowArray& batch,
                                                const TextReader::RowRange& rows) {
    auto out = json::JsonWriter::replacing(text);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      try {
        columns.write_record(out, batch, batch.offset + row, "");  // a blank line if nothing is set
      } catch (const Error& error) {
        if (error.errors().empty()) throw;
        const FieldError& first = error.errors().front();
        throw Error::invalid(
            first.field, first.message + " (row " + std::to_string(rows.before + row + 1) + ")");
      }
      out.put("\n");
    }
  };
}

}  // namespace comptroller::arrow
