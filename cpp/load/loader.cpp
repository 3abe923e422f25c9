#include "load/loader.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <utility>

#include "json/writer.hpp"
#include "load/line_source.hpp"
#include "load/tally.hpp"
#include "service/authorisation.hpp"
#include "service/ingestion.hpp"
#include "store/jurisdiction_changes.hpp"
#include "store/operator_indexes.hpp"
#include "store/tables.hpp"

namespace comptroller::load {

namespace {

constexpr std::size_t lines_at_once = 500;
// If each statement is a round trip: about as many as the parsers read during one.
constexpr std::size_t lines_at_once_remote = 5'000;
constexpr int max_attempts = 5;  // of a load that conflicts with other writes
// The maximum bytes of deferred lines of a filling.
constexpr std::size_t max_deferred_bytes = std::size_t{32} << 20U;
// The assumed size of a stream, as a multiple of its first lines.
constexpr std::uint64_t stream_to_first_lines = 8;
// How long a commit of keep_going holds the write lock, plus the time of the lines that then run.
// It never waits for input.
constexpr std::chrono::milliseconds max_hold{50};

[[noreturn]] void throw_conflict() {
  throw Error(Code::unavailable,
              "other writes changed the same records again and again; try again");
}

// One load: passes lines to an Ingestion, in one bulk write or with keep_going in several.
template <Record Line>
class Loader {
 public:
  Loader(service::Service& service, const Principal& principal, RewindableInput& input,
         const LoadOptions& options, bool may_begin_early)
      : service_(service),
        principal_(principal),
        input_(input),
        options_(options),
        may_begin_early_(may_begin_early),
        source_(input, keeps_texts(), on_parsed(), [this] { report_progress(); }),
        tally_(options.rejected) {}

  Result load() {
    do {
      Tally::Mark before = tally_.mark();
      try {
        read_ahead();
        needs_writer() ? write() : tally_.set_unknown_members(source_.unknown_members());
        fill_.reset();
      } catch (...) {
        fill_.reset();
        service_.resume_background_work();
        if (!before.result.committed) throw;
        tally_.back_to(std::move(before));
        if (options_.account) options_.account(json::to_text(std::move(tally_).result()));
        throw;
      }
      service_.resume_background_work();
    } while (!source_.is_at_end() && !is_outdated_);
    if (tally_.counts().committed) make_missing_indexes();
    return std::move(tally_).result();
  }

  // Whether nothing was stored, because of other writes since a part of the load was taken.
  bool is_outdated() const { return is_outdated_; }

 private:
  using Clock = std::chrono::steady_clock;

  // Storing a line of these kinds does not use the secondary indexes of its table until the end.
  static constexpr bool needs_no_index =
      std::same_as<Line, Claim> || std::same_as<Line, Orchestration>;
  // Lines of other kinds may take milliseconds, for example if they rewrite claims.
  static constexpr std::size_t lines_between_time_checks = needs_no_index ? lines_at_once : 1;

  // Another number for each table lets loads of both continue beside each other.
  static constexpr std::int64_t symbols_of_others = std::same_as<Line, Claim> ? 4000 : 8000;

  // A line of an identity has members that are not stored, so its text cannot follow from a record.
  static constexpr bool always_keeps_texts = std::same_as<Line, IdentityLine>;
  bool keeps_texts() const { return always_keeps_texts || options_.rejected; }

  // The content of records that are inserted by the million is hashed by the parsing threads.
  OnParsed<Line> on_parsed() const {
    if constexpr (needs_no_index) {
      return [&customer = options_.customer_id](ParsedLine<Line>& line) {
        service::set_default_customer(*line.record, customer);
        line.content = store::content_hash(*line.record);
      };
    } else {
      return {};
    }
  }

  bool is_in_parts() const { return options_.is_in_parts(); }

  // Reads before the write lock is taken: with keep_going one batch, otherwise all lines, so that
  // nothing waits for the input. What exceeds memory is read and parsed again.
  void read_ahead() {
    if (is_in_parts()) return source_.fetch();
    if (!input_.is_stream()) begin_early();
    is_large_ = !source_.is_at_end() && !source_.fetch_into_memory();
    if (!is_large_ || input_.is_rewound()) return;
    // The code of the caller, which produces rows, may write; so a copy is made after it.
    const bool is_of_caller = source_.is_in_this_thread();
    if (input_.is_stream() && !is_of_caller) begin_early();
    source_.read_ahead(tally_.counts().read);
    if (is_of_caller) begin_early();
  }

  // Begins to fill an empty table without the write lock, if the driver can.
  void begin_early() {
    if (!may_begin_early_ || !needs_no_index || is_in_parts()) return;
    const std::uint64_t assumed = input_.bytes_read() * stream_to_first_lines;
    fill_ = service_.database()->fill({.table = Line::table,
                                       .bytes = input_.size().value_or(assumed),
                                       .is_patient = input_.is_stream(),
                                       .may_be_joined = true,
                                       .symbols_of_others = symbols_of_others});
    db::Connection* const connection = fill_->begin();
    if (connection == nullptr) return fill_.reset();
    input_.stop_keeping();
    begin(*connection);
    take_lines(Clock::time_point::max());
  }

  // A load beside other writes leaves these to a write of their own. The lines are stored, so a
  // failure here does not fail the load: the next program that opens the store makes them.
  void make_missing_indexes() {
    try {
      service_.make_missing_indexes();
    } catch (const Error&) {           // NOLINT(bugprone-empty-catch): as above
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): as above
    } catch (...) {                    // an exception of the callback
      if (options_.account) options_.account(json::to_text(std::move(tally_).result()));
      throw;
    }
  }

  // Whether to commit the lines that were taken.
  bool is_accepted() const {
    return !options_.dry_run && (tally_.counts().rejected == 0 || options_.keep_going);
  }
  bool needs_writer() const {
    return !fill_ || !source_.is_at_end() || !deferred_.empty() || is_accepted();
  }

  void write() {
    if (!fill_) {
      // A failed load would lose the lines of a stream.
      const bool is_patient = !is_in_parts() && (input_.is_stream() || is_large_);
      const bool may_fill = needs_no_index && !is_in_parts();
      fill_ = service_.database()->fill({.table = may_fill ? Line::table : std::string_view(),
                                         .bytes = input_.size().value_or(0),
                                         .is_patient = is_patient,
                                         .may_be_joined = true});
    }
    const bool is_possible = fill_->write([&](db::Connection& connection, db::Connection* before) {
      if (before != nullptr && !resume(connection, *before)) {
        is_outdated_ = true;
        return false;
      }
      if (!ingestion_ || is_in_parts()) begin(connection);
      take_rest(connection);
      check_interrupt();
      return tally_.counts().committed;
    });
    if (!is_possible && is_in_parts()) throw_conflict();
    is_outdated_ |= !is_possible;
  }

  void begin(db::Connection& connection) {
    if (!is_in_parts()) store::defer_operator_indexes(connection);
    static const std::string operation = std::string(Line::table).append(store::end_of_load);
    const Timestamp now = service_.environment().now();
    changes_ = std::make_unique<store::Changes>(
        connection, store::Origin{now, principal_.actor, operation}, journal_tree_);
    changes_->begin_batch();
    ingestion_ = std::make_unique<service::Ingestion>(*changes_, principal_, options_.customer_id,
                                                      now, service_.environment().make_id);
  }

  bool resume(db::Connection& connection, db::Connection& before) {
    store::defer_operator_indexes(connection);
    return ingestion_->resume(connection, before);
  }

  // Takes the remaining lines, or with keep_going those of a short time, and completes the write.
  void take_rest(db::Connection& connection) {
    const auto end = is_in_parts() ? Clock::now() + max_hold : Clock::time_point::max();
    do {
      take_lines(end);
      take_deferred();
    } while (!is_in_parts() && !source_.is_at_end());
    tally_.set_unknown_members(source_.unknown_members());
    tally_.set_committed(is_accepted());
    if (!is_accepted()) return;
    fill_->finish();
    ingestion_->finish();
    if (!is_in_parts()) {
      // A whole load has no time limit, so it also rewrites the claims of groups that changed.
      while (store::continue_jurisdiction_changes(connection)) check_interrupt();
      store::resume_operator_indexes(connection);
      if (!connection.locks_rows()) store::make_operator_indexes(connection);
    }
    changes_->finish_batch(description());  // from now on, no other write appends to the journal
  }

  // What the journal says of this transaction of the load, besides its records.
  Batch description() {
    Batch batch;
    batch.customer_id = options_.customer_id;
    batch.input = options_.input_name;
    if (source_.is_at_end()) {
      batch.input_sha256 = options_.input_sha256 ? options_.input_sha256() : input_.sha256();
    }
    batch.keep_going = options_.keep_going;
    batch.mapping = options_.mapping;
    const Result& counts = tally_.counts();
    batch.lines = counts.read;
    batch.inserted = counts.inserted;
    batch.updated = counts.updated;
    batch.unchanged = counts.unchanged;
    batch.rejected = counts.rejected;
    return batch;
  }

  // Takes lines until the end of the input, the time `end`, or many lines are deferred.
  void take_lines(Clock::time_point end) {
    const bool has_end = end != Clock::time_point::max();
    const bool takes_many = !has_end && changes_->connection().dialect().is_remote;
    const std::size_t at_once = has_end      ? lines_between_time_checks
                                : takes_many ? lines_at_once_remote
                                             : lines_at_once;
    while (!source_.is_at_end() && deferred_bytes_ <= max_deferred_bytes) {
      if (!source_.has_lines()) {
        source_.fetch(takes_many ? at_once : 1);
        continue;
      }
      report_progress();
      take(source_.take(at_once));
      const bool has_time = !has_end || (Clock::now() < end && source_.is_next_ready());
      if (!has_time) break;
    }
  }

  // Takes the deferred lines in their order, after the table was filled.
  void take_deferred() {
    if (deferred_.empty()) return;
    fill_->finish();
    std::vector<ParsedLine<Line>> lines = std::exchange(deferred_, {});
    deferred_bytes_ = 0;
    tally_.begin_deferred();
    for (std::size_t begin = 0; begin < lines.size(); begin += lines_at_once) {
      report_progress();
      const std::size_t count = std::min(lines_at_once, lines.size() - begin);
      take(std::span(lines).subspan(begin, count));
    }
    tally_.end_deferred();
  }

  void report_progress() {
    service_.check_usable();
    const auto now = Clock::now();
    if (now - reported_at_ < std::chrono::milliseconds(progress_interval_ms)) return;
    reported_at_ = now;
    check_interrupt();
    if (options_.progress) options_.progress(bytes_done(), tally_.counts().read);
  }

  std::uint64_t bytes_done() const {
    const std::uint64_t parsed = input_.bytes_read();
    if (is_in_parts() || source_.is_at_end()) return parsed;
    return (parsed + std::min(bytes_taken_, parsed)) / 2;
  }

  void check_interrupt() {
    if (options_.check_interrupt) options_.check_interrupt();
  }

  void take(std::span<ParsedLine<Line>> lines) {
    std::vector<service::NewLine<Line>> records;
    records.reserve(lines.size());
    for (ParsedLine<Line>& line : lines) {
      if (!line.record) continue;
      records.push_back({&*line.record, line.content ? &*line.content : nullptr});
    }
    const std::vector<service::LineResult> results = ingestion_->take(records);
    auto result = results.begin();
    for (ParsedLine<Line>& line : lines) {
      const bool was_deferred = line.number > 0;
      if (!was_deferred) {
        line.number = tally_.read();
        bytes_taken_ += line.size + 1;
      }
      if (line.refusal) {
        reject(line, *line.refusal);
      } else if (!line.record) {
        tally_.blank();
      } else if (const service::LineResult& taken = *result++; taken.rejection) {
        reject(line, *taken.rejection);
      } else if (taken.is_deferred) {
        deferred_bytes_ += line.size;
        deferred_.push_back(std::move(line));
      } else {
        tally_.taken(taken.outcome);
      }
    }
  }

  void reject(const ParsedLine<Line>& line, const Error& error) {
    tally_.reject({line.number, line.line, line.item, field_names<Line>.front()}, error,
                  [&] { return text_of(line); });
  }

  static std::string text_of(const ParsedLine<Line>& line) {
    if constexpr (!always_keeps_texts) {
      if (line.record && line.text.empty()) return json::to_text(*line.record);
    }
    return line.text;
  }

  service::Service& service_;
  const Principal& principal_;
  RewindableInput& input_;
  const LoadOptions& options_;
  bool may_begin_early_;
  LineSource<Line> source_;
  Tally tally_;
  std::unique_ptr<db::Fill> fill_;
  store::JournalTreeCache journal_tree_;
  std::unique_ptr<store::Changes> changes_;
  std::unique_ptr<service::Ingestion> ingestion_;
  bool is_outdated_ = false;
  bool is_large_ = false;          // the lines did not fit into memory
  std::uint64_t bytes_taken_ = 0;  // of lines
  Clock::time_point reported_at_;
  std::vector<ParsedLine<Line>> deferred_;
  std::size_t deferred_bytes_ = 0;
};

template <Record Line>
Result load_lines(service::Service& service, const Principal& principal, Input& input,
                  const LoadOptions& options) {
  RewindableInput rewindable(input, service.database()->folder(),
                             {!options.is_in_parts(), !options.input_sha256, options.only_lines});
  for (int attempt = 1; attempt <= max_attempts; ++attempt) {
    {
      Loader<Line> loader(service, principal, rewindable, options, attempt == 1);
      Result result = loader.load();
      if (!loader.is_outdated()) return result;
    }
    rewindable.rewind();
    if (options.rejected) options.rejected(nullptr, {});
  }
  throw_conflict();
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
