#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "json/reader.hpp"
#include "load/documents.hpp"

namespace comptroller::load {

// A record, or why the line is refused; neither for a blank line.
template <Record Line>
struct ParsedLine {
  std::uint64_t line = 0;
  std::uint64_t item = 0;
  std::optional<Line> record;
  std::unique_ptr<const Error> refusal;
};

// The lines of an input as records. Parses ahead on a thread of its own, unless the input must be
// read by the loading thread.
template <Record Line>
class ParsedLines {
 public:
  explicit ParsedLines(Input& input) : input_(input), documents_(input) {
    if (input.is_for_loading_thread()) return;
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  // Ends the thread, also before the end of the input.
  ~ParsedLines() {
    thread_.request_stop();
    if (thread_.joinable() && !is_finished_) input_.abandon();
  }
  ParsedLines(const ParsedLines&) = delete;
  ParsedLines& operator=(const ParsedLines&) = delete;

  // The next lines, in order; none at the end. Throws what the input threw. Calls `while_waiting`,
  // which may throw, ten times a second. Lines that are `done` are freed by the parsing thread,
  // which is idle more often.
  template <class WhileWaiting>
  std::vector<ParsedLine<Line>> next(std::vector<ParsedLine<Line>> done,
                                     const WhileWaiting& while_waiting) {
    if (!thread_.joinable()) return parse(documents_.next());
    std::unique_lock lock(mutex_);
    done_.push_back(std::move(done));
    while (!changed_.wait_for(lock, callback_interval,
                              [&] { return !ready_.empty() || is_finished_; })) {
      lock.unlock();
      while_waiting();
      lock.lock();
    }
    if (ready_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return {};
    }
    std::vector<ParsedLine<Line>> lines = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_all();
    return lines;
  }

  // Whether next() returns at once.
  bool is_ready() {
    const std::lock_guard lock(mutex_);
    return thread_.joinable() && (!ready_.empty() || is_finished_);
  }

  std::uint64_t bytes_read() const { return documents_.bytes_read(); }

  // Members without a field, and on how many lines; after the end.
  const json::UnknownMembers& unknown_members() const { return unknown_members_; }

 private:
  static constexpr std::chrono::milliseconds callback_interval{100};
  static constexpr std::size_t most_ready = 4;  // batches of at most 1.25 MiB

  void run(const std::stop_token& stop) {
    try {
      for (auto batch = documents_.next(); !batch.empty() && hand_over(parse(batch), stop);) {
        batch = documents_.next();
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::lock_guard guard(mutex_);
    is_finished_ = true;
    changed_.notify_all();
  }

  std::vector<ParsedLine<Line>> parse(std::span<Document> documents) {
    json::ReadOptions options;
    options.unknown = &unknown_members_;
    options.is_padded = true;
    std::vector<ParsedLine<Line>> lines;
    lines.reserve(documents.size());
    for (Document& document : documents) {
      ParsedLine<Line>& parsed = lines.emplace_back();
      parsed.line = document.line;
      parsed.item = document.item;
      parsed.refusal = std::move(document.refusal);
      if (document.is_blank || parsed.refusal) continue;
      try {
        reader_.read(document.text, parsed.record.emplace(), options);
      } catch (const Error& error) {
        // Failures of the machine are not the line's.
        if (problem(error.code()).status >= 500) throw;
        parsed.record.reset();
        parsed.refusal = std::make_unique<const Error>(error);
      }
    }
    return lines;
  }

  // False once this object is being destroyed.
  bool hand_over(std::vector<ParsedLine<Line>> lines, const std::stop_token& stop) {
    std::vector<std::vector<ParsedLine<Line>>> done;  // freed after the lock is released
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [&] { return ready_.size() < most_ready; })) return false;
    ready_.push_back(std::move(lines));
    done.swap(done_);
    changed_.notify_all();
    return true;
  }

  Input& input_;
  Documents documents_;
  json::Reader reader_;
  json::UnknownMembers unknown_members_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::vector<ParsedLine<Line>>> ready_;
  std::vector<std::vector<ParsedLine<Line>>> done_;
  std::exception_ptr failure_;
  std::atomic<bool> is_finished_ = false;
  std::jthread thread_;  // the first member to be destroyed, which ends the thread
};

}  // namespace comptroller::load
