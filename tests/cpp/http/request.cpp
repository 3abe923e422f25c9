#include "http/request.hpp"

#include <doctest/doctest.h>

#include <string>

namespace comptroller::http {
namespace {

const std::string end = "Host: h\r\nAuthorization: Bearer t.o-k~e_n/+==\r\n\r\n";

TEST_CASE("a plain request is read") {
  const std::string bytes =
      "POST /v2/a/b-1?x=1&y=a,b HTTP/1.1\r\nAccept: */*\r\naccept-ENCODING: gzip\r\n"
      "Content-Type: application/json\r\nContent-Length: 2\r\nIdempotency-Key: k 1\r\n"
      "Connection: keep-alive\r\nX-Any: !~\r\nX-Any: again\r\n" +
      end + "{}";
  const auto request = read_request(bytes);
  REQUIRE(request.has_value());
  CHECK(request->method == "POST");
  CHECK(request->path == "/v2/a/b-1");
  CHECK(request->query == "x=1&y=a,b");
  CHECK(request->token == "t.o-k~e_n/+==");
  CHECK(request->idempotency_key == "k 1");
  CHECK(request->has_accept_encoding);
  CHECK(request->body == "{}");
}

TEST_CASE("a body is optional") {
  CHECK(read_request("GET /a HTTP/1.1\r\n" + end).has_value());
  CHECK(read_request("POST /a HTTP/1.1\r\n" + end).has_value());
  CHECK(read_request("DELETE /a HTTP/1.1\r\nContent-Length: 0\r\n" + end).has_value());
}

TEST_CASE("every other request is left to a full parser") {
  std::string headers = "GET /a HTTP/1.1\r\n";
  for (int i = 0; i < 40; ++i) headers += "X-A: b\r\n";
  const std::string cases[] = {
      "",
      "GET /a HTTP/1.1\r\n",
      "GET /a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n",
      "GET /a HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET /a HTTP/1.1\r\nAuthorization: Bearer t\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: h\r\n" + end,
      "GET /a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t=t\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer =\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: h\r\nAuthorization: bearer t\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: h\r\nAuthorization: Basic t\r\n\r\n",
      "GET /a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t \r\n\r\n",
      "GET /a HTTP/1.0\r\n" + end,
      "HEAD /a HTTP/1.1\r\n" + end,
      "PATCH /a HTTP/1.1\r\n" + end,
      "get /a HTTP/1.1\r\n" + end,
      "GETS /a HTTP/1.1\r\n" + end,
      "GET  /a HTTP/1.1\r\n" + end,
      "GET a HTTP/1.1\r\n" + end,
      "GET http://h/a HTTP/1.1\r\n" + end,
      "GET /a%20b HTTP/1.1\r\n" + end,
      "GET /a?b=c+d HTTP/1.1\r\n" + end,
      "GET /a#b HTTP/1.1\r\n" + end,
      "GET /a HTTP/1.1\n" + end,
      "\r\nGET /a HTTP/1.1\r\n" + end,
      "GET /a HTTP/1.1\r\nX-A : b\r\n" + end,
      "GET /a HTTP/1.1\r\nX_A: b\r\n" + end,
      "GET /a HTTP/1.1\r\nX-A:  b\r\n" + end,
      "GET /a HTTP/1.1\r\nX-A: \r\n" + end,
      "GET /a HTTP/1.1\r\nX-A: b\tc\r\n" + end,
      "GET /a HTTP/1.1\r\nX-A: b\xc3\xa9\r\n" + end,
      "GET /a HTTP/1.1\r\nX-A: b\r\n c\r\n" + end,
      "GET /a HTTP/1.1\r\nX-A: b\n" + end,
      "GET /a HTTP/1.1\r\nConnection: close\r\n" + end,
      "GET /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + end,
      "GET /a HTTP/1.1\r\nExpect: 100-continue\r\n" + end,
      "GET /a HTTP/1.1\r\nUpgrade: h2c\r\n" + end,
      "GET /a HTTP/1.1\r\nX-Request-Id: mine\r\n" + end,
      "GET /a HTTP/1.1\r\nIdempotency-Key: k\r\n" + end,
      "GET /a HTTP/1.1\r\nContent-Length: 0\r\n" + end,
      "GET /a HTTP/1.1\r\n" + end + "x",
      "POST /a HTTP/1.1\r\n" + end + "{}",
      "POST /a HTTP/1.1\r\nContent-Length: 2\r\n" + end + "{}",
      "POST /a HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n" + end + "{}",
      "POST /a HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n" + end + "{",
      "POST /a HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n" + end + "{} ",
      "POST /a HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: +2\r\n" + end + "{}",
      "POST /a HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
      "Content-Length: 2\r\n" +
          end + "{}",
      "POST /a HTTP/1.1\r\nX-HTTP-Method-Override: GET\r\n" + end,
      "POST /a HTTP/1.1\r\nContent-Encoding: gzip\r\n" + end,
      headers + end,
      "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n" + end,
  };
  for (const std::string& bytes : cases) {
    CAPTURE(bytes);
    CHECK_FALSE(read_request(bytes).has_value());
  }
}

}  // namespace
}  // namespace comptroller::http
