#include "load/loader.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <tuple>

#include "json/excerpts.hpp"
#include "json/writer.hpp"
#include "load/parsed_lines.hpp"
#include "load/rewindable_input.hpp"
#include "service/authorisation.hpp"
#include "service/ingestion.hpp"
#include "store/customers.hpp"
#include "store/jurisdiction_changes.hpp"
#include "store/operator_indexes.hpp"
#include "store/tables.hpp"

namespace comptroller::load {

namespace {

constexpr std::size_t max_rejections_listed = 1000;
constexpr std::size_t max_groups = 1000;
constexpr std::size_t lines_at_once = 500;
// Lines in memory: about 8 MiB of the input, or less if the lines are short.
constexpr std::size_t max_batches_first = 32;
constexpr std::size_t max_lines_first = 20'000;
// The maximum bytes of deferred lines of a filling.
constexpr std::size_t max_deferred_bytes = std::size_t{32} << 20U;
// The assumed size of a stream, as a multiple of its first lines.
constexpr std::uint64_t stream_to_first_lines = 8;
// How long a commit of keep_going holds the write lock, plus the time of the lines that then run.
// It never waits for input.
constexpr std::chrono::milliseconds max_hold{50};

// One load: passes parsed lines to an Ingestion and counts the outcomes.
template <Record Line>
class Loader {
 public:
  Loader(service::Service& service, const Principal& principal, RewindableInput& input,
         const LoadOptions& options, bool may_prepare)
      : service_(service),
        principal_(principal),
        input_(input),
        options_(options),
        may_prepare_(may_prepare) {
    parser_ = std::make_unique<ParsedLines<Line>>(input_, keeps_texts());
  }

  Result load() {
    do {
      Result before = result_;
      const std::size_t listed_before = rejections_.size();
      const Groups groups_before = groups_;
      try {
        read_first();
        if (needs_writer()) write();
        prepared_.reset();
        result_.unknown_members = parser_->unknown_members();
      } catch (...) {
        service_.resume_background_work();
        if (!before.committed) throw;
        rejections_.resize(listed_before);
        before.rejections = std::move(rejections_);
        before.rejection_groups = listed(groups_before);
        if (options_.account) options_.account(json::to_text(before));
        throw;
      }
      service_.resume_background_work();
    } while (!is_at_end_ && !is_outdated_);
    result_.rejections = std::move(rejections_);
    result_.rejection_groups = listed(groups_);
    return std::move(result_);
  }

  // Whether nothing was stored, because of other writes since a part of the load was prepared.
  bool is_outdated() const { return is_outdated_; }

 private:
  using Clock = std::chrono::steady_clock;
  // By member and code.
  using Groups = std::map<std::pair<std::string, Code>, RejectionGroup>;

  // Storing a line of these kinds does not use the secondary indexes of its table until the end.
  static constexpr bool needs_no_index =
      std::same_as<Line, Claim> || std::same_as<Line, Orchestration>;
  // Lines of other kinds may take milliseconds, for example if they rewrite claims.
  static constexpr std::size_t lines_between_time_checks =
      needs_no_index ? 500 : 1;  // checks of the time

  // A prepared load leaves so many keys to symbols of other writes. Another number for each table
  // lets their loads continue beside each other.
  static constexpr std::int64_t symbols_of_others = std::same_as<Line, Claim> ? 4000 : 8000;

  // A line of an identity has members that are not stored, so a record is no text.
  static constexpr bool always_keeps_texts = std::same_as<Line, IdentityLine>;
  bool keeps_texts() const { return always_keeps_texts || options_.rejected; }

  bool is_in_parts() const { return options_.is_in_parts(); }

  // Reads before the write lock is taken: with keep_going one batch, otherwise all lines, so that
  // nothing waits for the input. What exceeds memory is read and parsed again.
  void read_first() {
    if (is_in_parts()) {
      if (position_ == lines_.size()) fetch();
      return;
    }
    if (!input_.is_stream()) prepare();
    is_large_ = !is_at_end_ && !fetch_first();
    if (!is_large_ || input_.is_rewound()) return;
    // The code of the caller, which produces rows, may write; so a copy is made after it.
    const bool is_of_caller = parser_->is_in_this_thread();
    if (input_.is_stream() && !is_of_caller) prepare();
    read_rest();
    if (is_of_caller) prepare();
  }

  // Reads the first lines into memory. Returns whether they are all lines.
  bool fetch_first() {
    for (std::size_t batch = 0; batch < max_batches_first && lines_.size() < max_lines_first;
         ++batch) {
      report_progress();
      auto more = parser_->next({}, [this] { report_progress(); });
      if (more.empty()) return true;
      std::ranges::move(more, std::back_inserter(lines_));
    }
    return false;
  }

  // Reads the input to its end, and continues with the line after those that were taken.
  void read_rest() {
    if (is_at_end_) return;
    std::vector<char> unused(std::size_t{1} << 16U);
    while (!is_at_end_) {
      if (parser_->is_in_this_thread()) {  // only reading is faster than parsing here
        report_progress();
        is_at_end_ = input_.read(unused.data(), unused.size()) == 0;
      } else {
        fetch();
      }
    }
    parser_.reset();
    input_.rewind();
    parser_ = std::make_unique<ParsedLines<Line>>(input_, keeps_texts());
    lines_.clear();
    position_ = 0;
    is_at_end_ = false;
    for (std::uint64_t left = result_.read; left > 0 && !is_at_end_; left -= position_) {
      fetch();
      position_ = std::min<std::uint64_t>(left, lines_.size());
    }
  }

  bool may_fill() const { return needs_no_index && !is_in_parts(); }

  // Prepares the rows of an empty table without the write lock, if the driver can.
  void prepare() {
    if (!may_prepare_ || !may_fill()) return;
    const std::uint64_t assumed = input_.bytes_read() * stream_to_first_lines;
    filling_ = {Line::table, input_.size().value_or(assumed)};
    filling_.is_patient = input_.is_stream();
    prepared_ = service_.database()->prepare(filling_);
    if (!prepared_) return;
    prepared_->symbols().leave_gap(symbols_of_others);
    begin_filling(*prepared_);
    begin(*prepared_);
    take_lines(Clock::time_point::max());
  }

  // Whether to commit the lines that were taken.
  bool is_accepted() const {
    return !options_.dry_run && (result_.rejected == 0 || options_.keep_going);
  }
  bool needs_writer() const {
    return !prepared_ || !is_at_end_ || !deferred_.empty() || is_accepted();
  }

  void write() {
    if (!prepared_ && may_fill()) filling_ = {Line::table, input_.size().value_or(0)};
    filling_.prepared = prepared_.get();
    // A failed load would lose the lines of a stream.
    filling_.is_patient = !is_in_parts() && (input_.is_stream() || prepared_ || is_large_);
    service_.database()->write_bulk(
        [&](db::Connection& connection) {
          write_part(connection);
          check_interrupt();
          return result_.committed;
        },
        filling_);
  }

  // Writes all lines, or with keep_going the lines up to the next commit.
  void write_part(db::Connection& connection) {
    if (is_in_parts()) {
      begin(connection);
      return take_rest(connection, Clock::now() + max_hold);
    }
    if (!prepared_) {
      begin_filling(connection);
      begin(connection);
    } else if (&connection != prepared_.get() && !continue_on(connection)) {
      is_outdated_ = true;
      return;
    }
    take_rest(connection, Clock::time_point::max());
    if (!result_.committed) return;
    store::resume_operator_indexes(connection);
    store::make_operator_indexes(connection);
  }

  void begin_filling(db::Connection& connection) {
    store::defer_operator_indexes(connection);
    if (needs_no_index) connection.begin_filling(Line::table);
  }

  void begin(db::Connection& connection) {
    ingestion_ = std::make_unique<service::Ingestion>(connection, principal_, options_.customer_id,
                                                      service_.environment().now(),
                                                      service_.environment().make_id);
  }

  // Moves what was prepared to a later state of the database. Returns false if it cannot, or if the
  // state does not allow the same lines.
  bool continue_on(db::Connection& connection) {
    db::Connection& before = *prepared_;
    if (!connection.symbols().add_new(before.symbols())) return false;
    store::defer_operator_indexes(connection);
    store::add_customers_of(connection, before);
    ingestion_->continue_on(connection);
    return connection.continue_filling(before) && ingestion_->is_current();
  }

  // Takes the remaining lines, or those until the time `end`, and completes the write.
  void take_rest(db::Connection& connection, Clock::time_point end) {
    const bool is_whole = end == Clock::time_point::max();
    do {
      take_lines(end);
      take_deferred(connection);
    } while (is_whole && !is_at_end_);
    result_.committed = is_accepted();
    if (!result_.committed) return;
    connection.end_filling();
    ingestion_->finish();
    // A whole load has no time limit, so it also rewrites the claims of groups that changed.
    while (is_whole && store::continue_jurisdiction_changes(connection)) check_interrupt();
  }

  // Takes lines until the end of the input, the time `end`, or many lines are deferred.
  void take_lines(Clock::time_point end) {
    const bool is_whole = end == Clock::time_point::max();
    while (!is_at_end_ && deferred_bytes_ <= max_deferred_bytes) {
      const std::size_t left = lines_.size() - position_;
      if (left == 0) {
        fetch();
        continue;
      }
      report_progress();
      const std::size_t count =
          std::min(left, is_whole ? lines_at_once : lines_between_time_checks);
      take(std::span(lines_).subspan(position_, count));
      position_ += count;
      const bool is_next_here = position_ < lines_.size() || parser_->is_ready();
      if (!is_whole && (Clock::now() >= end || !is_next_here)) break;
    }
  }

  // Takes the deferred lines in their order, after the filling.
  void take_deferred(db::Connection& connection) {
    if (deferred_.empty()) return;
    connection.end_filling();
    std::vector<ParsedLine<Line>> lines = std::exchange(deferred_, {});
    deferred_bytes_ = 0;
    is_taking_deferred_ = true;
    for (std::size_t begin = 0; begin < lines.size(); begin += lines_at_once) {
      report_progress();
      const std::size_t count = std::min(lines_at_once, lines.size() - begin);
      take(std::span(lines).subspan(begin, count));
    }
    is_taking_deferred_ = false;
    // Rejections are listed in the order of lines.
    std::ranges::sort(rejections_, {}, &Rejection::number);
    if (rejections_.size() > max_rejections_listed) rejections_.resize(max_rejections_listed);
  }

  void fetch() {
    report_progress();
    lines_ = parser_->next(std::move(lines_), [this] { report_progress(); });
    position_ = 0;
    is_at_end_ = lines_.empty();
  }

  void report_progress() {
    service_.check_usable();
    const auto now = Clock::now();
    if (now - reported_at_ < std::chrono::milliseconds(progress_interval_ms)) return;
    reported_at_ = now;
    check_interrupt();
    if (options_.progress) options_.progress(bytes_done(), result_.read);
  }

  std::uint64_t bytes_done() const {
    const std::uint64_t parsed = input_.bytes_read();
    if (is_in_parts() || is_at_end_) return parsed;
    return (parsed + std::min(bytes_taken_, parsed)) / 2;
  }

  void check_interrupt() {
    if (options_.check_interrupt) options_.check_interrupt();
  }

  void take(std::span<ParsedLine<Line>> lines) {
    std::vector<Line*> records;
    records.reserve(lines.size());
    for (ParsedLine<Line>& line : lines) {
      if (line.record) records.push_back(&*line.record);
    }
    const std::vector<service::LineResult> results =
        ingestion_->take(std::span<Line* const>(records));
    auto result = results.begin();
    for (ParsedLine<Line>& line : lines) {
      const bool was_deferred = line.number > 0;
      if (!was_deferred) {
        line.number = ++result_.read;
        bytes_taken_ += line.size + 1;
      }
      if (line.refusal) {
        reject(line, *line.refusal);
      } else if (!line.record) {
        ++result_.blank;
      } else if (const service::LineResult& taken = *result++; taken.rejection) {
        reject(line, *taken.rejection);
      } else if (taken.is_deferred) {
        deferred_bytes_ += line.size;
        deferred_.push_back(std::move(line));
      } else {
        ++count_of(taken.outcome);
      }
    }
  }

  std::uint64_t& count_of(service::Outcome outcome) {
    if (outcome == service::Outcome::inserted) return result_.inserted;
    if (outcome == service::Outcome::updated) return result_.updated;
    return result_.unchanged;
  }

  void reject(const ParsedLine<Line>& line, const Error& error) {
    ++result_.rejected;
    std::string message = error.detail();
    if (line.item > 0) message = "item " + std::to_string(line.item) + ": " + message;
    const std::string path = error.errors().empty() ? "" : error.errors().front().field;
    const std::string member = path.substr(0, path.find_first_of(".["));
    count(member, error.code(), line.line, message);
    // A deferred line may come before the listed lines.
    const bool is_listed = rejections_.size() < max_rejections_listed || is_taking_deferred_;
    if (!is_listed && !options_.rejected) return;
    const std::string text = text_of(line);
    Rejection rejection;
    rejection.number = line.number;
    rejection.line = line.line;
    rejection.id = excerpts_.value_of(text, field_names<Line>.front());
    if (!member.empty()) rejection.member = member;
    rejection.value = excerpts_.value_of(text, member);
    rejection.code = problem(error.code()).code;
    rejection.message = std::move(message);
    if (options_.rejected) options_.rejected(&rejection, text);
    if (is_listed) rejections_.push_back(std::move(rejection));
  }

  static std::string text_of(const ParsedLine<Line>& line) {
    if constexpr (!always_keeps_texts) {
      if (line.record && line.text.empty()) return json::to_text(*line.record);
    }
    return line.text;
  }

  void count(const std::string& member, Code code, std::uint64_t line, const std::string& message) {
    const std::pair key(member, code);
    auto group = groups_.find(key);
    if (group == groups_.end()) {
      if (groups_.size() == max_groups) return;
      group = groups_.try_emplace(key).first;
      if (!member.empty()) group->second.member = member;
      group->second.code = problem(code).code;
    }
    if (group->second.lines == 0 || line < group->second.first_line) {  // deferred lines come later
      group->second.first_line = line;
      group->second.message = message;
    }
    ++group->second.lines;
  }

  static std::vector<RejectionGroup> listed(const Groups& groups) {
    std::vector<RejectionGroup> list;
    for (const auto& [key, group] : groups) list.push_back(group);
    std::ranges::sort(list, [](const RejectionGroup& one, const RejectionGroup& other) {
      return std::tie(other.lines, one.member, one.code) <
             std::tie(one.lines, other.member, other.code);
    });
    return list;
  }

  service::Service& service_;
  const Principal& principal_;
  RewindableInput& input_;
  std::unique_ptr<ParsedLines<Line>> parser_;
  const LoadOptions& options_;
  bool may_prepare_;
  db::Filling filling_;
  db::Lease prepared_;
  std::unique_ptr<service::Ingestion> ingestion_;
  bool is_outdated_ = false;
  bool is_large_ = false;  // lines_ was not large enough for the lines of the input
  std::vector<ParsedLine<Line>> lines_;
  std::size_t position_ = 0;
  bool is_at_end_ = false;
  std::uint64_t bytes_taken_ = 0;  // of lines
  Clock::time_point reported_at_;
  std::vector<ParsedLine<Line>> deferred_;
  std::size_t deferred_bytes_ = 0;
  bool is_taking_deferred_ = false;
  std::vector<Rejection> rejections_;
  Groups groups_;
  json::Excerpts excerpts_;
  Result result_;
};

template <Record Line>
Result load_lines(service::Service& service, const Principal& principal, Input& input,
                  const LoadOptions& options) {
  RewindableInput rewindable(input, service.database()->folder(), !options.is_in_parts());
  {
    Loader<Line> loader(service, principal, rewindable, options, true);
    Result result = loader.load();
    if (!loader.is_outdated()) return result;
  }
  rewindable.rewind();
  if (options.rejected) options.rejected(nullptr, {});
  return Loader<Line>(service, principal, rewindable, options, false).load();
}

}  // namespace

Result load(service::Service& service, const Principal& principal, Input& input,
            const LoadOptions& options) {
  service.check_usable();
  service::require_scope(principal, service::operator_write, true);
  if (options.customer_id) require_scalar<Id>("customer_id", *options.customer_id);
  service.database()->check_may_write();
  Result result;
  store::visit_table(options.kind, [&]<Record R>() {
    using Line = std::conditional_t<std::same_as<R, StoredIdentity>, IdentityLine, R>;
    result = load_lines<Line>(service, principal, input, options);
  });
  if (options.account) options.account(json::to_text(result));
  return result;
}

}  // namespace comptroller::load
