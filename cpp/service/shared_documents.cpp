#include "service/shared_documents.hpp"

#include <string_view>

#include "model/error.hpp"
#include "service/authorisation.hpp"

namespace comptroller::service {

namespace {

// Other rows of the table, such as the secret of cursors, are not for callers.
void require_access(const Service& service, const Principal& principal, std::string_view name) {
  service.check_usable();
  require_scope(principal, operator_write, true);
  if (name == "clients" || name == "keys" || name == "journal key") return;
  throw Error(Code::invalid_request,
              "name: no shared document has this name; clients, keys or journal key");
}

}  // namespace

void remove_shared(db::Connection& connection) {
  connection.run(
      "DELETE FROM secrets WHERE name IN"
      " ('clients', 'keys', 'journal key', 'webhook key fingerprint')");
}

std::optional<std::string> read_shared(Service& service, const Principal& principal,
                                       const std::string& name) {
  require_access(service, principal, name);
  const db::Lease reader = service.database()->reader();
  db::Query query = reader->query("SELECT value FROM secrets WHERE name = ?");
  query.bind(1, std::string_view(name));
  if (!query.step()) return std::nullopt;
  return std::string(query.column(0).bytes);
}

bool replace_shared(Service& service, const Principal& principal, const std::string& name,
                    const std::optional<std::string>& before, const std::string& after) {
  require_access(service, principal, name);
  bool is_replaced = false;
  service.database()->write([&](db::Connection& connection) {
    const std::int64_t rows =
        before ? connection.run("UPDATE secrets SET value = ? WHERE name = ? AND value = ?",
                                db::Value::blob(after), std::string_view(name),
                                db::Value::blob(*before))
               : connection.run(
                     "INSERT INTO secrets (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING",
                     std::string_view(name), db::Value::blob(after));
    is_replaced = rows == 1;
  });
  return is_replaced;
}

}  // namespace comptroller::service
