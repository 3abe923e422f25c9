// Makes the rows of the table of operations: reads their requests, runs their handlers, and
// completes their descriptions.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "db/select_list.hpp"
#include "json/reader.hpp"
#include "model/requests.hpp"
#include "service/completion.hpp"
#include "service/handlers.hpp"
#include "service/operation.hpp"
#include "service/type_descriptions.hpp"
#include "store/operator_indexes.hpp"

namespace comptroller::service {

// A malformed id in a path is not found; in a query or body it is an invalid request.
template <Record Request>
void check_path_id(const Call& call) {
  for (const Parameter& parameter : call.parameters) {
    if (parameter.name == "id" && !FieldType<bare<decltype(Request::id)>>::parse(parameter.value)) {
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

// The most records of a page that is short; see PreparedCall.
inline constexpr std::int64_t max_short_page = 100;

// Whether a page is small, and one index in its order serves all its filters, so that it usually
// visits few rows more than it has. It visits the maximum, in a few milliseconds, if its group is
// not the customer's, or while groups change their jurisdiction. Each combination of the values is
// a range of that index for each customer whose rows are merged.
template <Record Request>
bool is_short_page(const Request& request, const Principal& principal) {
  constexpr std::size_t max_ranges = 16;  // of one statement
  struct Given {
    std::size_t ranges = 0;
    std::string_view column;
    const Index* index = nullptr;
  };
  std::vector<Given> filters;
  std::size_t ranges = 1;
  for_each_field<Request>([&]<class F>() {
    using Filter = typename F::Filter;
    if constexpr (constexpr auto of_value = ranges_per_value<Filter>) {
      const std::size_t values = store::given_values(request.*F::member).size();
      if (values == 0) return;
      Given given{values * *of_value, {}, nullptr};
      if constexpr (requires { Filter::column; }) {
        given.column = Filter::column;
        given.index = &Filter::index;
      }
      ranges *= given.ranges;
      filters.push_back(given);
    }
  });
  const auto serves_all = [&](const Given& driving) {
    if (filters.size() == 1) return true;
    if (driving.index == nullptr || !driving.index->table.empty()) return false;
    const auto columns = db::split_select_list(driving.index->columns);
    return std::ranges::all_of(filters, [&](const Given& other) {
      return std::ranges::find(columns, other.column) != columns.end();
    });
  };
  bool names_customer = !principal.is_operator();
  if constexpr (std::derived_from<Request, ListedOwner>) {
    names_customer |= request.customer_id.has_value();
  }
  if (!names_customer) ranges *= static_cast<std::size_t>(store::max_merged_customers);
  return request.limit.value_or(PageLimit{}).value <= max_short_page && ranges > 0 &&
         ranges <= max_ranges && (filters.empty() || std::ranges::any_of(filters, serves_all));
}

// Reads the request of a call, and returns the call of the handler.
template <RequestSource source, class Answer, Record Request>
PreparedCall prepare_call(Handler<Answer, Request> handler, const Operation& operation,
                          const Principal& principal, const Call& call) {
  auto request = read_request<Request, source>(call);
  complete(request, principal);
  PreparedCall prepared;
  prepared.operation = operation.name;
  if (call.idempotency_key) prepared.canonical_request = canonical_text(request);
  if constexpr (!Record<Answer>) {
    prepared.is_short = is_short_page(request, principal);
  } else if constexpr (requires { request.limit; }) {
    prepared.is_short = request.limit.value_or(PageLimit{}).value <= max_short_page;
  }
  prepared.run = [handler, request = std::move(request)](Context& context) {
    auto answer = handler(context, request);
    if constexpr (Record<Answer>) {
      return json::to_text(answer, audience_of(context.principal));
    } else {
      return std::move(answer.json);
    }
  };
  return prepared;
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
struct OperationParts {
  std::string_view name;  // without that of the resource
  std::string_view summary;
  std::string_view route = "GET";  // the method, and what follows the path of the resource
  std::string details = {};
  std::vector<ErrorCase> errors = {};  // after those that `add_implied` adds
  bool shows_secret = false;           // a read that needs the scope of a write
};

// For operations that store a record as a load of one line would.
inline constexpr ErrorCase stored_differs{
    Code::already_exists,
    "the stored record has other content and the same or a later "
    "updated_at, or another created_at or another customer"};

template <RequestSource source, class Answer, Record Request>
Operation make_row(const Endpoints& resource, std::string_view scope,
                   const std::vector<std::string>& prefixes, Handler<Answer, Request> handler,
                   OperationParts parts) {
  constexpr bool is_page = !Record<Answer>;
  Operation operation{.name = resource.name + '.' + std::string(parts.name),
                      .scope = scope,
                      .method = parts.route.substr(0, parts.route.find(' ')),
                      .summary = parts.summary,
                      .details = std::move(parts.details),
                      .errors = std::move(parts.errors),
                      .is_write = has_body(source),
                      .needs_write_scope = has_body(source) || parts.shows_secret,
                      .is_list = is_page,
                      .request_source = source,
                      .request = type_name<Request>(),
                      .prepare = std::bind_front(&prepare_call<source, Answer, Request>, handler)};
  parts.route.remove_prefix(std::min(operation.method.size() + 1, parts.route.size()));
  for (const std::string& prefix : prefixes) {
    operation.paths.push_back(prefix + resource.path + std::string(parts.route));
  }
  if constexpr (has_body(source)) operation.body_envelope = envelope_of<Request>();
  if constexpr (is_page) {
    operation.answer = type_name<typename Answer::Item>();
    operation.describe_types = &describe_types<Request, typename Answer::Item>;
  } else {
    operation.answer = type_name<Answer>();
    operation.describe_types = &describe_types<Request, Answer>;
    operation.envelope = resource.envelope;
  }
  add_implied(operation, std::derived_from<Request, ListedOwner>);
  return operation;
}

// A read; by default of one record if its request has an id.
template <class Answer, Record Request>
Operation read_row(const Endpoints& resource, Handler<Answer, Request> handler,
                   OperationParts parts) {
  constexpr bool is_by_id = std::derived_from<Request, ById>;
  if (is_by_id && parts.route == "GET") parts.route = "GET /{id}";
  const std::string_view scope = parts.shows_secret ? resource.write_scope : resource.read_scope;
  return make_row<is_by_id ? RequestSource::path_id : RequestSource::parameters>(
      resource, scope, resource.prefixes, handler, std::move(parts));
}

// A write that clients can call.
template <RequestSource source, class Answer, Record Request>
Operation write_row(const Endpoints& resource, Handler<Answer, Request> handler,
                    OperationParts parts) {
  return make_row<source>(resource, resource.write_scope, resource.prefixes, handler,
                          std::move(parts));
}

// A write that only the operator can call.
template <RequestSource source, class Answer, Record Request>
Operation operator_row(const Endpoints& resource, Handler<Answer, Request> handler,
                       OperationParts parts) {
  return make_row<source>(resource, operator_write, {operator_prefix}, handler, std::move(parts));
}

}  // namespace comptroller::service
