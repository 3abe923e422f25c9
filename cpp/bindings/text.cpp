#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrow/lines.hpp"
#include "arrow/text_reader.hpp"
#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "files/csv.hpp"
#include "model/amount.hpp"
#include "model/error.hpp"

namespace py = pybind11;

namespace comptroller::bindings {

namespace {

using arrow::TextFormat, arrow::TextReader, files::TextPiece;

// (name, whether the text may contain a formula, whether the text is JSON)
using Column = std::tuple<std::string, bool, bool>;

arrow::Owned<ArrowArrayStream> take_stream(const py::capsule& capsule) {
  if (std::string_view(capsule.name()) != "arrow_array_stream") {
    throw py::type_error("stream: must be the capsule of an Arrow stream");
  }
  auto* const stream = capsule.get_pointer<ArrowArrayStream>();
  if (stream->release == nullptr) throw Error::invalid("stream", "was read already");
  return arrow::Owned<ArrowArrayStream>(std::exchange(*stream, {}));
}

// The GIL is released while a stream is read or closed and while another thread is awaited, because
// all of them may need it.

// For several threads; each piece is returned once.
class TextRows {
 public:
  // `format` are the arguments of TextReader after the stream.
  template <class... Format>
  explicit TextRows(const py::capsule& capsule, const Format&... format) {
    auto stream = take_stream(capsule);
    const GilReleased released;
    reader_ = std::make_unique<TextReader>(std::move(stream), format...);
  }
  ~TextRows() {
    const GilReleased released;
    reader_.reset();
  }
  TextRows(const TextRows&) = delete;
  TextRows& operator=(const TextRows&) = delete;

  std::optional<TextPiece> next() {
    const GilReleased released;
    const std::lock_guard lock(mutex_);
    return reader_->next();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<TextReader> reader_;
};

std::unique_ptr<TextRows> text_rows(const py::capsule& stream, const std::vector<Column>& columns,
                                    bool is_json) {
  std::vector<arrow::TextColumn> described;
  described.reserve(columns.size());
  for (const auto& [name, is_formula, is_document] : columns) {
    described.push_back({name, {is_formula, is_document}});
  }
  return std::make_unique<TextRows>(stream, described,
                                    is_json ? TextFormat::json : TextFormat::csv);
}

std::unique_ptr<TextRows> arrow_lines(const py::capsule& stream, const std::string& kind) {
  return std::make_unique<TextRows>(
      stream, [&](const ArrowSchema& schema) { return arrow::make_line_formatter(kind, schema); });
}

py::buffer_info bytes_of(TextPiece& piece) {
  return {reinterpret_cast<unsigned char*>(piece.text.data()),
          static_cast<py::ssize_t>(piece.text.size()), true};
}

}  // namespace

void bind_text(py::module_& module) {
  using py::arg;
  freeze(py::class_<TextPiece>(module, "TextPiece", py::buffer_protocol(), py::is_final())
             .def_readonly("rows", &TextPiece::rows)
             .def_buffer(&bytes_of));
  freeze(py::class_<TextRows>(module, "TextRows", py::is_final())
             .def(py::init(&text_rows), arg("stream"), arg("columns"), arg("is_json"))
             .def("next", &TextRows::next));
  module.def("arrow_lines", &arrow_lines, arg("stream"), arg("kind"));
  module.def("begins_formula", &files::begins_formula, arg("text"));
  module.def("exact_number", &exact_number, arg("text"));
}

}  // namespace comptroller::bindings
