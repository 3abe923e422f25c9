#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "json/reader.hpp"
#include "load/documents.hpp"

namespace comptroller::load {

// A record, or the error of an invalid line; neither for a blank line.
template <Record Line>
struct ParsedLine {
  std::uint64_t line = 0;
  std::uint64_t item = 0;
  std::uint64_t number = 0;  // among all lines taken so far, from 1
  std::size_t size = 0;      // of its text
  std::optional<Line> record;
  std::unique_ptr<const Error> refusal;
};

// The lines of an input as records, in order. One thread for each core parses ahead, and the
// threads take turns to read the input, unless the loading thread must read it.
template <Record Line>
class ParsedLines {
 public:
  explicit ParsedLines(Input& input) : input_(input), documents_(input) {
    if (input.is_for_loading_thread()) return;
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    // Everything that can fail is done before a thread starts.
    readers_ = std::vector<json::Reader>(std::min(cores, max_threads));
    parsed_.resize(max_ready_batches + readers_.size());
    threads_.reserve(readers_.size());
    for (json::Reader& reader : readers_) {
      try {
        threads_.emplace_back([&](const std::stop_token& stop) { run(reader, stop); });
      } catch (const std::system_error&) {  // fewer threads are enough
        if (threads_.empty()) throw;
        break;
      }
    }
  }

  // Ends the threads, even before the end of the input.
  ~ParsedLines() {
    for (std::jthread& thread : threads_) thread.request_stop();
    std::unique_lock lock(mutex_);
    const bool may_wait = !threads_.empty() && !is_read_;
    lock.unlock();
    if (may_wait) input_.abandon();
  }
  ParsedLines(const ParsedLines&) = delete;
  ParsedLines& operator=(const ParsedLines&) = delete;

  // Returns the next lines, in order; none at the end. Throws the exceptions of the input. Calls
  // `while_waiting`, which may throw, ten times a second. A parsing thread frees the lines in
  // `done` and reuses their vector. Parsing threads are idle more often than the loading thread.
  template <class WhileWaiting>
  std::vector<ParsedLine<Line>> next(std::vector<ParsedLine<Line>> done,
                                     const WhileWaiting& while_waiting) {
    if (threads_.empty()) {
      if (readers_.empty()) readers_ = std::vector<json::Reader>(1);
      return take(parse(readers_.front(), documents_.next(), std::move(done)));
    }
    std::unique_lock lock(mutex_);
    done_.push_back(std::move(done));
    while (!changed_.wait_for(lock, callback_interval, [&] { return is_next_parsed(); })) {
      lock.unlock();
      while_waiting();
      lock.lock();
    }
    Batch& next = slot(taken_);
    if (next.failure) std::rethrow_exception(next.failure);
    if (next.lines.empty()) return {};  // later calls return the same
    Batch batch = std::exchange(next, {});
    ++taken_;
    changed_.notify_all();
    lock.unlock();
    return take(std::move(batch));
  }

  // Whether next() returns without waiting.
  bool is_ready() {
    const std::lock_guard lock(mutex_);
    return !threads_.empty() && is_next_parsed();
  }

  // Whether next() reads and parses in the caller's thread.
  bool is_in_this_thread() const { return threads_.empty(); }

  std::uint64_t bytes_read() const { return documents_.bytes_read(); }

  // Unknown members, and the number of lines with each; complete after the end.
  const json::UnknownMembers& unknown_members() const { return unknown_members_; }

 private:
  using Number = std::uint64_t;  // the number of a batch, from 0

  struct Batch {
    std::vector<ParsedLine<Line>> lines;  // at most 1.25 MiB of the input; empty at its end
    json::UnknownMembers unknown_members;
    std::exception_ptr failure;  // of the input
    bool is_parsed = false;      // or parsing failed
  };

  static constexpr std::chrono::milliseconds callback_interval{100};
  static constexpr std::size_t max_threads = 16;
  static constexpr std::size_t max_ready_batches = 4;  // batches, in addition to those being parsed

  Batch& slot(Number number) { return parsed_[number % parsed_.size()]; }
  bool is_next_parsed() { return slot(taken_).is_parsed; }

  std::vector<ParsedLine<Line>> take(Batch batch) {
    for (const auto& [path, times] : batch.unknown_members) {
      json::count_unknown(unknown_members_, path, times);
    }
    return std::move(batch.lines);
  }

  void run(json::Reader& reader, const std::stop_token& stop) {
    std::vector<Document> documents;
    std::string text;
    while (true) {
      Batch batch;
      const std::optional<Number> number = read(stop, documents, text, batch);
      if (!number) return;
      try {
        if (!batch.failure) batch = parse(reader, documents, take_done());
      } catch (...) {
        batch.failure = std::current_exception();
      }
      hand_over(*number, std::move(batch));
    }
  }

  // Reads the documents of the next batch, or sets its failure. Returns its number; nullopt after
  // the end, or when this object is being destroyed.
  std::optional<Number> read(const std::stop_token& stop, std::vector<Document>& documents,
                             std::string& text, Batch& batch) {
    const std::lock_guard turn(reading_);
    if (!wait_for_room(stop)) return std::nullopt;
    bool is_end = true;
    try {
      copy(documents_.next(), documents, text);
      is_end = documents.empty();
    } catch (...) {
      batch.failure = std::current_exception();
    }
    if (is_end) {
      const std::lock_guard guard(mutex_);
      is_read_ = true;
    }
    return read_++;
  }

  // Copies documents, because the window is filled again while they are parsed.
  void copy(std::span<Document> from, std::vector<Document>& documents, std::string& text) {
    documents.assign(std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    const char* begin = nullptr;
    const char* end = nullptr;
    for (const Document& document : documents) {
      if (document.text.empty()) continue;
      if (begin == nullptr) begin = document.text.data();
      end = document.text.data() + document.text.size();
    }
    if (begin == nullptr) return;
    text.assign(begin, static_cast<std::size_t>(end - begin) + json::padding);
    for (Document& document : documents) {
      if (document.text.empty()) continue;
      const auto offset = static_cast<std::size_t>(document.text.data() - begin);
      document.text = std::string_view(text).substr(offset, document.text.size());
    }
  }

  // Waits until a batch may be read; returns false if there is nothing more to read.
  bool wait_for_room(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const auto has_room = [&] { return read_ < taken_ + parsed_.size(); };
    return changed_.wait(lock, stop, [&] { return is_read_ || has_room(); }) && !is_read_ &&
           !stop.stop_requested();
  }

  void hand_over(Number number, Batch batch) {
    const std::lock_guard lock(mutex_);
    batch.is_parsed = true;
    slot(number) = std::move(batch);
    changed_.notify_all();
  }

  std::vector<ParsedLine<Line>> take_done() {
    const std::lock_guard lock(mutex_);
    if (done_.empty()) return {};
    std::vector<ParsedLine<Line>> done = std::move(done_.back());
    done_.pop_back();
    return done;
  }

  static Batch parse(json::Reader& reader, std::span<Document> documents,
                     std::vector<ParsedLine<Line>> done) {
    done.clear();
    Batch batch;
    batch.lines = std::move(done);
    json::ReadOptions options;
    options.unknown = &batch.unknown_members;
    options.is_padded = true;
    batch.lines.reserve(documents.size());
    for (Document& document : documents) {
      ParsedLine<Line>& parsed = batch.lines.emplace_back();
      parsed.line = document.line;
      parsed.item = document.item;
      parsed.size = document.text.size();
      parsed.refusal = std::move(document.refusal);
      if (document.is_blank || parsed.refusal) continue;
      try {
        reader.read(document.text, parsed.record.emplace(), options);
      } catch (const Error& error) {
        // A failure of the system is not an error of the line.
        if (problem(error.code()).status >= 500) throw;
        parsed.record.reset();
        parsed.refusal = std::make_unique<const Error>(error);
      }
    }
    return batch;
  }

  Input& input_;
  std::vector<json::Reader> readers_;  // of each thread, or of the loading thread
  json::UnknownMembers unknown_members_;

  std::mutex reading_;  // held by the thread that reads; taken before mutex_
  Documents documents_;
  Number read_ = 0;  // the number of the next batch to read

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Batch> parsed_;  // from taken_ on, by number
  Number taken_ = 0;           // the number of the next batch that next() returns
  std::vector<std::vector<ParsedLine<Line>>> done_;
  bool is_read_ = false;               // the input has ended or failed
  std::vector<std::jthread> threads_;  // destroyed first, which ends the threads
};

}  // namespace comptroller::load
