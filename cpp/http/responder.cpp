#include "http/responder.hpp"

#include <sodium.h>

#include <algorithm>
#include <stdexcept>

#include "model/error.hpp"
#include "model/text.hpp"
#include "model/timestamp.hpp"
#include "service/operations.hpp"

namespace comptroller::http {

namespace {

constexpr std::size_t max_callers = 4096;
constexpr std::size_t max_fields = 2000;  // of a query
constexpr std::size_t request_id_bytes = 16;
constexpr std::size_t max_request_id_length = 128;
constexpr std::string_view scheme = "Bearer ";
constexpr std::string_view media_type = "application/json";
constexpr std::string_view items_key = R"({"items":)";
constexpr std::string_view cursor_key = R"(,"next_page_cursor":)";
// RFC 6750 section 2.3 permits a token in the query; the application refuses it.
constexpr std::string_view token_field = "access_token";

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

std::string_view query_of(std::string_view target) {
  return target.substr(std::min(path_of(target).size() + 1, target.size()));
}

enum class Plus : std::uint8_t { literal, space };

int digit_of(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  const char lower = static_cast<char>(character | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Decodes percent-encoding (RFC 3986 section 2.1), and the plus signs of a form. Returns nullopt
// unless `encoded` is ASCII with complete escapes of valid UTF-8.
std::optional<std::string> decode(std::string_view encoded, Plus plus) {
  std::string text;
  text.reserve(encoded.size());
  bool is_ascii = true;
  for (std::size_t at = 0; at < encoded.size(); ++at) {
    char character = encoded[at];
    if (static_cast<unsigned char>(character) >= 0x80) return std::nullopt;
    if (character == '+' && plus == Plus::space) character = ' ';
    if (character == '%') {
      if (encoded.size() - at < 3) return std::nullopt;
      const int high = digit_of(encoded[at + 1]);
      const int low = digit_of(encoded[at + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      character = static_cast<char>(16 * high + low);
      is_ascii &= high < 8;
      at += 2;
    }
    text += character;
  }
  if (!is_ascii && !count_characters(text)) return std::nullopt;
  return text;
}

// Appends the fields of a query; returns false if the application must refuse it.
bool split_query(std::string_view query, std::vector<service::Parameter>& parameters) {
  if (query.empty()) return true;
  if (std::ranges::count(query, '&') >= static_cast<std::ptrdiff_t>(max_fields)) return false;
  while (true) {
    const std::string_view field = query.substr(0, query.find('&'));
    if (!field.empty()) {
      const std::size_t equals = std::min(field.find('='), field.size());
      auto name = decode(field.substr(0, equals), Plus::space);
      auto value = decode(field.substr(std::min(equals + 1, field.size())), Plus::space);
      if (!name || !value || *name == token_field) return false;
      parameters.push_back({*std::move(name), *std::move(value)});
    }
    if (field.size() == query.size()) return true;
    query.remove_prefix(field.size() + 1);
  }
}

bool is_request_id(std::string_view text) {
  constexpr std::string_view others = "._:/+=@-";
  return !text.empty() && text.size() <= max_request_id_length &&
         std::ranges::all_of(text, [&](char each) {
           return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
                  (each >= 'A' && each <= 'Z') || others.find(each) != std::string_view::npos;
         });
}

std::array<unsigned char, 32> digest_of(std::string_view token) {
  std::array<unsigned char, 32> digest{};
  crypto_generichash(digest.data(), digest.size(),
                     reinterpret_cast<const unsigned char*>(token.data()), token.size(), nullptr,
                     0);
  return digest;
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

Responder::Responder(ResponderOptions options) : options_(std::move(options)) {
  for (const Route& route : options_.routes) {
    if (route.path.find('{') == std::string::npos) {
      fixed_.emplace(route.method + ' ' + route.path, counts_.size());
    }
    counts_.push_back({std::vector<std::uint64_t>(options_.bounds_s.size() + 1), 0});
  }
}

std::optional<Responder::Fields> Responder::read_fields(std::span<const Header> headers) {
  Fields fields;
  const auto set = [](std::optional<std::string_view>& field, std::string_view value) {
    if (field) return false;  // the application refuses a repeated header
    field = value;
    return true;
  };
  std::optional<std::string_view> authorization;
  std::optional<std::string_view> length;
  bool is_plain = true;
  for (const auto& [name, value] : headers) {
    if (name == "authorization") {
      is_plain &= set(authorization, value);
    } else if (name == "content-type") {
      is_plain &= set(fields.content_type, value);
    } else if (name == "content-length") {
      is_plain &= set(length, value);
    } else if (name == "idempotency-key") {
      is_plain &= set(fields.idempotency_key, value);
    } else if (name == "x-request-id") {
      if (fields.request_id.empty() && is_request_id(value)) fields.request_id = value;
    } else if (name == "accept-encoding") {
      fields.has_accept_encoding = true;
    } else if (name == "content-encoding" || name == "x-http-method-override") {
      is_plain = false;
    }
  }
  if (!is_plain || !authorization) return std::nullopt;
  fields.authorization = *authorization;
  return fields;
}

std::shared_ptr<const Responder::Caller> Responder::find_caller(std::string_view authorization,
                                                                Timestamp now) const {
  if (!authorization.starts_with(scheme)) return nullptr;
  const auto found = callers_.find(digest_of(authorization.substr(scheme.size())));
  if (found == callers_.end() || found->second->until <= now) return nullptr;
  return found->second;
}

std::string Responder::client_of(const Request& request) const {
  service::Call call;
  if (!find_route(request, call)) return {};
  const auto fields = read_fields(request.headers);
  const auto caller = fields ? find_caller(fields->authorization, request.now) : nullptr;
  return caller ? caller->client : std::string();
}

void Responder::admit(std::string_view token, Principal principal, std::string client,
                      std::string customer, Timestamp until) {
  if (callers_.size() >= max_callers) forget();
  callers_[digest_of(token)] = std::make_shared<Caller>(
      Caller{std::move(principal), std::move(client), std::move(customer), until});
}

// Finds the route of a request, and adds the id in its path to the parameters of the call.
std::optional<std::size_t> Responder::find_route(const Request& request,
                                                 service::Call& call) const {
  const std::string_view requested = path_of(request.target);
  const std::string target = std::string(request.method) + ' ' + std::string(requested);
  if (const auto found = fixed_.find(target); found != fixed_.end()) return found->second;
  for (std::size_t position = 0; position < options_.routes.size(); ++position) {
    const Route& route = options_.routes[position];
    const std::string_view path = route.path;
    const std::size_t open = path.find('{');
    if (open == std::string_view::npos || route.method != request.method) continue;
    const std::string_view after = path.substr(path.find('}') + 1);
    if (requested.size() <= open + after.size() || !requested.starts_with(path.substr(0, open)) ||
        !requested.ends_with(after)) {
      continue;
    }
    const auto segment = requested.substr(open, requested.size() - open - after.size());
    if (segment.find('/') != std::string_view::npos) continue;
    auto id = decode(segment, Plus::literal);
    if (!id) return std::nullopt;
    call.parameters.push_back({"id", *std::move(id)});
    return position;
  }
  return std::nullopt;
}

std::optional<Responder::Accepted> Responder::accept(const Request& request) {
  Accepted accepted;
  accepted.begin = Clock::now();
  accepted.time = request.now;
  const auto fields = read_fields(request.headers);
  if (!fields) return std::nullopt;
  accepted.caller = find_caller(fields->authorization, request.now);
  if (!accepted.caller) return std::nullopt;
  const bool is_read = request.method == "GET";
  if (is_read ? !request.body.empty() : !fields->content_type && !request.body.empty()) {
    return std::nullopt;
  }
  if (!is_read && fields->content_type && *fields->content_type != media_type) return std::nullopt;
  const auto route = find_route(request, accepted.call);
  if (!route || !split_query(query_of(request.target), accepted.call.parameters))
    return std::nullopt;
  const Route& found = options_.routes[*route];
  if (found.is_operators && !accepted.caller->principal.is_operator()) return std::nullopt;
  accepted.route = *route;
  accepted.call.operation = found.operation;
  accepted.call.body = request.body;
  if (fields->idempotency_key) accepted.call.idempotency_key = *fields->idempotency_key;
  accepted.request_id = fields->request_id.empty() ? make_request_id() : fields->request_id;
  accepted.call.request_id = accepted.request_id;
  accepted.has_accept_encoding = fields->has_accept_encoding;
  accepted.keeps_alive = request.keeps_alive;
  return accepted;
}

std::optional<Response> Responder::read(const std::shared_ptr<service::Service>& service,
                                        const Request& request) {
  const auto accepted = accept(request);
  if (!accepted || accepted->call.parameters.size() > service::max_short_parameters) {
    return std::nullopt;
  }
  try {
    const auto read = service->prepare_read(accepted->caller->principal, accepted->call);
    if (!read.is_short) return std::nullopt;
    if (service_ != service) {
      end_reads();
      connection_ = service->database()->reader();
      snapshot_.emplace(*connection_);
      service_ = service;
    }
    std::string body = service->run_short(read, accepted->caller->principal, *connection_);
    return respond(*accepted, {std::move(body), false});
  } catch (const std::exception&) {
    end_reads();
    return std::nullopt;  // the application repeats the read and reports the error
  }
}

void Responder::end_reads() noexcept {
  snapshot_.reset();
  connection_.reset();
  service_.reset();
}

std::optional<Responder::Ticket> Responder::submit(service::Service& service,
                                                   service::DeferredWrites& writes,
                                                   const Request& request) {
  auto accepted = accept(request);
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

Response Responder::finish(Ticket ticket, service::Answer answer) {
  const auto node = writes_.extract(ticket);
  if (node.empty()) throw std::invalid_argument("there is no write with this ticket");
  return respond(node.mapped(), std::move(answer));
}

// The head and the line of the log are those of the application (http/exchange.py, http/log.py).
Response Responder::respond(const Accepted& accepted, service::Answer answer) {
  const Route& route = options_.routes[accepted.route];
  Response response;
  response.body = wrap_answer(std::move(answer.body), route.envelope, route.items_alias);
  response.is_replay = answer.is_replay;
  const bool is_large = response.body.size() >= options_.large_bytes;
  if (is_large && accepted.has_accept_encoding) return response;
  const Clock::duration duration = Clock::now() - accepted.begin;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  response.head.append("HTTP/1.1 200 OK\r\n")
      .append(date_)
      .append("content-type: application/json\r\nx-content-type-options: nosniff\r\nx-request-id: ")
      .append(accepted.request_id)
      .append("\r\ncache-control: no-store\r\ncontent-length: ")
      .append(std::to_string(response.body.size()))
      .append("\r\n")
      .append(answer.is_replay ? "idempotent-replayed: true\r\n" : "")
      .append(route.header_lines)
      .append(is_large ? "vary: accept-encoding\r\n" : "")
      .append(accepted.keeps_alive ? "\r\n" : "connection: close\r\n\r\n");
  ++log_.count;
  log_.text.append(R"({"time":")")
      .append(to_string(Timestamp{accepted.time.microseconds + us}))
      .append(R"(","level":"info","event":"request","request_id":")")
      .append(accepted.request_id)
      .append(R"(","client_id":)")
      .append(accepted.caller->client)
      .append(R"(,"customer":)")
      .append(accepted.caller->customer)
      .append(R"(,"operation":")")
      .append(route.operation->name)
      .append(R"(","method":")")
      .append(route.method)
      .append(R"(","route":")")
      .append(route.path)
      .append(R"(","status":200,"milliseconds":)")
      .append(format_milliseconds(us))
      .append("}\n");
  Counts& counts = counts_[accepted.route];
  const double seconds = std::chrono::duration<double>(duration).count();
  const auto bucket =
      std::ranges::lower_bound(options_.bounds_s, seconds) - options_.bounds_s.begin();
  ++counts.by_duration[static_cast<std::size_t>(bucket)];
  counts.seconds += seconds;
  return response;
}

std::string Responder::make_request_id() {
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
