// Documents -> records, on a thread of its own, beside the one that stores them; where the input
// must stay on that one, whenever it asks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "json/reader.hpp"
#include "load/documents.hpp"

namespace comptroller::load {

// One line: a record, or why there is none, or neither where it is blank.
template <Record Line>
struct Parsed {
  std::uint64_t line = 0;
  std::uint64_t item = 0;
  std::optional<Line> record;
  std::unique_ptr<const Error> refusal;
};

template <Record Line>
class Parsing {
 public:
  explicit Parsing(Input& input) : input_(input), documents_(input) {
    if (!input.is_for_loading_thread()) thread_ = std::thread([this] { run(); });
  }

  // Stops early if need be; what was parsed and not taken is dropped.
  ~Parsing() {
    if (!thread_.joinable()) return;
    bool is_reading = false;
    {
      const std::lock_guard guard(mutex_);
      is_abandoned_ = true;
      is_reading = !is_finished_;
    }
    changed_.notify_all();
    if (is_reading) input_.abandon();
    thread_.join();
  }
  Parsing(const Parsing&) = delete;
  Parsing& operator=(const Parsing&) = delete;

  // The next lines, in order; none at the end. Calls `while_waiting` ten times a second, which may
  // throw. Throws what the input threw. The lines that are `done` are freed by the thread that made
  // them, which has the time.
  template <class WhileWaiting>
  std::vector<Parsed<Line>> next(std::vector<Parsed<Line>> done,
                                 const WhileWaiting& while_waiting) {
    if (!thread_.joinable()) {
      return parse(documents_.next());
    }
    std::unique_lock lock(mutex_);
    done_.push_back(std::move(done));
    while (!changed_.wait_for(lock, longest_silence,
                              [&] { return !ready_.empty() || is_finished_; })) {
      lock.unlock();
      while_waiting();
      lock.lock();
    }
    if (ready_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return {};
    }
    std::vector<Parsed<Line>> lines = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_all();
    return lines;
  }

  std::uint64_t bytes_read() const { return documents_.bytes_read(); }

  // After the end: the members that no field took.
  const json::UnknownMembers& unknown_members() const { return unknown_members_; }

 private:
  static constexpr std::chrono::milliseconds longest_silence{100};
  static constexpr std::size_t most_ready = 4;  // batches of at most 1.25 MiB

  void run() {
    try {
      for (auto batch = documents_.next(); !batch.empty() && hand_over(parse(batch));) {
        batch = documents_.next();
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    {
      const std::lock_guard guard(mutex_);
      is_finished_ = true;
    }
    changed_.notify_all();
  }

  std::vector<Parsed<Line>> parse(std::span<Document> documents) {
    json::ReadOptions options;
    options.unknown = &unknown_members_;
    options.is_padded = true;
    std::vector<Parsed<Line>> lines;
    lines.reserve(documents.size());
    for (Document& document : documents) {
      Parsed<Line>& parsed = lines.emplace_back();
      parsed.line = document.line;
      parsed.item = document.item;
      parsed.refusal = std::move(document.refusal);
      if (document.is_blank || parsed.refusal) continue;
      try {
        reader_.read(document.text, parsed.record.emplace(), options);
      } catch (const Error& error) {
        // What the machine cannot do is no fault of the line.
        if (problem(error.code()).status >= 500) throw;
        parsed.record.reset();
        parsed.refusal = std::make_unique<const Error>(error);
      }
    }
    return lines;
  }

  // False when nobody wants more.
  bool hand_over(std::vector<Parsed<Line>> lines) {
    std::vector<std::vector<Parsed<Line>>> done;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready_.size() < most_ready || is_abandoned_; });
    if (is_abandoned_) return false;
    ready_.push_back(std::move(lines));
    done.swap(done_);
    lock.unlock();
    changed_.notify_all();
    return true;
  }

  Input& input_;
  Documents documents_;
  json::Reader reader_;
  json::UnknownMembers unknown_members_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<Parsed<Line>>> ready_;
  std::vector<std::vector<Parsed<Line>>> done_;
  std::exception_ptr failure_;
  bool is_finished_ = false;
  bool is_abandoned_ = false;
  std::thread thread_;
};

}  // namespace comptroller::load
