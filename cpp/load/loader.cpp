#include "load/loader.hpp"

#include <chrono>

#include "json/writer.hpp"
#include "load/parsed_lines.hpp"
#include "service/arrivals.hpp"
#include "service/authorisation.hpp"
#include "store/bulk_indexes.hpp"

namespace comptroller::load {

namespace {

constexpr std::size_t most_rejections_told = 1000;
constexpr std::uint64_t rows_a_batch = 100'000;

// One load: takes parsed lines, stores them, keeps the account.
template <Record Line>
class Run {
 public:
  Run(service::Service& service, const Principal& principal, Input& input, const Options& options)
      : service_(service), principal_(principal), options_(options), parsing_(input) {}

  Result load() {
    if (options_.keep_going && !options_.dry_run) {
      load_in_batches();
    } else {
      service_.database()->write_bulk([&](db::Connection& connection) {
        store::BulkIndexes indexes(connection, Line::table);
        take_lines(connection, std::numeric_limits<std::uint64_t>::max());
        account_.committed = !options_.dry_run && (account_.rejected == 0 || options_.keep_going);
        if (account_.committed) indexes.rebuild();
        check();
        return account_.committed;
      });
    }
    service_.resume_background_work();
    account_.unknown_members = parsing_.unknown_members();
    return std::move(account_);
  }

 private:
  void load_in_batches() {
    account_.committed = true;
    while (!is_at_end_) {
      const Result before = account_;
      try {
        service_.database()->write_bulk([&](db::Connection& connection) {
          take_lines(connection, rows_a_batch);
          check();
          return true;
        });
      } catch (...) {
        // The batch in hand is undone, and with it its part of the account.
        if (before.read == 0) throw;
        throw Interrupted(std::current_exception(), before);
      }
    }
  }

  void take_lines(db::Connection& connection, std::uint64_t most) {
    service::Arrivals arrivals(connection, principal_, options_.customer_id,
                               service_.environment().now(), service_.environment().make_id);
    for (std::uint64_t taken = 0; taken < most; ++taken) {
      if (position_ == lines_.size() && !fetch()) break;
      take(arrivals, lines_[position_++]);
    }
    arrivals.finish();
  }

  bool fetch() {
    tell_progress();
    lines_ = parsing_.next(std::move(lines_), [this] { tell_progress(); });
    position_ = 0;
    is_at_end_ = lines_.empty();
    return !is_at_end_;
  }

  void tell_progress() {
    const auto now = std::chrono::steady_clock::now();
    if (now - told_ < std::chrono::milliseconds(progress_interval_ms)) return;
    told_ = now;
    check();
    if (options_.progress) options_.progress(parsing_.bytes_read(), account_.read);
  }

  void check() {
    if (options_.check) options_.check();
  }

  void take(service::Arrivals& arrivals, Parsed<Line>& parsed) {
    ++account_.read;
    if (parsed.refusal) {
      reject(parsed, *parsed.refusal);
    } else if (!parsed.record) {
      ++account_.blank;
    } else {
      try {
        ++count_of(arrivals.take(*parsed.record));
      } catch (const Error& error) {
        // What the store cannot do is no fault of the line.
        if (problem(error.code()).status >= 500) throw;
        reject(parsed, error);
      }
    }
  }

  std::uint64_t& count_of(service::Arrival arrival) {
    if (arrival == service::Arrival::inserted) return account_.inserted;
    if (arrival == service::Arrival::updated) return account_.updated;
    return account_.unchanged;
  }

  void reject(const Parsed<Line>& parsed, const Error& error) {
    ++account_.rejected;
    if (account_.rejections.size() == most_rejections_told) return;
    std::string message = error.detail();
    if (parsed.item > 0) message = "item " + std::to_string(parsed.item) + ": " + message;
    account_.rejections.push_back(
        {parsed.line, std::string(problem(error.code()).code), std::move(message)});
  }

  service::Service& service_;
  const Principal& principal_;
  const Options& options_;
  Parsing<Line> parsing_;
  std::vector<Parsed<Line>> lines_;
  std::size_t position_ = 0;
  bool is_at_end_ = false;
  std::chrono::steady_clock::time_point told_;
  Result account_;
};

}  // namespace

Result load(service::Service& service, const Principal& principal, Input& input,
            const Options& options) {
  service.check_usable();
  service::require_scope(principal, service::operator_write, true);
  if (options.customer_id) require_scalar<Id>("customer_id", *options.customer_id);
  Result result;
  store::visit_table(options.kind, [&]<Record R>() {
    using Line = std::conditional_t<std::same_as<R, StoredIdentity>, IdentityLine, R>;
    result = Run<Line>(service, principal, input, options).load();
  });
  return result;
}

std::string to_json(const Result& result) {
  return json::to_text(result);
}

}  // namespace comptroller::load
