// Orchestrations (specification 4.2).
#include "store/orchestrations.hpp"

#include "service/arrivals.hpp"
#include "service/handling.hpp"

namespace comptroller::service {

Orchestration put_orchestration(Context& context, const Orchestration& request) {
  Orchestration line = request;
  Arrivals arrivals(context.connection, context.principal, std::nullopt, context.now,
                    context.environment.make_id);
  arrivals.take(line);
  arrivals.finish();
  return require<Orchestration>(context, request.id.value).record;
}

}  // namespace comptroller::service
