#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

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
  std::optional<Line> record = {};
  std::unique_ptr<const Error> refusal = {};
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
                     : std::clamp(std::thread::hardware_concurrency(), 1U, max_threads)),
        batches_(input.is_for_loading_thread() ? 1 : max_ahead + readers_.size()) {
    if (input.is_for_loading_thread()) return;
    threads_.reserve(readers_.size());
    for (json::Reader& reader : readers_) {
      try {
        threads_.emplace_back([&] { run(reader); });
      } catch (...) {  // fewer threads are enough
        if (threads_.empty()) throw;
        break;
      }
    }
  }

  // Ends the threads, even before the end of the input.
  ~ParsedLines() {
    bool was_read = true;
    {
      const std::lock_guard lock(mutex_);
      was_read = std::exchange(is_read_, true);
    }
    may_read_.notify_all();
    if (!threads_.empty() && !was_read) input_.abandon();
  }
  ParsedLines(const ParsedLines&) = delete;
  ParsedLines& operator=(const ParsedLines&) = delete;

  // Returns the next lines, in order; none at the end. Throws the exceptions of the input. Calls
  // `while_waiting`, which may throw, ten times a second. A parsing thread reads other lines into
  // the memory of those in `done`.
  Lines next(Lines done, const std::function<void()>& while_waiting) {
    if (is_ended_) return {};
    if (threads_.empty()) {
      batches_.front().lines = std::move(done);
      parse(readers_.front(), documents_.next(), batches_.front());
    } else {
      give_back(std::move(done));
      wait(while_waiting);
    }
    Batch& batch = batches_[first_];
    if (batch.failure) std::rethrow_exception(batch.failure);
    is_taken_ = true;
    is_ended_ = batch.lines.empty();
    for (const auto& [path, times] : batch.unknown_members) {
      json::count_unknown(unknown_members_, path, times);
    }
    return std::move(batch.lines);
  }

  // Whether next() returns without waiting.
  bool is_ready() const {
    if (threads_.empty()) return false;
    const std::lock_guard lock(mutex_);
    const std::size_t next = is_taken_ ? (first_ + 1) % batches_.size() : first_;
    return batches_[next].is_parsed;
  }

  // Whether next() reads and parses in the caller's thread.
  bool is_in_this_thread() const { return threads_.empty(); }

  // Unknown members, and the number of lines with each; complete after the end.
  const json::UnknownMembers& unknown_members() const { return unknown_members_; }

 private:
  struct Batch {
    Lines lines = {};  // at most 1.25 MiB of the input; empty at its end
    json::UnknownMembers unknown_members = {};
    std::exception_ptr failure = {};
    bool is_parsed = false;
  };

  static constexpr std::chrono::milliseconds callback_interval{100};
  static constexpr unsigned max_threads = 16;
  static constexpr std::size_t max_ahead = 12;  // in addition to those being parsed

  // Gives the first batch, if it was taken, to the parsing threads. Those that wait for room are
  // woken when there is room for several batches, because each wake takes time.
  void give_back(Lines done) {
    if (!std::exchange(is_taken_, false)) return;
    {
      const std::lock_guard lock(mutex_);
      Batch& batch = batches_[first_];
      batch.lines = std::move(done);
      batch.is_parsed = false;
      first_ = (first_ + 1) % batches_.size();
      if (--count_ > batches_.size() / 2) return;
    }
    may_read_.notify_all();
  }

  // Waits until the first batch is parsed.
  void wait(const std::function<void()>& while_waiting) {
    std::unique_lock lock(mutex_);
    while (!parsed_.wait_for(lock, callback_interval, [&] { return batches_[first_].is_parsed; })) {
      lock.unlock();
      while_waiting();
      lock.lock();
    }
  }

  void run(json::Reader& reader) {
    while (Batch* const batch = begin_reading()) {
      std::vector<Document> documents;
      std::shared_ptr<const char[]> window;  // owns the texts of the documents
      batch->failure = {};
      try {
        documents = documents_.next();
        window = documents_.window();
      } catch (...) {
        batch->failure = std::current_exception();
      }
      end_reading(!documents.empty());
      try {
        if (!batch->failure) parse(reader, std::move(documents), *batch);
      } catch (...) {
        batch->failure = std::current_exception();
      }
      {
        const std::lock_guard lock(mutex_);
        batch->is_parsed = true;
        if (batch != &batches_[first_]) continue;
      }
      parsed_.notify_one();
    }
  }

  // Waits until this thread may read, and returns the batch to read. Returns null after the end or
  // a failure of the input, or when this object is being destroyed.
  Batch* begin_reading() {
    std::unique_lock lock(mutex_);
    may_read_.wait(lock, [&] { return is_read_ || (!is_reading_ && count_ < batches_.size()); });
    if (is_read_) return nullptr;
    is_reading_ = true;
    return &batches_[(first_ + count_++) % batches_.size()];
  }

  void end_reading(bool has_more) {
    {
      const std::lock_guard lock(mutex_);
      is_reading_ = false;
      if (!has_more) is_read_ = true;
    }
    has_more ? may_read_.notify_one() : may_read_.notify_all();
  }

  void parse(json::Reader& reader, std::vector<Document> documents, Batch& batch) const {
    batch.unknown_members.clear();
    json::ReadOptions options;
    options.unknown = &batch.unknown_members;
    options.is_load = true;
    options.is_padded = true;
    batch.lines.resize(documents.size());
    for (std::size_t i = 0; i < documents.size(); ++i) {
      Document& document = documents[i];
      ParsedLine<Line>& parsed = batch.lines[i];
      parsed.line = document.line;
      parsed.item = document.item;
      parsed.number = 0;
      parsed.size = document.text.size();
      parsed.refusal = std::move(document.refusal);
      parsed.text.clear();
      parsed.content.reset();
      if (document.is_blank || parsed.refusal) {
        parsed.record.reset();
        continue;
      }
      try {
        if (keeps_texts_) parsed.text = document.text;
        if (!parsed.record) parsed.record.emplace();
        reader.read(document.text, *parsed.record, options);
        if (on_parsed_) on_parsed_(parsed);
      } catch (const Error& error) {
        // A failure of the system is not an error of the line.
        if (problem(error.code()).status >= 500) throw;
        parsed.record.reset();
        parsed.refusal = std::make_unique<const Error>(error);
        parsed.text = document.text;
      }
    }
  }

  Input& input_;
  const bool keeps_texts_;
  const OnParsed<Line> on_parsed_;
  json::UnknownMembers unknown_members_;
  bool is_ended_ = false;

  Documents documents_;                // of the thread that reads
  std::vector<json::Reader> readers_;  // of each thread, or of the loading thread

  mutable std::mutex mutex_;
  std::condition_variable may_read_;
  std::condition_variable parsed_;
  // A ring: `count_` batches from `first_` on are read, parsed or taken, in the order of the input.
  // A batch belongs to the thread that parses it, then to the loading thread.
  std::vector<Batch> batches_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  bool is_taken_ = false;    // the first batch is; only the loading thread uses this
  bool is_reading_ = false;  // a thread reads
  bool is_read_ = false;     // the input has ended or failed, or nothing more is to be read

  std::vector<std::jthread> threads_;  // destroyed first, which waits for their end
};

}  // namespace comptroller::load
