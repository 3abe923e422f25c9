#include "db/postgresql/connecting.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "db/postgresql/failures.hpp"
#include "model/error.hpp"

namespace comptroller::db::postgresql {

namespace {

using std::chrono::seconds;

constexpr seconds max_wait_for_host{5};
constexpr seconds max_wait_for_only_host{10};
constexpr seconds min_wait_for_host{2};  // as in libpq
constexpr const char* default_port = "5432";

struct Finish {
  void operator()(PGconn* connection) const { libpq().finish(connection); }
};
using Attempt = std::unique_ptr<PGconn, Finish>;

// Throws for an address that libpq cannot read. Its own message could show a password.
void check_address(const std::string& address) {
  char* message = nullptr;
  ConnectionOption* const options = libpq().parse_address(address.c_str(), &message);
  libpq().free_options(options);
  libpq().free_memory(message);
  if (options != nullptr) return;
  throw Error::invalid("address",
                       "is not valid; must be postgresql://[user@]host[:port]/database[?name=value]"
                       ", in which special characters are written as %XX");
}

// Throws unusable if the server refuses the user or the database, which libpq reports only in
// words; unavailable if the server cannot be reached, or accepts no connection now.
[[noreturn]] void throw_unconnected(const std::string& message) {
  constexpr std::array refusals{"authentication failed", "does not exist",
                                "no password supplied",  "pg_hba.conf",
                                "permission denied",     "not permitted"};
  const bool is_refused = std::ranges::any_of(
      refusals, [&](const char* refusal) { return message.find(refusal) != std::string::npos; });
  const bool is_standby = message.find("session is read-only") != std::string::npos;
  throw Error(
      is_refused ? Code::unusable : Code::unavailable,
      (is_standby ? "the database accepts only reads, as a standby does; open it read-only, "
                    "or name the primary in the address, too: "
                  : "cannot connect to the database: ") +
          message);
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, end));
    if (end == list.size()) return parts;
    list.remove_prefix(end + 1);
  }
}

std::string join(const std::vector<std::string>& parts) {
  std::string list;
  for (const std::string& part : parts) list.append(part).append(",");
  if (!list.empty()) list.pop_back();
  return list;
}

std::string text(const char* value) {
  return value == nullptr ? std::string() : std::string(value);
}

// Returns the addresses of a host, in the order in which they are tried; none if that fails.
std::vector<std::string> addresses_of(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &wanted, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
  std::vector<std::string> addresses;
  for (; found != nullptr; found = found->ai_next) {
    std::array<char, NI_MAXHOST> address{};
    if (::getnameinfo(found->ai_addr, found->ai_addrlen, address.data(), address.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      addresses.emplace_back(address.data());
    }
  }
  return addresses;
}

void replace(std::vector<std::string>& list, std::size_t place,
             const std::vector<std::string>& items) {
  const auto at = list.erase(list.begin() + static_cast<std::ptrdiff_t>(place));
  list.insert(at, items.begin(), items.end());
}

// The parameters of a connection that is being made. The lists of its hosts are empty, or have an
// item for each host; that of the ports may have one for all.
class Hosts {
 public:
  explicit Hosts(PGconn* connection) {
    for (const auto& [name, value] : parameters_of(connection)) {
      if (name == "service") continue;  // what it gives is among the others
      if (name == "host") {
        names_ = split(value);
      } else if (name == "hostaddr") {
        addresses_ = split(value);
      } else if (name == "port") {
        ports_ = split(value);
      } else {
        others_.emplace_back(name, value);
      }
      if (name == "connect_timeout") {
        std::from_chars(value.data(), value.data() + value.size(), timeout_s_);
      }
    }
  }

  seconds max_wait() const {
    if (timeout_s_ > 0) return std::max(seconds(timeout_s_), min_wait_for_host);
    return count() > 1 ? max_wait_for_host : max_wait_for_only_host;
  }
  // Leaves out the address that the connection waits for: a host, or one of the addresses of its
  // name. Returns false if it is the last one.
  bool leave_out_current(const PGconn* connection) {
    const std::string address = text(libpq().host_address(connection));
    const std::size_t place =
        find(text(libpq().host(connection)), address, text(libpq().port(connection)));
    if (place == count()) return false;
    std::vector<std::string> others;
    if (is_name(place)) {
      others = addresses_of(names_[place]);
      std::erase(others, address);
    }
    if (count() == 1 && others.empty()) return false;
    if (!others.empty()) addresses_.resize(count());
    if (!addresses_.empty()) replace(addresses_, place, others);
    for (std::vector<std::string>* list : {&names_, &ports_}) {
      if (list->empty() || (list == &ports_ && list->size() == 1)) continue;
      replace(*list, place, std::vector(others.size(), (*list)[place]));
    }
    return true;
  }
  ConnectionParameters parameters() const {
    ConnectionParameters all = others_;
    all.emplace_back("host", join(names_));
    all.emplace_back("hostaddr", join(addresses_));
    all.emplace_back("port", join(ports_));
    return all;
  }

 private:
  std::size_t count() const { return std::max(names_.size(), addresses_.size()); }
  // Returns the place of an address, else that of its host, else the count.
  std::size_t find(const std::string& host, const std::string& address,
                   const std::string& port) const {
    std::size_t found = count();
    for (std::size_t place = count(); place-- > 0;) {
      if (host_at(place) != host || port_at(place) != port) continue;
      found = place;
      if (place < addresses_.size() && addresses_[place] == address) return place;
    }
    return found;
  }
  // Whether a host is named, and no address is given for it.
  bool is_name(std::size_t place) const {
    const bool has_address = place < addresses_.size() && !addresses_[place].empty();
    return !has_address && place < names_.size() && !names_[place].empty() &&
           names_[place].front() != '/' && names_[place].front() != '@';
  }
  std::string host_at(std::size_t place) const {
    if (place < names_.size() && !names_[place].empty()) return names_[place];
    return place < addresses_.size() ? addresses_[place] : std::string();
  }
  std::string port_at(std::size_t place) const {
    if (ports_.empty()) return default_port;
    const std::string& port = ports_.size() == 1 ? ports_.front() : ports_[place];
    return port.empty() ? default_port : port;
  }

  std::vector<std::string> names_;
  std::vector<std::string> addresses_;
  std::vector<std::string> ports_;
  ConnectionParameters others_;
  int timeout_s_ = 0;
};

// Empty values have no effect. Those in an address override the parameters before it.
Attempt start_connecting(const ConnectionParameters& parameters) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : parameters) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  Attempt attempt(libpq().connect_start(names.data(), values.data(), 1));
  if (!attempt) throw std::bad_alloc();
  return attempt;
}

// Returns false if a host does not answer in time.
bool end_connecting(PGconn* connection, seconds max_wait, const Interrupt& interrupt) {
  const Libpq& pq = libpq();
  int state = polling_writing;
  std::string waits_for;
  Deadline deadline;
  while (pq.status(connection) != connection_bad && state != polling_ok) {
    interrupt.check();
    std::string host = text(pq.host(connection));
    host.append(" ").append(text(pq.host_address(connection)));
    host.append(" ").append(text(pq.port(connection)));
    if (host != waits_for) {
      waits_for = std::move(host);
      deadline = Clock::now() + max_wait;
    }
    if (Clock::now() >= deadline) return false;
    if (!is_ready(pq.socket(connection), state == polling_writing)) continue;
    state = pq.connect_poll(connection);
    if (state == polling_failed) break;
  }
  if (pq.status(connection) != connection_ok) {
    throw_unconnected(one_line(pq.error_message(connection)));
  }
  return true;
}

}  // namespace

ConnectionParameters parameters_of(PGconn* connection) {
  const std::unique_ptr<ConnectionOption, void (*)(ConnectionOption*)> options(
      libpq().options_of(connection), libpq().free_options);
  if (!options) throw std::bad_alloc();
  ConnectionParameters parameters;
  for (const ConnectionOption* each = options.get(); each->keyword != nullptr; ++each) {
    const std::string value = text(each->value);
    if (!value.empty()) parameters.emplace_back(each->keyword, value);
  }
  return parameters;
}

bool is_ready(int socket, bool for_writing) {
  pollfd waiting{socket, POLLIN, 0};
  if (for_writing) waiting.events |= POLLOUT;
  return ::poll(&waiting, 1, static_cast<int>(check_interval.count())) > 0;
}

PGconn* connect(const std::string& address, bool is_read_only, const Interrupt& interrupt) {
  check_address(address);
  ConnectionParameters parameters{{"fallback_application_name", "comptroller"},
                                  {"target_session_attrs", is_read_only ? "any" : "read-write"},
                                  {"keepalives_idle", "30"},
                                  {"keepalives_interval", "10"},
                                  {"keepalives_count", "3"},
                                  {"tcp_user_timeout", "30000"},
                                  {"dbname", address},
                                  {"client_encoding", "UTF8"}};
  while (true) {
    Attempt attempt = start_connecting(parameters);
    Hosts hosts(attempt.get());
    if (end_connecting(attempt.get(), hosts.max_wait(), interrupt)) return attempt.release();
    if (!hosts.leave_out_current(attempt.get())) {
      throw Error(Code::unavailable, "the database did not answer within " +
                                         std::to_string(hosts.max_wait().count()) +
                                         " s; try again later");
    }
    parameters = hosts.parameters();
  }
}

}  // namespace comptroller::db::postgresql
