// Makes the rows of the table of operations: reads their requests, runs their handlers, and
// completes their descriptions.
#pragma once

#include <algorithm>
#include <array>
#include <functional>

#include "json/reader.hpp"
#include "model/type_name.hpp"
#include "service/completion.hpp"
#include "service/handlers.hpp"
#include "service/operations.hpp"
#include "store/operator_indexes.hpp"

namespace comptroller::service {

// A malformed id in a path is not found; in a query or body it is an invalid request.
template <Record Request>
void check_path_id(const Call& call) {
  for (const Parameter& parameter : call.parameters) {
    if (parameter.name == "id" && !Scalar<bare<decltype(Request::id)>>::parse(parameter.value)) {
      throw Error(Code::not_found, "there is no record of this id");
    }
  }
}

// A member in both a parameter and the body must have the same value in both.
template <Record Request>
void merge_agreeing(const Request& query, Request& request) {
  for_each_field<Request>([&]<class F>() {
    const auto& named = query.*F::member;
    auto& member = request.*F::member;
    if (!named) return;
    if (member && *member != *named) {
      throw Error::invalid(F::name, "differs between the query and the body");
    }
    member = named;
  });
}

template <Record Request>
constexpr std::string_view envelope_of() {
  if constexpr (requires { Request::body_envelope; }) return Request::body_envelope;
  return {};
}

inline json::Reader& reader_of_thread() {
  thread_local json::Reader reader;
  return reader;
}

template <Record Request>
void read_body(const Call& call, json::ReadOptions options, Request& request) {
  options.envelope = envelope_of<Request>();
  reader_of_thread().read(call.body.empty() ? "{}" : std::string_view(call.body), request, options);
}

// Reads the request of a call from its parameters and its body, as `source` states.
template <Record Request, RequestSource source>
Request read_request(const Call& call) {
  using enum RequestSource;
  static constexpr std::array<std::string_view, 1> path_names{"id"};
  Request request{};
  if constexpr (!has_body(source)) {
    if constexpr (source == path_id) check_path_id<Request>(call);
    if (!call.body.empty()) throw Error(Code::invalid_request, "this operation takes no body");
    read_parameters<Request>(call.parameters, request, field_names<Request>);
  } else if constexpr (source == either) {
    Request query{};
    read_parameters<Request>(call.parameters, query, field_names<Request>);
    read_body(call, {}, request);
    merge_agreeing(query, request);
  } else if constexpr (source == body) {
    read_parameters<Request>(call.parameters, request, {});
    read_body(call, {}, request);
  } else {
    check_path_id<Request>(call);
    read_parameters<Request>(call.parameters, request, path_names);
    const Id id = request.id;
    json::ReadOptions options;
    options.given_fields = path_names;
    options.may_repeat = source == id_in_both;
    read_body(call, options, request);
    if (request.id != id) {
      throw Error::field(Code::id_mismatch, "address.id",
                         "is " + request.id.value + ", but the path names " + id.value);
    }
  }
  return request;
}

// A handler of requests. A list answers a PageOf, other operations a record.
template <class Answer, Record Request>
using Handler = Answer (*)(Context&, const Request&);

// Reads the request of a call, and returns the call of the handler.
template <RequestSource source, class Answer, Record Request>
PreparedCall prepare(Handler<Answer, Request> handler, const Operation& operation,
                     const Principal& principal, const Call& call) {
  auto request = read_request<Request, source>(call);
  complete(request, principal);
  std::string canonical = call.idempotency_key ? canonical_text(request) : "";
  return {std::move(canonical),
          [handler, request = std::move(request), &operation](
              Service& service, const Principal& caller, db::Connection& connection) {
            Context context{connection,
                            caller,
                            service.environment(),
                            service.cursor_keys(connection),
                            service.background(),
                            operation.name,
                            service.environment().now()};
            auto answer = handler(context, request);
            if constexpr (Record<Answer>) {
              return json::to_text(answer, audience_of(caller));
            } else {
              return std::move(answer.json);
            }
          }};
}

// The number of index ranges that one parameter adds to a page; see ranges_per_value.
template <Record Request>
std::optional<std::size_t> ranges_of(std::string_view parameter) {
  std::optional<std::size_t> ranges;
  for_each_field<Request>([&]<class F>() {
    if (F::name == parameter) ranges = ranges_per_value<typename F::Filter>;
  });
  return ranges;
}

// Whether a page is small and narrowed by at most one filter, which an index in the order of the
// page serves, so that it visits few rows more than it has. Each value of the filter adds a range
// of that index for each customer whose rows are merged.
template <Record Request>
bool is_short_page(const Principal& principal, std::span<const Parameter> parameters) {
  constexpr std::int64_t max_records = 100;
  constexpr std::size_t max_ranges = 16;  // of one statement
  std::size_t ranges = 0;
  std::string_view filter;
  bool names_customer = !principal.is_operator();
  for (const Parameter& parameter : parameters) {
    if (parameter.name == "limit") {
      const auto limit = Scalar<PageLimit>::parse(parameter.value);
      if (!limit || limit->value > max_records) return false;
    }
    if (parameter.name == "customer_id") names_customer = true;
    const auto added = ranges_of<Request>(parameter.name);
    if (!added) continue;
    if (*added == 0 || (!filter.empty() && filter != parameter.name)) return false;
    filter = parameter.name;
    ranges += *added;
  }
  if (filter.empty()) ranges = 1;
  if (!names_customer) ranges *= static_cast<std::size_t>(store::max_merged_customers);
  return ranges <= max_ranges;
}

// The prefix of the paths that only the operator can call.
inline constexpr const char* operator_prefix = "/operator";
// The prefixes of the paths of most resources, and of those that also have older paths.
inline std::vector<std::string> versioned() {
  return {"/v2"};
}
inline std::vector<std::string> also_unversioned() {
  return {"", "/v2"};
}

// What the operations of a resource have in common.
struct Endpoints {
  std::string name;
  std::string path;                   // of the list, after a prefix
  std::vector<std::string> prefixes;  // the documentation shows the first
  std::string_view read_scope;        // of a client
  std::string_view write_scope;       // of a client
  std::string_view envelope = {};     // see Operation::envelope
};

// The parts of an operation that neither its resource nor its handler determines.
struct Row {
  std::string_view name;  // without that of the resource
  std::string_view summary;
  std::string_view route = "GET";  // the method, and what follows the path of the resource
  std::string details = {};
  std::vector<ErrorCase> errors = {};  // after those that `complete` adds
};

// For operations that store a record as a load of one line would.
inline constexpr ErrorCase stored_differs{
    Code::already_exists,
    "the stored record has other content and the same or a later "
    "updated_at, or another created_at or another customer"};

// Adds to an operation what follows from its scope, its list or the id in its path.
// `names_customer`: the request may name the customer.
void complete(Operation& operation, bool names_customer);

template <RequestSource source, class Answer, Record Request>
Operation make_row(const Endpoints& resource, std::string_view scope,
                   const std::vector<std::string>& prefixes, Handler<Answer, Request> handler,
                   Row row) {
  constexpr bool is_page = !Record<Answer>;
  Operation operation{.name = resource.name + '.' + std::string(row.name),
                      .scope = scope,
                      .method = row.route.substr(0, row.route.find(' ')),
                      .summary = row.summary,
                      .details = std::move(row.details),
                      .errors = std::move(row.errors),
                      .is_write = has_body(source),
                      .is_list = is_page,
                      .request_source = source,
                      .request = type_name<Request>(),
                      .prepare = std::bind_front(&prepare<source, Answer, Request>, handler)};
  row.route.remove_prefix(std::min(operation.method.size() + 1, row.route.size()));
  for (const std::string& prefix : prefixes) {
    operation.paths.push_back(prefix + resource.path + std::string(row.route));
  }
  if constexpr (has_body(source)) operation.body_envelope = envelope_of<Request>();
  if constexpr (is_page) {
    operation.answer = type_name<typename Answer::Item>();
    operation.is_short_page = &is_short_page<Request>;
  } else {
    operation.answer = type_name<Answer>();
    operation.envelope = resource.envelope;
  }
  complete(operation, std::derived_from<Request, OfCustomer>);
  return operation;
}

// A read; by default of one record if its request has an id.
template <class Answer, Record Request>
Operation read(const Endpoints& resource, Handler<Answer, Request> handler, Row row) {
  constexpr bool is_by_id = std::derived_from<Request, ById>;
  if (is_by_id && row.route == "GET") row.route = "GET /{id}";
  return make_row<is_by_id ? RequestSource::path_id : RequestSource::parameters>(
      resource, resource.read_scope, resource.prefixes, handler, std::move(row));
}

// A write that clients can call.
template <RequestSource source, class Answer, Record Request>
Operation write(const Endpoints& resource, Handler<Answer, Request> handler, Row row) {
  return make_row<source>(resource, resource.write_scope, resource.prefixes, handler,
                          std::move(row));
}

// A write that only the operator can call.
template <RequestSource source, class Answer, Record Request>
Operation operator_only(const Endpoints& resource, Handler<Answer, Request> handler, Row row) {
  return make_row<source>(resource, operator_write, {operator_prefix}, handler, std::move(row));
}

// The operations of each part of the service.
std::vector<Operation> identity_operations();
std::vector<Operation> orchestration_operations();
std::vector<Operation> reward_operations();

}  // namespace comptroller::service
