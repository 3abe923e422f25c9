#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "arrow/lines.hpp"
#include "arrow/text_reader.hpp"
#include "bindings/bindings.hpp"
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
constexpr py::release_gil_before_calling_cpp_dtor closing_releases_gil;

// For several threads; each piece is returned once.
class TextRows {
 public:
  TextRows(const py::capsule& capsule, const std::vector<Column>& columns, bool is_json) {
    auto stream = take_stream(capsule);
    std::vector<arrow::TextColumn> described;
    described.reserve(columns.size());
    for (const auto& [name, is_formula, is_document] : columns) {
      described.push_back({name, {is_formula, is_document}});
    }
    const py::gil_scoped_release released;
    const auto format = is_json ? TextFormat::json : TextFormat::csv;
    reader_.emplace(std::move(stream), described, format);
  }

  std::optional<TextPiece> next() {
    const py::gil_scoped_release released;
    const std::lock_guard lock(mutex_);
    return reader_->next();
  }

 private:
  std::mutex mutex_;
  std::optional<TextReader> reader_;
};

// The rows as NDJSON to load, for one reader at a time, in any thread.
class ArrowLines {
 public:
  ArrowLines(const py::capsule& capsule, const std::string& kind) {
    auto stream = take_stream(capsule);
    const py::gil_scoped_release released;
    refuse_broken([&] {
      reader_.emplace(std::move(stream), [&](const ArrowSchema& schema) {
        return arrow::make_line_formatter(kind, schema);
      });
    });
  }

  std::size_t readinto(const py::buffer& buffer) {
    const WritableBytes target(buffer);
    const py::gil_scoped_release released;
    const std::lock_guard lock(mutex_);
    refuse_broken([&] {
      while (piece_ && copied_ == piece_->text.size()) {
        piece_ = reader_->next();
        copied_ = 0;
      }
    });
    if (!piece_) return 0;
    const std::size_t size = std::min(target.span().size(), piece_->text.size() - copied_);
    std::memcpy(target.span().data(), piece_->text.data() + copied_, size);
    copied_ += size;
    return size;
  }

  void abandon() const {}  // a read of a library's own stream cannot be ended early

 private:
  // Reports a failure of the stream as an error of the argument `source`.
  template <class Work>
  static void refuse_broken(Work work) {
    try {
      work();
    } catch (const Error& error) {
      if (error.code() != Code::unavailable) throw;
      throw Error::invalid("source", "cannot be read: " + error.detail());
    }
  }

  std::mutex mutex_;
  std::optional<TextReader> reader_;
  std::optional<TextPiece> piece_ = TextPiece{};  // nullopt at the end
  std::size_t copied_ = 0;                        // of the piece
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
  seal(py::class_<TextRows>(module, "TextRows", py::is_final(), closing_releases_gil)
           .def(py::init<const py::capsule&, const std::vector<Column>&, bool>(), arg("stream"),
                arg("columns"), arg("is_json"))
           .def("next", &TextRows::next));
  seal(py::class_<ArrowLines>(module, "ArrowLines", py::is_final(), closing_releases_gil)
           .def(py::init<const py::capsule&, const std::string&>(), arg("stream"), arg("kind"))
           .def("readinto", &ArrowLines::readinto, arg("buffer"), py::pos_only())
           .def("abandon", &ArrowLines::abandon));
}

}  // namespace comptroller::bindings
