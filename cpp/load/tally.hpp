// Counts the outcomes of a load's lines and lists the rejected ones.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "json/excerpts.hpp"
#include "load/result.hpp"
#include "model/error.hpp"
#include "service/ingestion.hpp"

namespace comptroller::load {

// Returns what rejections for one reason have in common: a message without its quoted texts and its
// words with digits, which are values of the line.
std::string rule_of(std::string_view message);

class Tally {
  // By member, code and rule.
  using Groups = std::map<std::tuple<std::string, Code, std::string>, RejectionGroup>;

 public:
  // A line that was rejected.
  struct Line {
    std::uint64_t number = 0;  // among all lines, from 1
    std::uint64_t line = 0;    // in its file
    std::uint64_t item = 0;    // in its line, from 1; 0 if the line is one item
    std::string_view id_name;  // the member that is the id of a record
  };
  // Called with each rejection and the text of its line.
  using OnRejection = std::function<void(const Rejection* rejection, std::string_view text)>;

  explicit Tally(const OnRejection& on_rejection) : on_rejection_(on_rejection) {}

  // Counts a line that was read; returns its number.
  std::uint64_t read() { return ++result_.read; }
  void blank() { ++result_.blank; }
  void taken(service::Outcome outcome);
  // `text_of` returns the text of the line; it is called only if the rejection is listed or
  // reported.
  void reject(const Line& line, const Error& error, const std::function<std::string()>& text_of);

  // Between these calls, the lines are deferred ones, which may come before lines that are listed
  // already. Rejections are listed in the order of lines.
  void begin_deferred() { is_deferred_ = true; }
  void end_deferred();

  const Result& counts() const { return result_; }
  void set_committed(bool committed) { result_.committed = committed; }
  void set_unknown_members(const json::UnknownMembers& members) {
    result_.unknown_members = members;
  }
  Result result() &&;

  // The state before a part of a load, to which `back_to` returns.
  struct Mark {
    Result result;
    std::size_t listed = 0;
    Groups groups;
  };
  Mark mark() const;
  void back_to(Mark mark);

 private:
  void count(const std::string& member, const Error& error, std::uint64_t line,
             const std::string& message);

  const OnRejection& on_rejection_;
  Result result_;
  std::vector<Rejection> rejections_;
  Groups groups_;
  bool is_deferred_ = false;
  json::Excerpts excerpts_;
};

}  // namespace comptroller::load
