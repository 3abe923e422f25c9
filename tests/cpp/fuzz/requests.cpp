// Requests with any bytes are answered, or refused with an error of the client.
#include <poll.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "fuzz/targets.hpp"
#include "http/fields.hpp"
#include "http/responder.hpp"
#include "service/cursor.hpp"
#include "service/deferred_writes.hpp"
#include "service/maintenance.hpp"
#include "service/operations.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::fuzz {

namespace {

using service::Parameters;

constexpr int inputs_per_store = 2000;

// A store with a record of each type.
struct Store : service::ServiceFixture {
  Store() {
    put_identity("i-1", "acme");
    create_control(acme, "i-1", "SELL_ONLY");
    const std::string group = create_group(acme);
    answer(acme, "reward_addresses.create", {},
           R"({"ledger":"ETHEREUM","address":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",)"
           R"("payout_group_id":")" +
               group + "\"}");
  }
};

// A store that is replaced after many inputs, so that it stays small.
Store& store() {
  static std::unique_ptr<Store> kept;
  static int inputs = 0;
  if (!kept || ++inputs % inputs_per_store == 0) {
    if (kept) {
      require(service::check(kept->service, kept->provider).starts_with(R"({"ok":true)"),
              "the store is not sound");
    }
    kept = std::make_unique<Store>();
  }
  return *kept;
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

void require_json(std::string_view text) {
  simdjson::dom::parser parser;
  require(parser.parse(simdjson::padded_string(text)).error() == simdjson::SUCCESS,
          "an answer that is no JSON");
}

void require_error_of_client(const Error& error) {
  require(problem(error.code()).status < 500, "an error of the server: " + error.detail());
}

}  // namespace

// The input: the number of the operation and of the caller, a line of name=value pairs that are
// separated by &, and the body.
void call(std::string_view input) {
  if (input.size() < 2) return;
  Store& used = store();
  const auto operations = service::operations();
  const auto& operation = operations[static_cast<unsigned char>(input[0]) % operations.size()];
  const Principal& principal = input[1] % 2 == 0 ? used.provider : used.acme;
  input.remove_prefix(2);
  std::string_view line = take_line(input);
  Parameters parameters;
  while (!line.empty()) {
    const std::string_view field = line.substr(0, line.find('&'));
    line.remove_prefix(std::min(field.size() + 1, line.size()));
    const std::size_t equals = std::min(field.find('='), field.size());
    parameters.push_back({std::string(field.substr(0, equals)),
                          std::string(field.substr(std::min(equals + 1, field.size())))});
  }
  try {
    require_json(used.answer(principal, operation.name, parameters, std::string(input)).body);
  } catch (const Error& error) {
    require_error_of_client(error);
  }
}

// The input: the method, the target, headers until an empty line, and the body.
void request(std::string_view input) {
  Store& used = store();
  http::ResponderOptions options{{}, {0.1}, 1 << 20};
  for (const service::Operation& operation : service::operations()) {
    for (const std::string& path : operation.paths) {
      options.routes.push_back({std::string(operation.method), path, &operation,
                                path.starts_with("/operator"), std::string(operation.envelope), "",
                                ""});
    }
  }
  http::Responder responder(std::move(options));
  const Timestamp until{used.now.microseconds + 1};
  responder.admit("operator", used.provider, "\"operator\"", "null", until);
  responder.admit("acme", used.acme, "\"acme\"", "\"acme\"", until);
  const std::string_view method = take_line(input);
  const std::string_view target = take_line(input);
  http::Fields fields;
  while (!input.empty()) {
    const std::string_view line = take_line(input);
    if (line.empty()) break;
    const std::size_t colon = std::min(line.find(':'), line.size());
    fields.add(line.substr(0, colon), line.substr(std::min(colon + 1, line.size())));
  }
  const http::Request given{method, target, fields.headers, input, true, used.now};
  const auto check = [](const http::Response& response) {
    require(response.head.starts_with("HTTP/1.1 200 OK\r\n") && response.head.ends_with("\r\n\r\n"),
            "a head that is none");
    require(response.head.find("content-length: " + std::to_string(response.body.size()) +
                               "\r\n") != std::string::npos,
            "another length");
    require(std::ranges::count(response.head, '\n') == std::ranges::count(response.head, '\r'),
            "a line of the head that the request wrote");
    require_json(response.body);
  };
  // The service outlives the responder.
  const std::shared_ptr<service::Service> shared(&used.service, [](service::Service*) {});
  if (method == "GET") {
    if (const auto response = responder.read(shared, given)) check(*response);
    responder.end_reads();
  } else {
    service::DeferredWrites writes;
    const auto ticket = responder.submit(used.service, writes, given);
    if (!ticket) return;
    pollfd waiting{writes.descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, -1);
    for (service::DeferredWrites::Completed& each : writes.take()) {
      require(each.ticket == *ticket, "another ticket");
      try {
        if (each.failure) std::rethrow_exception(each.failure);
        check(responder.finish(*ticket, std::move(each.answer)));
      } catch (const Error& error) {
        require_error_of_client(error);
      }
    }
  }
  const std::string log = responder.take_log().text;
  if (!log.empty()) require_json(log);
}

// The input: a position, changes of its cursor, and another list.
void cursor(std::string_view input) {
  static const service::CursorKeys keys = [] {
    service::Secret secret{};
    secret.fill(7);
    return service::CursorKeys(secret);
  }();
  const auto open = [](std::string_view list, std::string_view text) {
    try {
      return service::open_cursor(keys, list, text);
    } catch (const Error& error) {
      require(error.code() == Code::invalid_cursor, "refused with another error");
      return std::optional<store::Position>();
    }
  };
  open("list", input);
  store::Position position{};
  std::array<char, sizeof(position)> bytes{};
  input.copy(bytes.data(), bytes.size());
  std::memcpy(&position, bytes.data(), sizeof(position));
  const bool is_of_list = input.size() % 2 == 0;
  const std::string sealed = is_of_list ? service::seal_cursor(keys, "list", position)
                                        : service::seal_unlinkable_cursor(keys, "list", position);
  const auto opened = open("list", sealed);
  require(opened && opened->created_at == position.created_at && opened->key == position.key,
          "opens another position");
  input.remove_prefix(std::min(bytes.size(), input.size()));
  require(input == "list" || !open(input, sealed), "a cursor of another list is opened");
  std::string changed = sealed;
  for (std::size_t at = 0; at + 1 < input.size(); at += 2) {
    changed[static_cast<unsigned char>(input[at]) % changed.size()] = input[at + 1];
  }
  require(changed == sealed || !open("list", changed), "a changed cursor is opened");
}

}  // namespace comptroller::fuzz
