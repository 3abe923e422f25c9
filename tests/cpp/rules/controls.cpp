#include "rules/controls.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "rules/vectors.hpp"

namespace comptroller::rules {
namespace {

CreateControl request_of(const Case& row) {
  CreateControl request;
  request.identity_id = Id{"i1"};
  request.type = require_scalar<ControlType>("type", row.text("type"));
  request.reason_code = Word{"TEST"};
  request.reason = Note{"because"};
  request.is_overridable = row.flag_if_there("is_overridable");
  return request;
}

TEST_CASE("clients and the operator create controls within their rights") {
  for (const Case& row : Vectors("create-control")) {
    CAPTURE(row.shown());
    const std::vector<Control> standing = controls_of(row.texts("standing"));
    const Principal principal = principal_of(row.text("who"));
    Control created;
    const std::string code = code_of([&] {
      const CreateControl request = request_of(row);
      check_members(request, principal);
      created = create_control(request, standing, principal, instant, "new");
    });
    CHECK(code == row.code());
    if (!code.empty()) continue;
    CHECK(created.id == Id{"new"});
    CHECK(created.identity_id == Id{"i1"});
    CHECK(enum_text(created.type) == row.text("type"));
    CHECK(enum_text(created.set_by) == row.text("set_by"));
    CHECK(created.is_overridable == row.flag("overridable"));
    CHECK(created.reason_code == Word{"TEST"});
    CHECK(created.reason == Note{"because"});
    CHECK(created.created_at == instant);
    CHECK_FALSE(created.deleted_at.has_value());
    CHECK(created.created_by == Label{principal.actor});
    CHECK_FALSE(created.deleted_by.has_value());
    CHECK_FALSE(created.deletion_reason.has_value());
  }
}

TEST_CASE("the conflict of a new control names the active control") {
  CreateControl request;
  request.type = ControlType::closed;
  const std::vector<Control> standing = controls_of({"DORMANT/CLIENT", "CLOSED/CLIENT"});
  try {
    create_control(request, standing, principal_of("client"), instant, "new");
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(error.existing() == standing[1].id.value);
  }
}

TEST_CASE("clients and the operator delete controls within their rights, and the status follows") {
  for (const Case& row : Vectors("delete-control")) {
    CAPTURE(row.shown());
    Control control = control_of(row.text("type") + "/" + row.text("set_by"), "target");
    control.is_overridable = row.flag("is_overridable");
    if (row.flag("deleted")) control.deleted_at = earlier_moment;
    const Principal principal = principal_of(row.text("who"));
    std::vector<Control> left = controls_of(row.texts("others"));
    Control deleted = control;
    const std::string code =
        code_of([&] { deleted = delete_control(control, Note{"over"}, principal, instant); });
    CHECK(code == row.code());
    if (code.empty()) {
      CHECK(deleted.deleted_at == instant);
      CHECK(deleted.deleted_by == Label{principal.actor});
      CHECK(deleted.deletion_reason == Note{"over"});
      deleted.deleted_at = control.deleted_at;
      CHECK(describe(deleted) == describe(control));
    } else if (!row.flag("deleted")) {
      left.push_back(control);
    }
    CHECK(enum_text(status_of(left)) == row.text("status"));
    CHECK(enum_texts(permitted_actions(left)) == row.texts("permitted_actions"));
  }
}

TEST_CASE("a deletion is not earlier than its control") {
  Control control = control_of("CLOSED/CLIENT/overridable");
  control.created_at = later_moment;  // by a clock that is ahead, or while this write waited
  CHECK(delete_control(control, {}, principal_of("client"), instant).deleted_at == later_moment);
}

TEST_CASE("a deletion without a reason has none") {
  const Control deleted = delete_control(control_of("CLOSED/CLIENT/overridable"), std::nullopt,
                                         principal_of("client"), instant);
  CHECK_FALSE(deleted.deletion_reason.has_value());
}

}  // namespace
}  // namespace comptroller::rules
