// Answers operations from the parts of a parsed HTTP request: the caller of a known token, the
// operation, the response and its log line. Requests that are not clear cases are left to the
// Python application: unknown paths and callers, reads that may take long, and requests that fail.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "http/fields.hpp"
#include "service/deferred_writes.hpp"

namespace comptroller::http {

// An operation at a path.
struct Route {
  std::string method;
  std::string path;  // at most one segment is in braces: it matches any text, the id of the record
  const service::Operation* operation = nullptr;
  bool is_operators = false;  // clients cannot call it, whatever their scopes
  std::string envelope;       // the member that holds the answer; empty: no envelope
  std::string items_alias;    // a second member with the items of a page; empty: none
  std::string header_lines;   // of its responses, besides the usual ones
};

// A request as received: percent-encoded.
struct Request {
  std::string_view method;
  std::string_view target;
  std::span<const Header> headers;
  std::string_view body;
  bool keeps_alive = true;  // whether the connection stays open after the response
  Timestamp now = {};       // by the clock of tokens, which is not that of a database
};

// Returns the body of an HTTP answer: the core's answer inside its envelope, or with its items
// repeated under a second name.
std::string wrap_answer(std::string answer, std::string_view envelope,
                        std::string_view items_alias);

// An answer in two parts, which are sent one after the other.
struct Response {
  std::string head;  // empty: the application compresses and sends the body
  std::string body;
  bool is_replay = false;
};

// Complete lines of the log.
struct Lines {
  std::string text;
  std::size_t count = 0;
};

// Counts of the answers with status 200 of one route.
struct Counts {
  std::vector<std::uint64_t> by_duration;  // counts up to each bound, and above the last bound
  double seconds = 0;                      // total duration
};

struct ResponderOptions {
  std::vector<Route> routes;
  std::vector<double> bounds_s;  // bounds of the counted durations, ascending
  std::size_t large_bytes = 0;   // answers of at least this size are compressed for some clients
};

// For the thread of one event loop, and the writes of one DeferredWrites.
class Responder {
 public:
  explicit Responder(ResponderOptions options);

  // Returns the answer of a read; nullopt if the application must handle the request. All reads
  // until end_reads() see the state that the first of them saw. The caller ends them before it
  // receives requests that arrived after that.
  std::optional<Response> read(const std::shared_ptr<service::Service>& service,
                               const Request& request);
  void end_reads() noexcept;

  // Queues a write; `finish` returns its answer after `writes` completed it. Returns nullopt if the
  // application must handle the request.
  using Ticket = service::DeferredWrites::Ticket;
  std::optional<Ticket> submit(service::Service& service, service::DeferredWrites& writes,
                               const Request& request);
  Response finish(Ticket ticket, service::Answer answer);
  // Forgets a write that failed; the application reports the error.
  void discard(Ticket ticket) { writes_.erase(ticket); }

  // Accepts requests with this token as requests of the principal until a time. `client` and
  // `customer` are JSON for the log.
  void admit(std::string_view token, Principal principal, std::string client, std::string customer,
             Timestamp until);
  // Returns the client of an admitted token, as JSON; empty if there is none, or no route.
  std::string client_of(const Request& request) const;
  // Forgets all tokens.
  void forget() { callers_.clear(); }

  // Sets the header line with the date, which all responses have.
  void set_date(std::string line) { date_ = std::move(line); }
  // Returns the log lines of the answers since the last call.
  Lines take_log() { return std::exchange(log_, {}); }
  // The counts by the position of the route.
  const std::vector<Counts>& counts() const { return counts_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Digest = std::array<unsigned char, 32>;
  struct Caller {
    Principal principal;
    std::string client;
    std::string customer;
    Timestamp until;
  };
  // The headers that matter, if no other changes the meaning of the request.
  struct Fields {
    std::string_view authorization;
    std::string_view request_id;  // empty: a new one
    std::optional<std::string_view> content_type;
    std::optional<std::string_view> idempotency_key;
    bool has_accept_encoding = false;
  };
  // A request with its route and its caller.
  struct Accepted {
    std::size_t route = 0;
    std::shared_ptr<const Caller> caller;
    service::Call call;
    std::string request_id;
    bool has_accept_encoding = false;
    bool keeps_alive = true;
    Timestamp time;
    Clock::time_point begin;
  };

  static std::optional<Fields> read_fields(std::span<const Header> headers);
  std::optional<Accepted> accept(const Request& request);
  std::shared_ptr<const Caller> find_caller(std::string_view authorization, Timestamp now) const;
  std::optional<std::size_t> find_route(const Request& request, service::Call& call) const;
  Response respond(const Accepted& accepted, service::Answer answer);
  std::string make_request_id();

  ResponderOptions options_;
  std::unordered_map<std::string, std::size_t> fixed_;       // by method, space and path
  std::map<Digest, std::shared_ptr<const Caller>> callers_;  // by the digest of their token
  std::unordered_map<Ticket, Accepted> writes_;
  // The snapshot of the reads, which saves each read the file locks of a snapshot of its own. Keeps
  // the service alive. Destroyed in reverse order.
  std::shared_ptr<service::Service> service_;
  db::Lease connection_;
  std::optional<db::Snapshot> snapshot_;
  std::string date_;
  Lines log_;
  std::vector<Counts> counts_;
  std::array<unsigned char, 1024> random_{};
  std::size_t random_used_ = random_.size();
};

}  // namespace comptroller::http
