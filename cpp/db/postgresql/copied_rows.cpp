#include "db/postgresql/copied_rows.hpp"

#include "db/postgresql/values.hpp"
#include "model/error.hpp"

namespace comptroller::db::postgresql {

namespace {

constexpr std::int64_t size_of_key = 8;

}  // namespace

void CopiedRows::bind(int index, const Value& value) {
  const std::size_t column = values_.size() % types_.size();
  if (static_cast<std::size_t>(index) != column + 1) {
    throw Error(Code::internal, "the columns of a row are not bound in order");
  }
  values_.push_back(bytes_.size());
  encode_with_length(value, types_[column], bytes_);
}

std::string_view CopiedRows::value(std::size_t row, std::size_t column) const {
  const std::size_t place = row * types_.size() + column;
  const std::size_t end = place + 1 < values_.size() ? values_[place + 1] : bytes_.size();
  return std::string_view(bytes_).substr(values_[place], end - values_[place]);
}

void CopiedRows::append_row(std::size_t row, std::string& out) const {
  const std::size_t begin = values_[row * types_.size()];
  const std::string_view last = value(row, types_.size() - 1);
  out.append(bytes_, begin, static_cast<std::size_t>(last.end() - bytes_.data()) - begin);
}

std::string CopiedRows::data() const {
  std::string out(copied_header);
  for (std::size_t row = 0; row < size(); ++row) {
    append_int2(static_cast<std::int64_t>(types_.size()), out);
    append_row(row, out);
  }
  append_int2(end_of_copied, out);
  return out;
}

std::string CopiedRows::data(std::span<const std::size_t> rows,
                             std::span<const std::int64_t> keys) const {
  std::string out(copied_header);
  for (std::size_t index = 0; index < rows.size(); ++index) {
    append_int2(static_cast<std::int64_t>(types_.size()) + 1, out);
    append_int4(size_of_key, out);
    append_int8(keys[index], out);
    append_row(rows[index], out);
  }
  append_int2(end_of_copied, out);
  return out;
}

}  // namespace comptroller::db::postgresql
