#include "load/tally.hpp"

#include <algorithm>
#include <tuple>

#include "model/ascii.hpp"

namespace comptroller::load {

namespace {

constexpr std::size_t max_rejections_listed = 1000;
constexpr std::size_t max_groups = 1000;

}  // namespace

std::string rule_of(std::string_view message) {
  std::string rule;
  while (!message.empty()) {
    const char first = message.front();
    std::size_t size = 1;
    bool is_value = false;
    if (first == '"' || first == '\'') {
      const std::size_t close = message.find(first, 1);
      is_value = close != std::string_view::npos;
      if (is_value) size = close + 1;
    } else if (first != ' ') {
      size = std::min(message.find_first_of(" \"'"), message.size());
      is_value = std::ranges::any_of(message.substr(0, size), is_digit);
    }
    if (!is_value) rule += message.substr(0, size);
    message.remove_prefix(size);
  }
  return rule;
}

void Tally::taken(service::Outcome outcome) {
  using enum service::Outcome;
  ++(outcome == inserted  ? result_.inserted
     : outcome == updated ? result_.updated
                          : result_.unchanged);
}

void Tally::reject(const Line& line, const Error& error,
                   const std::function<std::string()>& text_of) {
  ++result_.rejected;
  std::string message = error.detail();
  if (line.item > 0) message = "item " + std::to_string(line.item) + ": " + message;
  const std::string path = error.errors().empty() ? "" : error.errors().front().field;
  const std::string member = path.substr(0, path.find_first_of(".["));
  count(member, error, line.line, message);
  const bool is_listed = rejections_.size() < max_rejections_listed || is_deferred_;
  if (!is_listed && !on_rejection_) return;
  const std::string text = text_of();
  Rejection rejection;
  rejection.number = line.number;
  rejection.line = line.line;
  rejection.id = excerpts_.value_of(text, line.id_name);
  if (!member.empty()) rejection.member = member;
  rejection.value = excerpts_.value_of(text, member);
  rejection.code = problem(error.code()).code;
  rejection.message = std::move(message);
  if (on_rejection_) on_rejection_(&rejection, text);
  if (is_listed) rejections_.push_back(std::move(rejection));
}

void Tally::end_deferred() {
  is_deferred_ = false;
  std::ranges::sort(rejections_, {}, &Rejection::number);
  if (rejections_.size() > max_rejections_listed) rejections_.resize(max_rejections_listed);
}

void Tally::count(const std::string& member, const Error& error, std::uint64_t line,
                  const std::string& message) {
  std::tuple key(member, error.code(), rule_of(error.detail()));
  auto group = groups_.find(key);
  if (group == groups_.end() && groups_.size() >= max_groups) {
    std::get<2>(key).clear();  // one group for all further rules of the member
    group = groups_.find(key);
  }
  if (group == groups_.end()) {
    group = groups_.try_emplace(std::move(key)).first;
    if (!member.empty()) group->second.member = member;
    group->second.code = problem(error.code()).code;
  }
  if (group->second.lines == 0 || line < group->second.first_line) {  // deferred lines come later
    group->second.first_line = line;
    group->second.message = message;
  }
  ++group->second.lines;
}

Result Tally::result() && {
  result_.rejections = std::move(rejections_);
  for (const auto& [key, group] : groups_) result_.rejection_groups.push_back(group);
  std::ranges::sort(result_.rejection_groups,
                    [](const RejectionGroup& one, const RejectionGroup& other) {
                      return std::tie(other.lines, one.member, one.code, one.first_line) <
                             std::tie(one.lines, other.member, other.code, other.first_line);
                    });
  return std::move(result_);
}

Tally::Mark Tally::mark() const {
  return {result_, rejections_.size(), groups_};
}

void Tally::back_to(Mark mark) {
  result_ = std::move(mark.result);
  rejections_.resize(mark.listed);
  groups_ = std::move(mark.groups);
}

}  // namespace comptroller::load
