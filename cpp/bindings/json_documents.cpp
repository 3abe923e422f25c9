#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/python_input.hpp"
#include "load/documents.hpp"
#include "load/validator.hpp"
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
    const std::unique_ptr<const Error> refusal = validator_.check(document.text);
    return refusal ? std::optional(shown(*refusal)) : std::nullopt;
  }

  PythonInput input_;
  load::Documents documents_;
  load::Validator validator_;
};

}  // namespace

void bind_documents(py::module_& module) {
  freeze(py::class_<Documents>(module, "Documents", py::is_final())
             .def(py::init<py::object>(), py::arg("source"))
             .def("next", &Documents::next));
}

}  // namespace comptroller::bindings
