#include <doctest/doctest.h>

#include "rules/controls.hpp"
#include "rules/vectors.hpp"

namespace comptroller::rules {
namespace {

TEST_CASE("the active controls determine the status and the permitted actions") {
  for (const Case& row : Vectors("permitted-actions")) {
    CAPTURE(row.shown());
    const std::vector<Control> active = controls_of(row.texts("active"));
    CHECK(enum_text(status_of(active)) == row.text("status"));
    CHECK(enum_texts(permitted_actions(active)) == row.texts("permitted_actions"));
  }
}

TEST_CASE("an identity shows the values derived from its active controls") {
  StoredIdentity stored;
  stored.id = Id{"i1"};
  stored.customer_id.value = "acme";
  stored.ref_id = Label{"r1"};
  stored.metadata = Metadata{{{"k", "v"}}};
  stored.created_at = earlier_moment;
  stored.updated_at = UpdatedAt{instant};

  const Identity shown = show_identity(stored, controls_of({"SELL_ONLY/CLIENT/overridable"}));
  CHECK(shown.id == stored.id);
  CHECK(shown.customer_id == stored.customer_id);
  CHECK(shown.ref_id == stored.ref_id);
  CHECK(shown.metadata == stored.metadata);
  CHECK(shown.created_at == stored.created_at);
  CHECK(shown.updated_at == stored.updated_at);
  CHECK(shown.status == IdentityStatus::disabled);
  CHECK(shown.user_disabled);
  CHECK_FALSE(shown.admin_disabled);
  REQUIRE(shown.status_details.active_controls.size() == 1);
  CHECK(describe(shown.status_details.active_controls[0]) == "SELL_ONLY/CLIENT/overridable");
  CHECK(shown.status_details.permitted_actions == std::vector{Action::sell});
}

}  // namespace
}  // namespace comptroller::rules
