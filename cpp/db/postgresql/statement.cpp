#include "db/postgresql/statement.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "db/postgresql/values.hpp"
#include "model/error.hpp"

namespace comptroller::db::postgresql {

namespace {

int count_rows(const Result& result) {
  return libpq().count_rows(result.get());
}

}  // namespace

PostgresqlStatement::PostgresqlStatement(Channel& channel, StatementCache& cache,
                                         const Prepared& prepared, bool is_in_parts)
    : pq_(libpq()),
      channel_(channel),
      cache_(cache),
      prepared_(prepared),
      is_in_parts_(is_in_parts),
      parameters_(prepared.parameter_types.size()),
      values_(prepared.column_types.size()) {}

PostgresqlStatement::Parameter& PostgresqlStatement::begin_bind(int index) {
  if (result_) {
    close_cursor();
    result_.reset();
  }
  const auto place = static_cast<std::size_t>(index) - 1;
  if (place >= parameters_.size()) {
    throw Error(Code::internal, "no parameter " + std::to_string(index));
  }
  Parameter& parameter = parameters_[place];
  parameter.bytes.clear();
  parameter.is_null = false;
  return parameter;
}

void PostgresqlStatement::bind(int index, const Value& value) {
  Parameter& parameter = begin_bind(index);
  parameter.is_null = value.is_null();
  if (parameter.is_null) return;
  encode(value, types()[static_cast<std::size_t>(index) - 1], parameter.bytes);
}

void PostgresqlStatement::bind_list(int index, std::span<const Value> values) {
  Parameter& parameter = begin_bind(index);
  encode_array(values, types()[static_cast<std::size_t>(index) - 1], parameter.bytes);
}

void PostgresqlStatement::bind(std::string_view name, const Value& value) {
  const int index = prepared_.text.number_of(name);
  if (index == 0) throw Error(Code::internal, "no parameter " + std::string(name));
  bind(index, value);
}

Parameters PostgresqlStatement::parameters() const {
  Parameters all;
  for (const Parameter& parameter : parameters_) {
    all.values.push_back(parameter.is_null ? nullptr : parameter.bytes.data());
    all.lengths.push_back(static_cast<int>(parameter.bytes.size()));
    all.formats.push_back(1);
  }
  return all;
}

void PostgresqlStatement::add_run(Session& session) const {
  session.add_prepared(prepared_.name, parameters());
}

std::string PostgresqlStatement::name_of_run(const Parameters& parameters) const {
  std::string name = prepared_.name;
  for (std::size_t index = 0; index < parameters.values.size(); ++index) {
    const bool is_null = parameters.values[index] == nullptr;
    const std::string_view bytes(is_null ? "" : parameters.values[index],
                                 static_cast<std::size_t>(parameters.lengths[index]));
    name.append(is_null ? "-" : "+").append(std::to_string(bytes.size())).append(":").append(bytes);
  }
  return name;
}

void PostgresqlStatement::execute(const Prepared& prepared) {
  close_cursor();
  result_.reset();
  is_expected_ = false;
  row_ = -1;
  const Parameters given = parameters();
  const bool has_cursor = is_in_parts_ && channel_.transaction() != 0;
  has_all_ = !has_cursor;
  if (has_cursor) {
    const std::string name = channel_.make_name("c");
    size_ = {};
    result_ = channel_.exchange([&](Session& session) {
      session.add_statement("DECLARE " + name + " NO SCROLL CURSOR FOR " + prepared.text.sql,
                            prepared.parameter_types, given);
      session.add_statement(fetch(name));
    });
    cursor_ = name;
    transaction_ = channel_.transaction();
  } else {
    if (cache_.has_kept()) result_ = cache_.take_kept(name_of_run(given));
    if (result_) return;
    result_ =
        channel_.exchange([&](Session& session) { session.add_prepared(prepared.name, given); });
  }
}

std::string PostgresqlStatement::fetch(const std::string& cursor) const {
  return "FETCH " + std::to_string(size_.rows()) + " FROM " + cursor;
}

bool PostgresqlStatement::step() {
  if (!result_) execute(prepared_);
  const int rows = count_rows(result_);
  if (++row_ < rows) return true;
  has_all_ = has_all_ || rows < size_.rows();
  if (has_all_) {
    row_ = rows;
    return false;
  }
  size_.learn(rows, static_cast<std::int64_t>(pq_.result_size(result_.get())));
  result_ = channel_.exchange([&](Session& session) { session.add_statement(fetch(cursor_)); });
  row_ = 0;
  return count_rows(result_) > 0;
}

std::int64_t PostgresqlStatement::run() {
  execute(prepared_);
  const std::string_view text = libpq().command_rows(result_.get());
  std::int64_t rows = 0;
  std::from_chars(text.data(), text.data() + text.size(), rows);
  result_.reset();
  return rows;
}

void PostgresqlStatement::run_later() {
  close_cursor();
  result_.reset();
  channel_.add_later([&](Session& session) { add_run(session); });
}

void PostgresqlStatement::run_with_next() {
  close_cursor();
  result_.reset();
  row_ = -1;
  has_all_ = true;
  is_expected_ = true;
  channel_.add_later([&](Session& session) { add_run(session); },
                     [this](Result rows) {
                       if (std::exchange(is_expected_, false)) result_ = std::move(rows);
                     });
}

std::optional<std::int64_t> PostgresqlStatement::insert() {
  execute(cache_.prepare_returning_key(prepared_.text));
  const Result result = std::move(result_);
  return key_of(result);
}

std::vector<std::int64_t> numbers_of(const Result& result) {
  const Libpq& pq = libpq();
  const unsigned type = pq.column_type(result.get(), 0);
  std::vector<std::int64_t> numbers;
  for (int row = 0; row < count_rows(result); ++row) {
    const auto length = static_cast<std::size_t>(pq.length(result.get(), row, 0));
    numbers.push_back(decode({pq.value(result.get(), row, 0), length}, type).integer);
  }
  return numbers;
}

std::optional<std::int64_t> key_of(const Result& result) {
  const std::vector<std::int64_t> keys = numbers_of(result);
  return keys.empty() ? std::nullopt : std::optional(keys.front());
}

const Value& PostgresqlStatement::column_of_row(int index) {
  const auto place = static_cast<std::size_t>(index);
  Value& value = values_.at(place);
  const PGresult* const rows = result_.get();
  const auto length = static_cast<std::size_t>(pq_.length(rows, row_, index));
  // NULL has the length 0.
  if (length == 0 && pq_.is_null(rows, row_, index) != 0) return value = Value::null();
  return value = decode({pq_.value(rows, row_, index), length}, prepared_.column_types[place]);
}

std::string PostgresqlStatement::place_of(int index, std::size_t) {
  std::string place(table_of(prepared_.text.sql));
  const std::vector<std::string>& names = prepared_.column_names;
  place.append(".").append(names.at(static_cast<std::size_t>(index)));
  const auto key = std::ranges::find(names, "key");
  if (key == names.end()) return place;
  const Value value = column_of_row(static_cast<int>(key - names.begin()));
  return place + " of key " + std::to_string(value.integer);
}

void PostgresqlStatement::close_cursor() noexcept {
  if (cursor_.empty()) return;
  const std::string name = std::exchange(cursor_, {});
  if (channel_.transaction() != transaction_ || channel_.session().has_failed()) return;
  try {
    channel_.close_cursor(name);
    // NOLINTNEXTLINE(bugprone-empty-catch): the transaction's end closes it
  } catch (const std::bad_alloc&) {
  }
}

void PostgresqlStatement::reset() {
  close_cursor();
  result_.reset();
  row_ = -1;
  is_expected_ = false;
  for (Parameter& parameter : parameters_) parameter = {};
  Statement::reset();
}

Result StatementCache::take_kept(const std::string& run) {
  const auto found = kept_.find(run);
  if (found == kept_.end()) return {};
  Result rows = std::move(found->second);
  kept_.erase(found);
  return rows;
}

bool StatementCache::Entry::is_idle() const {
  return std::ranges::none_of(statements, &PostgresqlStatement::is_in_use);
}

PostgresqlStatement& StatementCache::take(std::string_view sql, bool is_in_parts) {
  Entry& entry = entry_of(sql);
  auto idle = std::ranges::find_if(entry.statements, [&](const PostgresqlStatement& each) {
    return !each.is_in_use() && each.is_in_parts() == is_in_parts;
  });
  if (idle == entry.statements.end()) {
    entry.statements.emplace_front(channel_, *this, entry.prepared, is_in_parts);
    idle = entry.statements.begin();
  }
  idle->use();
  return *idle;
}

Prepared StatementCache::prepare(Translation text) {
  Prepared prepared{std::move(text), channel_.make_name("s"), {}, {}, {}};
  const Result described = channel_.exchange([&](Session& session) {
    session.add_prepare(prepared.name, prepared.text.sql);
    session.add_describe(prepared.name);
  });
  const Libpq& pq = libpq();
  for (int index = 0; index < pq.count_parameters(described.get()); ++index) {
    prepared.parameter_types.push_back(pq.parameter_type(described.get(), index));
  }
  for (int index = 0; index < pq.count_columns(described.get()); ++index) {
    prepared.column_types.push_back(pq.column_type(described.get(), index));
    prepared.column_names.emplace_back(pq.column_name(described.get(), index));
  }
  return prepared;
}

StatementCache::Entry& StatementCache::entry_of(std::string_view sql) {
  auto found = entries_.find(sql);
  if (found == entries_.end()) {
    make_room();
    Entry entry;
    entry.prepared = prepare(translate(sql));
    found = entries_.emplace(std::string(sql), std::move(entry)).first;
  }
  found->second.last_use = ++uses_;
  return found->second;
}

void StatementCache::make_room() {
  if (entries_.size() < max_texts) return;
  const auto rank = [](const auto& entry) {
    return std::pair(!entry.second.is_idle(), entry.second.last_use);
  };
  const auto oldest = std::ranges::min_element(entries_, {}, rank);
  if (!oldest->second.is_idle()) return;
  channel_.forget_prepared(oldest->second.prepared.name);
  entries_.erase(oldest);
}

}  // namespace comptroller::db::postgresql
