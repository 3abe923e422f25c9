#include "http/responder.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/store.hpp"
#include "service/operations.hpp"

namespace py = pybind11;

namespace comptroller::bindings {

namespace {

using http::Responder;
using service::DeferredWrites;
using Ticket = DeferredWrites::Ticket;

Ticket submit_call(DeferredWrites& writes, const Store& store, const Principal& principal,
                   const std::string& operation, const Parameters& parameters,
                   const std::optional<py::bytes>& body, std::optional<std::string> idempotency_key,
                   std::optional<std::string> request_id) {
  const auto service = store.service();
  const service::Call call{&service::require_operation(operation), to_parameters(parameters),
                           body ? std::string(*body) : std::string(), std::move(idempotency_key),
                           std::move(request_id)};
  const GilReleased released;
  return writes.submit(*service, principal, call);
}

// Like to_python_error, but never throws a C++ exception: one failed write must not prevent the
// answers of the others.
py::object to_outcome(const std::exception_ptr& failure) {
  try {
    return to_python_error(failure);
  } catch (const std::exception& error) {
    return to_python_error(std::make_exception_ptr(Error(Code::internal, error.what())));
  }
}

py::list take_completed(DeferredWrites& writes) {
  py::list taken;
  for (const DeferredWrites::Completed& each : writes.take()) {
    const py::object outcome =
        each.failure ? to_outcome(each.failure)
                     : py::make_tuple(py::bytes(each.answer.body), each.answer.is_replay);
    taken.append(py::make_tuple(each.ticket, outcome));
  }
  return taken;
}

// A Responder that several Python threads may use.
class SharedResponder {
 public:
  explicit SharedResponder(http::ResponderOptions options) : responder_(std::move(options)) {}

  // Releases the GIL: a thread that holds the GIL never waits for the responder.
  template <class Work>
  auto with(const Work& work) {
    const GilReleased released;
    const std::lock_guard guard(mutex_);
    return work(responder_);
  }

 private:
  std::mutex mutex_;
  Responder responder_;
};

// Returns a function of SharedResponder for one of Responder.
template <class Result, class... Arguments>
auto shared(Result (Responder::*function)(Arguments...)) {
  return [function](SharedResponder& responder, Arguments... arguments) {
    return responder.with(
        [&](Responder& each) { return (each.*function)(std::move(arguments)...); });
  };
}

std::string text_or_empty(const py::object& text) {
  return text.is_none() ? std::string() : text.cast<std::string>();
}

std::unique_ptr<SharedResponder> make_responder(const py::iterable& rows,
                                                std::vector<double> bounds_s,
                                                std::size_t large_bytes) {
  http::ResponderOptions options{{}, std::move(bounds_s), large_bytes};
  for (const py::handle row : rows) {
    options.routes.push_back(
        {row.attr("method").cast<std::string>(), row.attr("path").cast<std::string>(),
         &service::require_operation(row.attr("operation").cast<std::string>()),
         row.attr("is_operators").cast<bool>(), text_or_empty(row.attr("envelope")),
         text_or_empty(row.attr("items_alias")), row.attr("header_lines").cast<py::bytes>()});
  }
  return std::make_unique<SharedResponder>(std::move(options));
}

// Returns the bytes to send, or, if the application is to send the answer, its body and whether it
// is replayed.
py::object to_python(const http::Response& response) {
  const std::string& head = response.head;
  const std::string& body = response.body;
  if (head.empty()) return py::make_tuple(py::bytes(body), response.is_replay);
  PyObject* bytes =
      PyBytes_FromStringAndSize(nullptr, static_cast<py::ssize_t>(head.size() + body.size()));
  if (bytes == nullptr) throw py::error_already_set();
  char* const out = PyBytes_AS_STRING(bytes);
  head.copy(out, head.size());
  body.copy(out + head.size(), body.size());
  return py::reinterpret_steal<py::object>(bytes);
}

Timestamp to_timestamp(double seconds) {
  constexpr double latest_s = 253'402'300'799;
  return {static_cast<std::int64_t>(std::floor(std::min(latest_s, seconds) * 1'000'000))};
}

py::object read(SharedResponder& responder, const Store& store, const py::bytes& target,
                const http::Fields& fields, bool keeps_alive, double now_s) {
  const http::Request request{"GET", target, fields.headers, {}, keeps_alive, to_timestamp(now_s)};
  const auto response =
      responder.with([&](Responder& each) { return each.read(store.service(), request); });
  return response ? to_python(*response) : py::none();
}

std::optional<Ticket> submit(SharedResponder& responder, const Store& store, DeferredWrites& writes,
                             const py::bytes& method, const py::bytes& target,
                             const http::Fields& fields, const py::bytes& body, bool keeps_alive,
                             double now_s) {
  const http::Request request{method, target,      fields.headers,
                              body,   keeps_alive, to_timestamp(now_s)};
  return responder.with(
      [&](Responder& each) { return each.submit(*store.service(), writes, request); });
}

py::object finish(SharedResponder& responder, Ticket ticket, const py::bytes& body,
                  bool is_replay) {
  service::Answer answer{body, is_replay};
  return to_python(
      responder.with([&](Responder& each) { return each.finish(ticket, std::move(answer)); }));
}

void admit(SharedResponder& responder, const std::string& token, const Principal& principal,
           const std::string& client, const std::string& customer, double until_s) {
  const Timestamp until = to_timestamp(until_s);
  responder.with([&](Responder& each) { each.admit(token, principal, client, customer, until); });
}

py::bytes client_of(SharedResponder& responder, const py::bytes& method, const py::bytes& target,
                    const http::Fields& fields, double now_s) {
  const http::Request request{method, target, fields.headers, {}, true, to_timestamp(now_s)};
  return responder.with([&](Responder& each) { return each.client_of(request); });
}

py::list counts(SharedResponder& responder) {
  py::list all;
  for (const http::Counts& each : responder.with([](Responder& held) { return held.counts(); })) {
    all.append(py::make_tuple(each.by_duration, each.seconds));
  }
  return all;
}

}  // namespace

void bind_responder(py::module_& module) {
  using py::arg;
  freeze(py::class_<DeferredWrites>(module, "DeferredWrites", py::is_final())
             .def(py::init<>())
             .def("submit", &submit_call, arg("store"), arg("principal"), arg("operation"),
                  arg("parameters"), arg("body") = py::none(), arg("idempotency_key") = py::none(),
                  arg("request_id") = py::none())
             .def("fileno", &DeferredWrites::descriptor)
             .def("take", &take_completed));
  freeze(
      py::class_<SharedResponder>(module, "Responder", py::is_final())
          .def(py::init(&make_responder), arg("routes"), py::kw_only(), arg("bounds_s"),
               arg("large_bytes"))
          .def("read", &read, arg("store"), arg("target"), arg("fields"), arg("keeps_alive"),
               arg("now_s"))
          .def("end_reads", shared(&Responder::end_reads))
          .def("submit", &submit, arg("store"), arg("writes"), arg("method"), arg("target"),
               arg("fields"), arg("body"), arg("keeps_alive"), arg("now_s"))
          .def("finish", &finish, arg("ticket"), arg("body"), arg("is_replay"))
          .def("discard", shared(&Responder::discard), arg("ticket"))
          .def("admit", &admit, arg("token"), arg("principal"), arg("client"), arg("customer"),
               arg("until_s"))
          .def("client_of", &client_of, arg("method"), arg("target"), arg("fields"), arg("now_s"))
          .def("forget", shared(&Responder::forget))
          .def("set_date", shared(&Responder::set_date), arg("line"))
          .def("take_log",
               [](SharedResponder& responder) {
                 const http::Lines lines = responder.with(std::mem_fn(&Responder::take_log));
                 return py::make_tuple(py::bytes(lines.text), lines.count);
               })
          .def("counts", &counts));
  module.def(
      "is_short",
      [](const Principal& principal, const std::string& operation, const Parameters& parameters) {
        return service::is_short(principal, service::require_operation(operation),
                                 to_parameters(parameters));
      },
      arg("principal"), arg("operation"), arg("parameters"));
  module.def(
      "wrap_answer",
      [](const py::bytes& answer, const py::object& envelope, const py::object& items_alias) {
        return py::bytes(
            http::wrap_answer(answer, text_or_empty(envelope), text_or_empty(items_alias)));
      },
      arg("answer"), arg("envelope"), arg("items_alias"));
}

}  // namespace comptroller::bindings
