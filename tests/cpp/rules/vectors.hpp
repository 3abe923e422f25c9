// The cases of tests/vectors/*.json as arguments of the rules. Tests of the service and of Python
// run the same cases.
#pragma once

#include <doctest/doctest.h>
#include <simdjson.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/error.hpp"
#include "model/principal.hpp"
#include "model/records.hpp"

namespace comptroller::rules {

class Case {
 public:
  explicit Case(simdjson::dom::object object) : object_(object) {}

  bool has(std::string_view name) const { return object_[name].error() == simdjson::SUCCESS; }
  std::string text(std::string_view name) const {
    return std::string(object_[name].get_string().value());
  }
  bool flag(std::string_view name) const { return object_[name].get_bool().value(); }
  std::optional<bool> flag_if_there(std::string_view name) const {
    return has(name) ? std::optional(flag(name)) : std::nullopt;
  }
  Case object(std::string_view name) const { return Case(object_[name].get_object().value()); }
  std::vector<std::string> texts(std::string_view name) const {
    std::vector<std::string> result;
    const simdjson::dom::array array = object_[name].get_array().value();
    for (const simdjson::dom::element element : array) {
      result.emplace_back(element.get_string().value());
    }
    return result;
  }
  // The expected code; empty if no error is expected.
  std::string code() const { return has("code") ? text("code") : ""; }
  std::string shown() const { return simdjson::minify(object_); }

 private:
  simdjson::dom::object object_;
};

class Vectors {
 public:
  explicit Vectors(const std::string& name);
  auto begin() const { return cases_.begin(); }
  auto end() const { return cases_.end(); }

 private:
  simdjson::dom::parser parser_;
  std::vector<Case> cases_;
};

// Runs `action` and returns the code of its error; empty without an error.
template <class Action>
std::string code_of(const Action& action) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    return std::string(problem(error.code()).code);
  }
}

inline const Timestamp instant{1'700'000'000'000'000};
inline const Timestamp earlier_moment{instant.microseconds - 1};
inline const Timestamp later_moment{instant.microseconds + 1};

inline Principal principal_of(std::string_view principal) {
  if (principal == "operator") return {std::nullopt, "operator", {}};
  return {"acme", "acme-app", {}};
}

// Makes the control described by "TYPE/SET_BY", "TYPE/SET_BY/overridable" or
// "TYPE/SET_BY/enforced".
inline Control control_of(const std::string& description, const std::string& id = "c1") {
  const std::size_t first = description.find('/');
  const std::size_t second = description.find('/', first + 1);
  Control control;
  control.id = Id{id};
  control.identity_id = Id{"i1"};
  control.type = find_enum<ControlType>(description.substr(0, first)).value();
  control.set_by = find_enum<SetBy>(description.substr(first + 1, second - first - 1)).value();
  control.is_overridable = second != std::string::npos && description.ends_with("overridable");
  control.created_at = earlier_moment;
  return control;
}

inline std::vector<Control> controls_of(const std::vector<std::string>& descriptions) {
  std::vector<Control> controls;
  for (const std::string& description : descriptions) {
    controls.push_back(control_of(description, "c" + std::to_string(controls.size() + 1)));
  }
  return controls;
}

inline std::string describe(const Control& control) {
  return std::string(enum_text(control.type)) + "/" + std::string(enum_text(control.set_by)) +
         (control.is_overridable ? "/overridable" : "/enforced");
}

inline std::vector<std::string> enum_texts(const std::vector<Action>& actions) {
  std::vector<std::string> words;
  for (const Action action : actions) words.emplace_back(enum_text(action));
  return words;
}

}  // namespace comptroller::rules
