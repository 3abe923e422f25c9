#include <doctest/doctest.h>

#include <algorithm>

#include "rules/controls.hpp"
#include "rules/vectors.hpp"

namespace comptroller::rules {
namespace {

const Id identity{"i1"};

LegacyFlags flags_of(const Case& members) {
  return {members.flag_if_there("user_disabled"), members.flag_if_there("admin_disabled")};
}

MakeId numbered() {
  return [number = 0]() mutable { return "made-" + std::to_string(++number); };
}

std::vector<std::string> described(const std::vector<Control>& controls) {
  std::vector<std::string> descriptions;
  for (const Control& control : controls) descriptions.push_back(describe(control));
  std::ranges::sort(descriptions);
  return descriptions;
}

void check_made(const Control& control, const Principal& principal) {
  CHECK(control.identity_id == identity);
  CHECK(control.id.value.starts_with("made-"));
  CHECK(control.created_at == instant);
  CHECK(control.created_by == Label{principal.actor});
  CHECK(is_legacy_control(control));
  CHECK(control.reason_code ==
        Word{control.set_by == SetBy::client ? "LEGACY_USER_DISABLED" : "LEGACY_ADMIN_DISABLED"});
}

// Returns the active controls after a change. Each deleted control must have been active before.
std::vector<Control> apply(std::vector<Control> active, const LegacyChange& change,
                           const Principal& principal) {
  for (const Control& deleted : change.deleted) {
    CHECK(deleted.deleted_at == instant);
    CHECK(deleted.deleted_by == Label{principal.actor});
    CHECK(std::erase_if(active, [&](const Control& c) { return c.id == deleted.id; }) == 1);
  }
  for (const Control& created : change.created) {
    check_made(created, principal);
    active.push_back(created);
  }
  return active;
}

TEST_CASE("writing the deprecated booleans creates and deletes their controls") {
  for (const Case& row : Vectors("legacy-flags")) {
    CAPTURE(row.shown());
    const std::vector<Control> before = controls_of(row.texts("before"));
    const Principal principal = principal_of(row.text("who"));
    LegacyChange change;
    const std::string code = code_of([&] {
      change = write_legacy_flags(flags_of(row.object("written")), identity, before, principal,
                                  instant, numbered());
    });
    CHECK(code == row.code());
    if (!code.empty()) continue;
    const std::vector<Control> after = apply(before, change, principal);
    CHECK(described(after) == row.texts("after"));
    CHECK(change.is_empty() == (described(before) == described(after)));
    const Identity shown = show_identity({}, after);
    CHECK(shown.user_disabled == row.flag("user_disabled"));
    CHECK(shown.admin_disabled == row.flag("admin_disabled"));
    CHECK(enum_text(shown.status) == row.text("status"));
    CHECK(enum_texts(shown.status_details.permitted_actions) == row.texts("permitted_actions"));
  }
}

TEST_CASE("the conflict of a boolean names the active control") {
  const std::vector<Control> before = controls_of({"SELL_ONLY/CLIENT/enforced"});
  try {
    write_legacy_flags({true, std::nullopt}, identity, before, principal_of("client"), instant,
                       numbered());
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(error.existing() == before[0].id.value);
  }
}

TEST_CASE("the booleans of a loaded identity create controls and never delete one") {
  for (const Case& row : Vectors("legacy-loads")) {
    CAPTURE(row.shown());
    std::vector<Control> controls = controls_of(row.texts("before"));
    const Principal principal = principal_of("operator");
    for (const Control& made : load_legacy_flags(flags_of(row.object("line")), identity, controls,
                                                 principal, instant, numbered())) {
      check_made(made, principal);
      controls.push_back(made);
    }
    CHECK(described(controls) == row.texts("after"));
  }
}

TEST_CASE("only the reason codes of the booleans identify their controls") {
  Control control = control_of("SELL_ONLY/CLIENT/overridable");
  CHECK_FALSE(is_legacy_control(control));
  for (const char* reason : {"LEGACY_USER_DISABLED", "LEGACY_ADMIN_DISABLED"}) {
    control.reason_code = Word{reason};
    CHECK(is_legacy_control(control));
  }
  control.reason_code = Word{"LEGACY"};
  CHECK_FALSE(is_legacy_control(control));
}

}  // namespace
}  // namespace comptroller::rules
