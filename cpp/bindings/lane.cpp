#include "http/lane.hpp"

#include <pybind11/stl.h>

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

using http::Lane;
using service::DeferredWrites;
using Ticket = DeferredWrites::Ticket;

Ticket submit_call(DeferredWrites& writes, const Store& store, const Principal& principal,
                   std::string operation, const Parameters& parameters,
                   const std::optional<py::bytes>& body,
                   std::optional<std::string> idempotency_key) {
  const service::Call call{std::move(operation), to_parameters(parameters),
                           body ? std::string(*body) : std::string(), std::move(idempotency_key)};
  const GilReleased released;
  return writes.submit(*store.service(), principal, call);
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

// A Lane that several Python threads may use.
class SharedLane {
 public:
  explicit SharedLane(http::LaneOptions options) : lane_(std::move(options)) {}

  // Releases the GIL: a thread that holds the GIL never waits for the lane.
  template <class Work>
  auto with(const Work& work) {
    const GilReleased released;
    const std::lock_guard guard(mutex_);
    return work(lane_);
  }

 private:
  std::mutex mutex_;
  Lane lane_;
};

// Returns a function of SharedLane for one of Lane.
template <class Result, class... Arguments>
auto shared(Result (Lane::*function)(Arguments...)) {
  return [function](SharedLane& lane, Arguments... arguments) {
    return lane.with([&](Lane& each) { return (each.*function)(std::move(arguments)...); });
  };
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

std::string text_or_empty(const py::object& text) {
  return text.is_none() ? std::string() : text.cast<std::string>();
}

http::Route to_route(const py::handle& row) {
  return {row.attr("method").cast<std::string>(),
          row.attr("path").cast<std::string>(),
          row.attr("operation").cast<std::string>(),
          row.attr("is_operators").cast<bool>(),
          text_or_empty(row.attr("envelope")),
          text_or_empty(row.attr("items_alias")),
          http::Template(std::string(row.attr("head").cast<py::bytes>())),
          http::Template(std::string(row.attr("log_line").cast<py::bytes>()))};
}

std::unique_ptr<SharedLane> make_lane(const py::iterable& routes, std::vector<double> bounds_s,
                                      std::size_t large_bytes, const py::bytes& large_body_header,
                                      const py::bytes& replay_header) {
  http::LaneOptions options{{}, std::move(bounds_s), large_bytes, large_body_header, replay_header};
  for (const py::handle route : routes) options.routes.push_back(to_route(route));
  return std::make_unique<SharedLane>(std::move(options));
}

py::object read(SharedLane& lane, const Store& store, const py::bytes& data) {
  const std::string_view bytes = data;
  const auto response = lane.with([&](Lane& each) { return each.read(store.service(), bytes); });
  return response ? to_python(*response) : py::none();
}

std::optional<Ticket> submit(SharedLane& lane, const Store& store, DeferredWrites& writes,
                             const py::bytes& data) {
  const std::string_view bytes = data;
  return lane.with([&](Lane& each) { return each.submit(*store.service(), writes, bytes); });
}

py::object finish(SharedLane& lane, Ticket ticket, const py::bytes& body, bool is_replay) {
  service::Answer answer{body, is_replay};
  return to_python(lane.with([&](Lane& each) { return each.finish(ticket, std::move(answer)); }));
}

void admit(SharedLane& lane, const std::string& token, const Principal& principal,
           const std::string& client, const std::string& customer, double until_s) {
  constexpr double latest_s = 253'402'300'799;
  const double until_us = std::floor(std::min(latest_s, until_s) * 1'000'000);
  const Timestamp until{static_cast<std::int64_t>(until_us)};
  lane.with([&](Lane& each) { each.admit(token, principal, client, customer, until); });
}

// Returns the parts of a request that the lane uses; None if the lane does not accept the request.
py::object parse(const py::bytes& data) {
  const auto request = http::read_request(std::string_view(data));
  if (!request) return py::none();
  const auto& key = request->idempotency_key;
  return py::make_tuple(py::bytes(request->method), py::bytes(request->path),
                        py::bytes(request->query), py::bytes(request->token),
                        py::bytes(request->body), key ? py::object(py::bytes(*key)) : py::none(),
                        request->has_accept_encoding);
}

py::list counts(SharedLane& lane) {
  py::list all;
  for (const http::Counts& each : lane.with([](Lane& held) { return held.counts(); })) {
    all.append(py::make_tuple(each.by_duration, each.seconds));
  }
  return all;
}

}  // namespace

void bind_lane(py::module_& module) {
  using py::arg;
  seal(py::class_<DeferredWrites>(module, "DeferredWrites", py::is_final())
           .def(py::init<>())
           .def("submit", &submit_call, arg("store"), arg("principal"), arg("operation"),
                arg("parameters"), arg("body") = py::none(), arg("idempotency_key") = py::none())
           .def("fileno", &DeferredWrites::descriptor)
           .def("take", &take_completed));
  seal(py::class_<SharedLane>(module, "Lane", py::is_final())
           .def(py::init(&make_lane), arg("routes"), py::kw_only(), arg("bounds_s"),
                arg("large_bytes"), arg("large_body_header"), arg("replay_header"))
           .def("read", &read, arg("store"), arg("data"))
           .def("end_reads", shared(&Lane::end_reads))
           .def("submit", &submit, arg("store"), arg("writes"), arg("data"))
           .def("finish", &finish, arg("ticket"), arg("body"), arg("is_replay"))
           .def("discard", shared(&Lane::discard), arg("ticket"))
           .def("admit", &admit, arg("token"), arg("principal"), arg("client"), arg("customer"),
                arg("until_s"))
           .def("forget", shared(&Lane::forget))
           .def("set_default_headers", shared(&Lane::set_default_headers), arg("headers"))
           .def("take_log",
                [](SharedLane& lane) { return py::bytes(lane.with(std::mem_fn(&Lane::take_log))); })
           .def("counts", &counts)
           .def_static("parse", &parse, arg("data")));
  module.def(
      "is_short",
      [](const Principal& principal, const std::string& operation, const Parameters& parameters) {
        return service::is_short(principal, operation, to_parameters(parameters));
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
