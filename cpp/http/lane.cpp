#include "http/lane.hpp"

#include <sodium.h>

#include <algorithm>
#include <stdexcept>

#include "model/error.hpp"
#include "model/timestamp.hpp"
#include "service/operations.hpp"

namespace comptroller::http {

namespace {

constexpr std::size_t max_callers = 4096;
constexpr std::size_t request_id_bytes = 16;
constexpr std::string_view items_key = R"({"items":)";
constexpr std::string_view cursor_key = R"(,"next_page_cursor":)";

std::array<unsigned char, 32> digest_of(std::string_view token) {
  std::array<unsigned char, 32> digest{};
  crypto_generichash(digest.data(), digest.size(),
                     reinterpret_cast<const unsigned char*>(token.data()), token.size(), nullptr,
                     0);
  return digest;
}

// Splits a query into parameters; returns false if a field is not a name and a value.
bool split_query(std::string_view query, std::vector<service::Parameter>& parameters) {
  while (!query.empty()) {
    const std::string_view field = query.substr(0, query.find('&'));
    const std::size_t equals = field.find('=');
    if (equals == 0 || equals == std::string_view::npos) return false;
    parameters.push_back(
        {std::string(field.substr(0, equals)), std::string(field.substr(equals + 1))});
    if (field.size() == query.size()) return true;
    query.remove_prefix(field.size() + 1);
    if (query.empty()) return false;
  }
  return true;
}

std::string format_milliseconds(std::int64_t microseconds) {
  const std::string fraction = std::to_string(1000 + microseconds % 1000);
  return std::to_string(microseconds / 1000) + '.' + fraction.substr(1);
}

}  // namespace

std::string wrap_answer(std::string answer, std::string_view envelope,
                        std::string_view items_alias) {
  if (!envelope.empty()) {
    return std::string(R"({")").append(envelope).append(R"(":)").append(answer) += '}';
  }
  if (items_alias.empty()) return answer;
  const std::size_t end = answer.rfind(cursor_key);
  const std::string items = answer.substr(items_key.size(), end - items_key.size());
  answer.back() = ',';
  return answer.append(R"(")").append(items_alias).append(R"(":)").append(items) += '}';
}

Lane::Lane(LaneOptions options) : options_(std::move(options)) {
  for (const Route& route : options_.routes) {
    if (route.path.find('{') == std::string::npos) {
      fixed_.emplace(route.method + ' ' + route.path, counts_.size());
    }
    counts_.push_back({std::vector<std::uint64_t>(options_.bounds_s.size() + 1), 0});
  }
}

std::shared_ptr<const Lane::Caller> Lane::find_caller(std::string_view token, Timestamp now) const {
  const auto found = callers_.find(digest_of(token));
  if (found == callers_.end() || found->second->until <= now) return nullptr;
  return found->second;
}

// Finds the route of a request, and adds the id in its path to the parameters of the call.
std::optional<std::size_t> Lane::find_route(const Request& request, service::Call& call) const {
  const std::string target = std::string(request.method) + ' ' + std::string(request.path);
  if (const auto found = fixed_.find(target); found != fixed_.end()) return found->second;
  for (std::size_t index = 0; index < options_.routes.size(); ++index) {
    const Route& route = options_.routes[index];
    const std::string_view path = route.path;
    const std::size_t open = path.find('{');
    if (open == std::string_view::npos || route.method != request.method) continue;
    const std::string_view after = path.substr(path.find('}') + 1);
    if (request.path.size() <= open + after.size() ||
        !request.path.starts_with(path.substr(0, open)) || !request.path.ends_with(after)) {
      continue;
    }
    const auto id = request.path.substr(open, request.path.size() - open - after.size());
    if (id.find('/') != std::string_view::npos) continue;
    call.parameters.push_back({"id", std::string(id)});
    return index;
  }
  return std::nullopt;
}

std::optional<Lane::Accepted> Lane::accept(const service::Service& service,
                                           const Request& request) const {
  Accepted accepted;
  accepted.begin = Clock::now();
  accepted.time = service.environment().now();
  accepted.has_accept_encoding = request.has_accept_encoding;
  const auto route = find_route(request, accepted.call);
  if (!route || !split_query(request.query, accepted.call.parameters)) return std::nullopt;
  accepted.route = *route;
  accepted.caller = find_caller(request.token, accepted.time);
  if (!accepted.caller) return std::nullopt;
  const Route& found = options_.routes[*route];
  if (found.is_operators && !accepted.caller->principal.is_operator()) return std::nullopt;
  accepted.call.operation = found.operation;
  accepted.call.body = request.body;
  if (request.idempotency_key) accepted.call.idempotency_key = *request.idempotency_key;
  return accepted;
}

std::optional<Response> Lane::read(const std::shared_ptr<service::Service>& service,
                                   std::string_view bytes) {
  if (!bytes.starts_with("GET ")) return std::nullopt;
  const auto request = read_request(bytes);
  if (!request) return std::nullopt;
  const auto accepted = accept(*service, *request);
  if (!accepted || !service::is_short(accepted->caller->principal, accepted->call.operation,
                                      accepted->call.parameters)) {
    return std::nullopt;
  }
  try {
    if (service_ != service) {
      end_reads();
      connection_ = service->database()->reader();
      snapshot_.emplace(*connection_);
      service_ = service;
    }
    std::string body = service->read(accepted->caller->principal, accepted->call, *connection_);
    return respond(*accepted, {std::move(body), false});
  } catch (const std::exception&) {
    end_reads();
    return std::nullopt;  // the application repeats the read and reports the error
  }
}

void Lane::end_reads() noexcept {
  snapshot_.reset();
  connection_.reset();
  service_.reset();
}

std::optional<Lane::Ticket> Lane::submit(service::Service& service, service::DeferredWrites& writes,
                                         std::string_view bytes) {
  const auto request = read_request(bytes);
  if (!request || request->method == "GET") return std::nullopt;
  auto accepted = accept(service, *request);
  if (!accepted) return std::nullopt;
  // Allocates before the write is queued: a failure after it would make the application queue it
  // again.
  auto node = writes_.extract(writes_.emplace(0, std::move(*accepted)).first);
  const Accepted& kept = node.mapped();
  try {
    node.key() = writes.submit(service, kept.caller->principal, kept.call);
    return writes_.insert(std::move(node)).position->first;
  } catch (const std::exception&) {
    return std::nullopt;  // nothing is queued; the application reports the error
  }
}

Response Lane::finish(Ticket ticket, service::Answer answer) {
  const auto node = writes_.extract(ticket);
  if (node.empty()) throw std::invalid_argument("there is no write with this ticket");
  return respond(node.mapped(), std::move(answer));
}

void Lane::admit(std::string_view token, Principal principal, std::string client,
                 std::string customer, Timestamp until) {
  if (callers_.size() >= max_callers) forget();
  callers_[digest_of(token)] = std::make_shared<Caller>(
      Caller{std::move(principal), std::move(client), std::move(customer), until});
}

Response Lane::respond(const Accepted& accepted, service::Answer answer) {
  const Route& route = options_.routes[accepted.route];
  Response response;
  response.body = wrap_answer(std::move(answer.body), route.envelope, route.items_alias);
  response.is_replay = answer.is_replay;
  const bool is_large = response.body.size() >= options_.large_bytes;
  if (is_large && accepted.has_accept_encoding) return response;
  const Clock::duration duration = Clock::now() - accepted.begin;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  const std::string request_id = make_request_id();
  const std::string length = std::to_string(response.body.size());
  const std::string time = to_string(Timestamp{accepted.time.microseconds + us});
  const std::string milliseconds = format_milliseconds(us);
  const Values values{default_headers_,
                      request_id,
                      length,
                      answer.is_replay ? options_.replay_header : std::string_view(),
                      is_large ? options_.large_body_header : std::string_view(),
                      time,
                      accepted.caller->client,
                      accepted.caller->customer,
                      milliseconds};
  route.head.append(response.head, values);
  route.log_line.append(log_, values);
  Counts& counts = counts_[accepted.route];
  const double seconds = std::chrono::duration<double>(duration).count();
  const auto bucket =
      std::ranges::lower_bound(options_.bounds_s, seconds) - options_.bounds_s.begin();
  ++counts.by_duration[static_cast<std::size_t>(bucket)];
  counts.seconds += seconds;
  return response;
}

std::string Lane::make_request_id() {
  if (random_used_ == random_.size()) {
    randombytes_buf(random_.data(), random_.size());
    random_used_ = 0;
  }
  std::array<char, 2 * request_id_bytes + 1> text{};
  sodium_bin2hex(text.data(), text.size(), &random_[random_used_], request_id_bytes);
  random_used_ += request_id_bytes;
  return {text.data(), text.size() - 1};
}

}  // namespace comptroller::http
