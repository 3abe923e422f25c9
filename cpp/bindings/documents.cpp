#include "load/documents.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/python_input.hpp"
#include "files/csv.hpp"
#include "json/document.hpp"
#include "model/error.hpp"

namespace py = pybind11;

namespace comptroller::bindings {

namespace {

// The code, the invalid member and the message of an error.
using Refusal = std::tuple<std::string, std::string, std::string>;
// The line, the item and the text.
using Document = std::tuple<std::uint64_t, std::uint64_t, py::bytes, std::optional<Refusal>>;

Refusal shown(const Error& error) {
  const std::string member = error.errors().empty() ? "" : error.errors().front().field;
  return {std::string(problem(error.code()).code), member, error.detail()};
}

// The documents of a Python object with `readinto`, each validated. For one thread at a time.
class Documents {
 public:
  explicit Documents(py::object source) : input_(std::move(source), true), documents_(input_) {}

  std::vector<Document> next() {
    std::vector<Document> found;
    for (const load::Document& each : documents_.next()) {
      const std::string_view text = each.is_blank ? std::string_view() : each.text;
      found.emplace_back(each.line, each.item, py::bytes(text.data(), text.size()),
                         refusal_of(each));
    }
    return found;
  }

 private:
  std::optional<Refusal> refusal_of(const load::Document& document) {
    if (document.refusal) return shown(*document.refusal);
    if (document.is_blank) return std::nullopt;
    try {
      refuse_duplicates(parser_.parse(document.text, true));
    } catch (const Error& error) {
      if (problem(error.code()).status >= 500) throw;
      return shown(error);
    }
    return std::nullopt;
  }

  static void refuse_duplicates(const simdjson::dom::object& object) {
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : object) {
      json::refuse_duplicates(value);
      keys.push_back(key);
    }
    std::ranges::sort(keys);
    if (const auto repeated = std::ranges::adjacent_find(keys); repeated != keys.end()) {
      throw Error::invalid(*repeated, "appears more than once");
    }
  }

  PythonInput input_;
  load::Documents documents_;
  json::Parser parser_;
};

}  // namespace

void bind_documents(py::module_& module) {
  seal(py::class_<Documents>(module, "Documents", py::is_final())
           .def(py::init<py::object>(), py::arg("source"))
           .def("next", &Documents::next));
  module.def("begins_formula", &files::begins_formula, py::arg("text"));
}

}  // namespace comptroller::bindings
