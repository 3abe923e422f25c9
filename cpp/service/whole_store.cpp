#include "service/whole_store.hpp"

#include "service/authorisation.hpp"
#include "store/invariants.hpp"

namespace comptroller::service {

namespace {

using json::append_name;
using json::append_string;

void append_finding(std::string& out, std::string_view check, std::string_view message) {
  out += out.back() == '[' ? "{" : ",{";
  append_name(out, "check");
  append_string(out, check);
  append_name(out, "message");
  append_string(out, message);
  out += '}';
}

}  // namespace

std::string check(Service& service, const Principal& principal) {
  service.check_usable();
  require_scope(principal, operator_read, false);
  const db::Health health = service.database()->health();
  const db::Lease connection = service.database()->reader();
  const db::Snapshot snapshot(*connection);
  const std::vector<store::Finding> broken = health.findings.empty()
                                                 ? store::broken_invariants(*connection)
                                                 : std::vector<store::Finding>{};
  const bool is_ok = health.findings.empty() && health.copies.size() <= 1 && broken.empty();
  std::string out = is_ok ? R"({"ok":true,"findings":[)" : R"({"ok":false,"findings":[)";
  for (const std::string& finding : health.findings) append_finding(out, "integrity", finding);
  if (health.copies.size() > 1) {
    append_finding(out, "sqlite", "more than one copy of SQLite is in this process");
  }
  for (const store::Finding& finding : broken) append_finding(out, finding.check, finding.message);
  out += ']';
  append_name(out, "engine");
  append_string(out, health.engine);
  append_name(out, "copies");
  out += '[';
  for (const std::string& copy : health.copies) {
    if (out.back() != '[') out += ',';
    append_string(out, copy);
  }
  out += ']';
  append_name(out, "rows");
  out += '{';
  for (const store::TableSize& size : store::table_sizes(*connection)) {
    append_name(out, size.table);
    out += std::to_string(size.rows);
  }
  out += "}}";
  return out;
}

void backup(Service& service, const Principal& principal, const std::string& destination) {
  service.check_usable();
  require_scope(principal, operator_read, false);
  if (destination.empty()) throw Error::invalid("destination", "must name a file");
  // Copies are made beside their name, with ".part" behind it.
  if (service.database()->owns(destination) || service.database()->owns(destination + ".part")) {
    throw Error::invalid("destination",
                         destination + " is a file of the store itself; name another file");
  }
  service.database()->backup(destination);
}

}  // namespace comptroller::service
