// A service on a store of its own, with a clock and ids that the test controls.
#pragma once

#include <doctest/doctest.h>
#include <simdjson.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/sqlite/database.hpp"
#include "json/writer.hpp"
#include "model/error.hpp"
#include "service/authorisation.hpp"
#include "service/operations.hpp"
#include "service/service.hpp"
#include "test_database.hpp"

namespace comptroller::service {

// The JSON text of an answer; reads members by pointer, such as "/items/0/id".
class Json {
 public:
  explicit Json(std::string text)
      : text_(std::move(text)), parser_(std::make_shared<simdjson::dom::parser>()) {
    root_ = parser_->parse(text_).value();
  }

  const std::string& text() const { return text_; }
  bool has(std::string_view pointer) const {
    return root_.at_pointer(pointer).error() == simdjson::SUCCESS;
  }
  // Returns a string as text, another value as JSON text, "(none)" for a missing value.
  std::string at(std::string_view pointer) const {
    simdjson::dom::element element;
    if (root_.at_pointer(pointer).get(element) != simdjson::SUCCESS) return "(none)";
    std::string_view string;
    if (element.get_string().get(string) == simdjson::SUCCESS) return std::string(string);
    return simdjson::minify(element);
  }
  std::size_t size(std::string_view pointer) const {
    return root_.at_pointer(pointer).get_array().value().size();
  }
  // Returns `member` of each element of an array.
  std::vector<std::string> each(const std::string& pointer, const std::string& member) const {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < size(pointer); ++i) {
      values.push_back(at(pointer + "/" + std::to_string(i) + "/" + member));
    }
    return values;
  }

 private:
  std::string text_;
  std::shared_ptr<simdjson::dom::parser> parser_;
  simdjson::dom::element root_;
};

// An error as a caller sees it; empty without an error.
struct Refusal {
  std::string code;
  std::string detail;
  std::string field;  // of the first error
  std::string existing;
};

template <class Action>
Refusal refusal_of(const Action& action) {
  try {
    action();
    return {};
  } catch (const Error& error) {
    const std::string field = error.errors().empty() ? "" : error.errors().front().field;
    return {std::string(problem(error.code()).code), error.detail(), field, error.existing()};
  }
}

using Parameters = std::vector<Parameter>;

inline const Timestamp start = *Timestamp::parse("2026-03-01T12:00:00Z");
constexpr std::int64_t one_hour_us = 3'600'000'000;

class ServiceFixture {
 public:
  ServiceFixture() : ServiceFixture(db::open_test_database()) {}
  explicit ServiceFixture(std::unique_ptr<db::Database> database)
      : service(std::move(database), environment()) {}

  // Returns "00000000-0000-7000-8000-000000000001", ...02, like the ids that the service generates.
  static std::string generated_id(int number) {
    std::array<char, 37> text{};
    std::snprintf(text.data(), text.size(), "00000000-0000-7000-8000-%012d", number);
    return text.data();
  }

  Answer answer(const Principal& principal, const std::string& operation,
                Parameters parameters = {}, std::string body = "",
                std::optional<std::string> key = {}) {
    return service.call(principal, {&require_operation(operation), std::move(parameters),
                                    std::move(body), std::move(key)});
  }
  Json call(const Principal& principal, const std::string& operation, Parameters parameters = {},
            std::string body = "") {
    return Json(answer(principal, operation, std::move(parameters), std::move(body)).body);
  }
  Refusal refused(const Principal& principal, const std::string& operation,
                  Parameters parameters = {}, std::string body = "",
                  std::optional<std::string> key = {}) {
    return refusal_of([&] {
      answer(principal, operation, std::move(parameters), std::move(body), std::move(key));
    });
  }
  std::string code(const Principal& principal, const std::string& operation,
                   Parameters parameters = {}, std::string body = "") {
    return refused(principal, operation, std::move(parameters), std::move(body)).code;
  }

  // Creates records that most tests need.
  void put_identity(const std::string& id, const std::string& customer) {
    call(provider, "identities.put", {},
         R"({"id":")" + id + R"(","customer_id":")" + customer + "\"}");
  }
  std::string create_control(const Principal& principal, const std::string& identity,
                             const std::string& type) {
    return call(principal, "controls.create", {},
                R"({"identity_id":")" + identity + R"(","type":")" + type +
                    R"(","reason_code":"TEST"})")
        .at("/id");
  }
  std::string create_group(const Principal& principal, const std::string& ledger = "ETHEREUM",
                           const std::string& more = "") {
    const std::string address = ledger == "SOLANA" ? "So11111111111111111111111111111111111111112"
                                                   : "0x0000000000000000000000000000000000000001";
    return call(
               principal, "payout_groups.create", {},
               R"({"ledger":")" + ledger +
                   R"(","asset_type":"ETH","jurisdiction":"DE","name":"Main","claimer_address":")" +
                   address + '"' + more + "}")
        .at("/id");
  }
  std::size_t count(const Principal& principal, const std::string& list,
                    Parameters parameters = {}) {
    parameters.push_back({"limit", "1000"});
    return call(principal, list, std::move(parameters)).size("/items");
  }

  Timestamp now = start;
  Service service;
  Principal provider = make_principal({}, {}, {});
  Principal acme = make_principal("acme", "acme-app", {});
  Principal zenith = make_principal("zenith", "zenith-app", {});

 private:
  Environment environment() {
    return {[this] { return now; },
            [number = std::make_shared<std::atomic<int>>(0)] { return generated_id(++*number); },
            [](bool) { return std::string(32, 'k'); }};
  }
};

// Returns a body with one text member for each pair.
inline std::string body_of(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string body;
  json::JsonWriter(body).write(members);
  return body;
}

}  // namespace comptroller::service
