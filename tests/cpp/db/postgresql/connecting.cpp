#include "db/postgresql/connecting.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model/error.hpp"
#include "postgresql_server.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::db::postgresql {
namespace {

using service::refusal_of;
using std::chrono::seconds;

const Interrupt no_interrupt{{}};

// Connections to it are established, but nobody answers, as if the machine had just died.
class SilentHost {
 public:
  SilentHost() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener_, any, size) == 0);
    REQUIRE(::listen(listener_, 8) == 0);
    REQUIRE(::getsockname(listener_, any, &size) == 0);
    port_ = std::to_string(ntohs(address.sin_port));
  }
  ~SilentHost() { ::close(listener_); }
  SilentHost(const SilentHost&) = delete;
  SilentHost& operator=(const SilentHost&) = delete;

  const std::string& port() const { return port_; }

 private:
  int listener_;
  std::string port_;
};

TEST_CASE("a host that does not answer is left out, wherever it is named") {
  if (!server_address()) return;
  const std::string folder = Session(*server_address(), false, no_interrupt).option("host");
  const SilentHost silent;
  const SilentHost other;
  for (const std::string& hosts :
       {"127.0.0.1," + folder + "&port=" + silent.port() + ",5432",
        "127.0.0.1,127.0.0.1," + folder + "&port=" + silent.port() + "," + other.port() + ",",
        ",," + folder + "&hostaddr=127.0.0.1,127.0.0.1,&port=" + silent.port() + "," +
            other.port() + ",5432"}) {
    CAPTURE(hosts);
    const auto began = Clock::now();
    Session session(*server_address() + "&connect_timeout=2&host=" + hosts, false, no_interrupt);
    CHECK(Clock::now() - began >= seconds(2));
    CHECK(session.option("host") == folder);
    session.add_statement("SELECT 1");
    CHECK(session.run().size() == 1);
  }
}

TEST_CASE("hosts of which none answers are unavailable") {
  if (!server_address()) return;
  const SilentHost silent;
  const auto began = Clock::now();
  const auto refusal = refusal_of([&] {
    const Session session(
        *server_address() + "&connect_timeout=2&host=127.0.0.1,127.0.0.1&port=" + silent.port(),
        false, no_interrupt);
  });
  CHECK(refusal.code == "unavailable");
  CHECK(refusal.detail == "the database did not answer within 2 s; try again later");
  CHECK(Clock::now() - began >= seconds(4));
}

TEST_CASE("an interrupt ends the wait for a host") {
  if (!server_address()) return;
  struct Stop {};
  const SilentHost silent;
  const Interrupt interrupt{[] { throw Stop(); }};
  CHECK_THROWS_AS(
      Session(*server_address() + "&host=127.0.0.1&port=" + silent.port(), false, interrupt), Stop);
}

}  // namespace
}  // namespace comptroller::db::postgresql
