// Orchestrations (specification 4.2).
#include "service/operation_rows.hpp"
#include "service/operations.hpp"

namespace comptroller::service {

std::vector<Operation> orchestration_operations() {
  const Endpoints orchestrations{"orchestrations", "/orchestration/orchestrations", versioned(),
                                 "orchestration:read_orchestration", ""};
  return {
      read_row(orchestrations, &get<Orchestration>, {"get", "Returns one orchestration."}),
      read_row(orchestrations, &list<ListOrchestrations>, {"list", "Lists orchestrations."}),
      operator_row<RequestSource::body>(
          orchestrations, &put<Orchestration>,
          {.name = "put",
           .summary = "Stores one orchestration, as a load of one line would.",
           .route = "PUT",
           .details = "A newer orchestration replaces the stored one.",
           .errors = {stored_differs}}),
  };
}

}  // namespace comptroller::service
