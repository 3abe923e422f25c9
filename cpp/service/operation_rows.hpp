// Makes the rows of the table of operations: reads their requests, runs their handlers, and
// completes their descriptions.
#pragma once

#include <algorithm>
#include <array>

#include "json/reader.hpp"
#include "model/type_name.hpp"
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

// The member of a body that may contain the request, as {"address": {...}} (specification 4.4).
template <Record Request>
inline constexpr std::string_view envelope_of =
    std::same_as<Request, CreateRewardAddress> || std::same_as<Request, UpdateRewardAddress>
        ? "address"
        : "";

inline json::Reader& reader_of_thread() {
  thread_local json::Reader reader;
  return reader;
}

template <Record Request>
void read_body(const Call& call, json::ReadOptions options, Request& request) {
  options.envelope = envelope_of<Request>;
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

// The types of a handler's request and answer.
template <class Handler>
struct Signature;
template <Record A, class R>
struct Signature<A (*)(Context&, const R&)> {
  using Answered = A;
  using Request = R;
  static constexpr bool is_page = false;
};
template <Record Item, class R>
struct Signature<PageOf<Item> (*)(Context&, const R&)> {
  using Answered = Item;
  using Request = R;
  static constexpr bool is_page = true;
};

template <auto Handler>
using RequestOf = typename Signature<decltype(Handler)>::Request;

template <auto Handler, Record Request>
std::string handle(Service& service, const Principal& principal, const Operation& operation,
                   const Request& request, db::Connection& connection) {
  Context context{
      connection,           principal,      service.environment(),      service.secret(),
      service.background(), operation.name, service.environment().now()};
  auto answer = Handler(context, request);
  if constexpr (Signature<decltype(Handler)>::is_page) {
    return std::move(answer.json);
  } else {
    return json::to_text(answer, audience_of(principal));
  }
}

template <auto Handler, RequestSource source>
PreparedCall prepare(const Operation& operation, const Principal& principal, const Call& call) {
  auto request = read_request<RequestOf<Handler>, source>(call);
  std::string canonical = call.idempotency_key ? canonical_text(request, principal) : "";
  return {std::move(canonical),
          [request = std::move(request), &operation](Service& service, const Principal& caller,
                                                     db::Connection& connection) {
            return handle<Handler>(service, caller, operation, request, connection);
          }};
}

// The number of index ranges that one parameter adds to a page; see ranges_a_value.
template <Record Request>
std::optional<std::size_t> ranges_of(std::string_view parameter) {
  std::optional<std::size_t> ranges;
  for_each_field<Request>([&]<class F>() {
    if (F::name == parameter) ranges = ranges_a_value<typename F::Filter>;
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

// What the operations of a resource have in common.
struct Endpoints {
  std::string name;
  std::string path;                   // of the list, after a prefix
  std::vector<std::string> prefixes;  // the documentation shows the first
  std::string_view read_scope;        // of a client
  std::string_view write_scope;       // of a client
  std::string_view envelope = {};     // see Operation::envelope
};

// An operation of a resource, as far as neither its resource nor its handler implies it.
struct Row {
  std::string_view name;  // without that of the resource
  std::string_view summary;
  std::string_view route = "GET";  // the method, and what follows the path of the resource
  std::string details = {};
  std::vector<ErrorCase> errors = {};  // after those that `complete` adds
};

// Adds to an operation what follows from its scope, its list or the id in its path.
// `names_customer`: the request may name the customer.
void complete(Operation& operation, bool names_customer);

template <auto Handler, RequestSource source>
Operation make_row(const Endpoints& resource, std::string_view scope,
                   const std::vector<std::string>& prefixes, Row row) {
  using Types = Signature<decltype(Handler)>;
  using Request = typename Types::Request;
  Operation operation{.name = resource.name + '.' + std::string(row.name),
                      .scope = scope,
                      .method = row.route.substr(0, row.route.find(' ')),
                      .summary = row.summary,
                      .details = std::move(row.details),
                      .errors = std::move(row.errors),
                      .is_write = has_body(source),
                      .is_list = Types::is_page,
                      .request_source = source,
                      .request = type_name<Request>(),
                      .answer = type_name<typename Types::Answered>(),
                      .prepare = &prepare<Handler, source>};
  row.route.remove_prefix(std::min(operation.method.size() + 1, row.route.size()));
  for (const std::string& prefix : prefixes) {
    operation.paths.push_back(prefix + resource.path + std::string(row.route));
  }
  if constexpr (has_body(source)) operation.body_envelope = envelope_of<Request>;
  if constexpr (Types::is_page) {
    operation.is_short_page = &is_short_page<Request>;
  } else {
    operation.envelope = resource.envelope;
  }
  complete(operation, std::derived_from<Request, OfCustomer>);
  return operation;
}

// A read; by default of one record if its request has an id.
template <auto Handler>
Operation read(const Endpoints& resource, Row row) {
  constexpr bool is_by_id = std::derived_from<RequestOf<Handler>, ById>;
  if (is_by_id && row.route == "GET") row.route = "GET /{id}";
  return make_row<Handler, is_by_id ? RequestSource::path_id : RequestSource::parameters>(
      resource, resource.read_scope, resource.prefixes, std::move(row));
}

// A write that clients can call.
template <auto Handler, RequestSource source>
Operation write(const Endpoints& resource, Row row) {
  return make_row<Handler, source>(resource, resource.write_scope, resource.prefixes,
                                   std::move(row));
}

// A write that only the operator can call.
template <auto Handler, RequestSource source>
Operation operator_only(const Endpoints& resource, Row row) {
  return make_row<Handler, source>(resource, operator_write, {operator_prefix}, std::move(row));
}

}  // namespace comptroller::service
