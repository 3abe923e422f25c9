// Answers short requests from their bytes, without the application's general way. Whatever is not
// beyond doubt is left to that way, untouched: a request that a full parser might read otherwise,
// an unknown caller or path, a read that may take long, and whatever is refused.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "http/request.hpp"
#include "http/template.hpp"
#include "service/deferred_writes.hpp"
#include "service/shared_snapshot.hpp"

namespace comptroller::http {

// An operation at a path. The application gives these: it uses the same ones.
struct Route {
  std::string method;
  std::string path;  // at most one segment is in braces: any text, the record's id
  std::string operation;
  bool is_operators = false;  // no client may call it, whatever its scopes
  std::string envelope;       // the member that holds the answer; empty: it is the answer
  std::string items_alias;    // a second member with the items of a page; empty: none
  Template head;
  Template log_line;
};

// The body of an answer, from the core's: inside its envelope, or with the items a second time.
std::string dress(std::string answer, std::string_view envelope, std::string_view items_alias);

// An answer in the two parts that are sent.
struct Response {
  std::string head;  // empty: the general way compresses the body and sends it
  std::string body;
  bool is_replay = false;
};

// Answers with status 200 of one route.
struct Counts {
  std::vector<std::uint64_t> by_duration;  // up to each bound, and above the last
  double seconds = 0;                      // in all
};

struct LaneOptions {
  std::vector<Route> routes;
  std::vector<double> bounds_s;   // of the durations that are counted, ascending
  std::size_t large_bytes = 0;    // answers from this size on are compressed for some clients
  std::string large_body_header;  // of such an answer
  std::string replay_header;
};

// For the thread of one event loop, and the writes of one DeferredWrites.
class Lane {
 public:
  explicit Lane(LaneOptions options);

  // The answer of a read; nothing if the request is for the general way. All reads up to
  // end_reads() see the state that the first saw: requests that had all begun to arrive before it.
  std::optional<Response> read(const std::shared_ptr<service::Service>& service,
                               std::string_view bytes);
  void end_reads() { snapshot_.end(); }

  // Queues a write, whose answer `finish` gives when `writes` has completed it; nothing if the
  // request is for the general way.
  using Ticket = service::DeferredWrites::Ticket;
  std::optional<Ticket> submit(service::Service& service, service::DeferredWrites& writes,
                               std::string_view bytes);
  Response finish(Ticket ticket, service::Answer answer);
  // For a write that failed: the general way refuses it.
  void discard(Ticket ticket) { writes_.erase(ticket); }

  // Takes requests with this token for the principal's, up to a time. `client` and `customer` are
  // JSON for the log.
  void admit(std::string_view token, Principal principal, std::string client, std::string customer,
             Timestamp until);
  // No token is known any more.
  void forget() { callers_.clear(); }

  void set_default_headers(std::string headers) { default_headers_ = std::move(headers); }
  // The log lines of the answers since the last call.
  std::string take_log() { return std::exchange(log_, {}); }
  // By the position of the route.
  const std::vector<Counts>& counts() const { return counts_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Digest = std::array<unsigned char, 32>;
  struct HashOfDigest {
    std::size_t operator()(const Digest& digest) const;
  };
  struct Caller {
    Principal principal;
    std::string client;
    std::string customer;
    Timestamp until;
  };
  // A request that has its route and its caller.
  struct Accepted {
    std::size_t route = 0;
    std::shared_ptr<const Caller> caller;
    service::Call call;
    bool has_accept_encoding = false;
    Timestamp time;
    Clock::time_point begin;
  };

  std::optional<Accepted> accept(const service::Service& service, const Request& request) const;
  std::shared_ptr<const Caller> find_caller(std::string_view token, Timestamp now) const;
  std::optional<std::size_t> find_route(const Request& request, service::Call& call) const;
  Response respond(const Accepted& accepted, service::Answer answer);
  std::string make_request_id();

  LaneOptions options_;
  std::unordered_map<std::string, std::size_t> fixed_;  // by method, space and path
  std::unordered_map<Digest, std::shared_ptr<const Caller>, HashOfDigest> callers_;
  std::unordered_map<Ticket, Accepted> writes_;
  service::SharedSnapshot snapshot_;
  std::string default_headers_;
  std::string log_;
  std::vector<Counts> counts_;
  std::array<unsigned char, 1024> random_{};
  std::size_t random_used_ = random_.size();
};

}  // namespace comptroller::http
