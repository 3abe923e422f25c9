#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "journal/hash.hpp"
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
  std::string text = {};                      // if it was refused, or all texts are kept
  std::optional<journal::Hash> content = {};  // of the record, if it was computed while parsing
};

// Called in a parsing thread with each line that has a record. Several threads call it.
template <Record Line>
using OnParsed = std::function<void(ParsedLine<Line>&)>;

// The lines of an input as records, in order. One thread for each core parses ahead, and the
// threads take turns to read the input, unless the loading thread must read it.
template <Record Line>
class ParsedLines {
 public:
  using Lines = std::vector<ParsedLine<Line>>;

  ParsedLines(Input& input, bool keeps_texts, OnParsed<Line> on_parsed = {})
      : input_(input),
        keeps_texts_(keeps_texts),
        on_parsed_(std::move(on_parsed)),
        documents_(input),
        readers_(input.is_for_loading_thread()
                     ? 1
                     : std::clamp(std::thread::hardware_concurrency(), 1U, max_threads)) {
    if (input.is_for_loading_thread()) return;
    // Everything that can fail is done before a thread starts.
    for (std::size_t batch = 1; batch < max_ready_batches + readers_.size(); ++batch) add_slot({});
    threads_.reserve(readers_.size());
    for (json::Reader& reader : readers_) {
      try {
        threads_.emplace_back([&](const std::stop_token& stop) { run(reader, stop); });
      } catch (const std::exception&) {  // fewer threads are enough
        if (threads_.empty()) throw;
        break;
      }
    }
  }

  // Ends the threads, even before the end of the input.
  ~ParsedLines() {
    for (std::jthread& thread : threads_) thread.request_stop();
    if (!threads_.empty() && !is_read_) input_.abandon();
  }
  ParsedLines(const ParsedLines&) = delete;
  ParsedLines& operator=(const ParsedLines&) = delete;

  // Returns the next lines, in order; none at the end. Throws the exceptions of the input. Calls
  // `while_waiting`, which may throw, ten times a second. A parsing thread frees the lines in
  // `done` and reuses their vector. Parsing threads are idle more often than the loading thread.
  Lines next(Lines done, const std::function<void()>& while_waiting) {
    if (is_ended_) return {};
    Batch batch;
    if (threads_.empty()) {
      batch = parse(readers_.front(), documents_.next(), std::move(done));
    } else {
      add_slot(std::move(done));
      while (batches_.front().wait_for(callback_interval) == std::future_status::timeout) {
        while_waiting();
      }
      std::future<Batch> parsed = std::move(batches_.front());
      batches_.pop_front();
      batch = parsed.get();
    }
    is_ended_ = batch.lines.empty();
    for (const auto& [path, times] : batch.unknown_members) {
      json::count_unknown(unknown_members_, path, times);
    }
    return std::move(batch.lines);
  }

  // Whether next() returns without waiting.
  bool is_ready() const {
    return !threads_.empty() &&
           batches_.front().wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  // Whether next() reads and parses in the caller's thread.
  bool is_in_this_thread() const { return threads_.empty(); }

  // Unknown members, and the number of lines with each; complete after the end.
  const json::UnknownMembers& unknown_members() const { return unknown_members_; }

 private:
  struct Batch {
    Lines lines;  // at most 1.25 MiB of the input; empty at its end
    json::UnknownMembers unknown_members;
  };
  // A batch to parse, and the vector to use for its lines.
  struct Slot {
    std::promise<Batch> batch;
    Lines lines;
    std::vector<Document> documents = {};
    std::shared_ptr<const char[]> window = {};  // owns the texts of the documents
  };

  static constexpr std::chrono::milliseconds callback_interval{100};
  static constexpr unsigned max_threads = 16;
  static constexpr std::size_t max_ready_batches = 4;  // in addition to those being parsed

  void add_slot(Lines lines) {
    Slot slot{{}, std::move(lines)};
    std::future<Batch> batch = slot.batch.get_future();
    {
      const std::lock_guard lock(mutex_);
      slots_.push_back(std::move(slot));
      changed_.notify_one();
    }
    batches_.push_back(std::move(batch));
  }

  void run(json::Reader& reader, const std::stop_token& stop) {
    while (std::optional<Slot> slot = read(stop)) {
      try {
        slot->batch.set_value(parse(reader, std::move(slot->documents), std::move(slot->lines)));
      } catch (...) {
        slot->batch.set_exception(std::current_exception());
      }
    }
  }

  // Reads the documents of the next batch. Returns nullopt after the end or a failure of the input,
  // or when this object is being destroyed.
  std::optional<Slot> read(const std::stop_token& stop) {
    const std::lock_guard turn(reading_);
    if (is_read_) return std::nullopt;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return !slots_.empty(); });
    if (stop.stop_requested()) return std::nullopt;
    Slot slot = std::move(slots_.front());
    slots_.pop_front();
    lock.unlock();
    try {
      slot.documents = documents_.next();
      slot.window = documents_.window();
      is_read_ = slot.documents.empty();
      return slot;
    } catch (...) {
      is_read_ = true;
      slot.batch.set_exception(std::current_exception());
      return std::nullopt;
    }
  }

  Batch parse(json::Reader& reader, std::vector<Document> documents, Lines done) const {
    done.clear();
    Batch batch;
    batch.lines = std::move(done);
    json::ReadOptions options;
    options.unknown = &batch.unknown_members;
    options.is_load = true;
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
        if (keeps_texts_) parsed.text = document.text;
        reader.read(document.text, parsed.record.emplace(), options);
        if (on_parsed_) on_parsed_(parsed);
      } catch (const Error& error) {
        // A failure of the system is not an error of the line.
        if (problem(error.code()).status >= 500) throw;
        parsed.record.reset();
        parsed.refusal = std::make_unique<const Error>(error);
        parsed.text = document.text;
      }
    }
    return batch;
  }

  Input& input_;
  const bool keeps_texts_;
  const OnParsed<Line> on_parsed_;
  json::UnknownMembers unknown_members_;
  bool is_ended_ = false;

  std::mutex reading_;  // held by the thread that reads; taken before mutex_
  Documents documents_;
  std::atomic<bool> is_read_ = false;  // the input has ended or failed

  std::vector<json::Reader> readers_;  // of each thread, or of the loading thread
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Slot> slots_;             // of the batches to read
  std::vector<std::jthread> threads_;  // destroyed before the above, which ends the threads
  // What next() returns. Destroyed first: a promise without a result needs memory for an exception
  // if its future still exists, and ends the process if there is none.
  std::deque<std::future<Batch>> batches_;
};

}  // namespace comptroller::load
