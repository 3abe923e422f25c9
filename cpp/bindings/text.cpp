#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "arrow/text_reader.hpp"
#include "bindings/bindings.hpp"
#include "model/error.hpp"

namespace py = pybind11;

namespace comptroller::bindings {

namespace {

using arrow::TextFormat, arrow::TextPiece, arrow::TextReader;

// Name, whether a text may be a formula, whether it is JSON.
using Column = std::tuple<std::string, bool, bool>;

// Several threads may read it: each piece is given once. The GIL is released while the stream is
// read and while a thread is awaited, as both may need it.
class TextRows {
 public:
  TextRows(const py::capsule& capsule, const std::vector<Column>& columns, bool is_json) {
    if (std::string_view(capsule.name()) != "arrow_array_stream") {
      throw py::type_error("stream: must be the capsule of an Arrow stream");
    }
    auto* const stream = capsule.get_pointer<ArrowArrayStream>();
    if (stream->release == nullptr) throw Error::invalid("stream", "was read already");
    std::vector<arrow::TextColumn> described;
    described.reserve(columns.size());
    for (const auto& [name, is_formula, is_document] : columns) {
      described.push_back({name, {is_formula, is_document}});
    }
    const py::gil_scoped_release released;
    reader_ =
        std::make_unique<TextReader>(arrow::Owned<ArrowArrayStream>(std::exchange(*stream, {})),
                                     described, is_json ? TextFormat::json : TextFormat::csv);
  }
  ~TextRows() {
    const py::gil_scoped_release released;
    reader_.reset();
  }
  TextRows(const TextRows&) = delete;
  TextRows& operator=(const TextRows&) = delete;

  std::optional<TextPiece> next() {
    const py::gil_scoped_release released;
    const std::lock_guard lock(mutex_);
    return reader_->next();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<TextReader> reader_;
};

py::buffer_info bytes_of(TextPiece& piece) {
  return {reinterpret_cast<unsigned char*>(piece.text.data()),
          static_cast<py::ssize_t>(piece.text.size()), true};
}

}  // namespace

void bind_text(py::module_& module) {
  using py::arg;
  seal(py::class_<TextPiece>(module, "TextPiece", py::buffer_protocol(), py::is_final())
           .def_readonly("rows", &TextPiece::rows)
           .def_buffer(&bytes_of));
  seal(py::class_<TextRows>(module, "TextRows", py::is_final())
           .def(py::init<const py::capsule&, const std::vector<Column>&, bool>(), arg("stream"),
                arg("columns"), arg("is_json"))
           .def("next", &TextRows::next));
}

}  // namespace comptroller::bindings
