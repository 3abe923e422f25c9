// Orchestrations (specification 4.2).
#include "store/orchestrations.hpp"

#include "service/arrivals.hpp"
#include "service/handling.hpp"

namespace comptroller::service {

Orchestration get_orchestration(Context& context, const ById& request) {
  return require<Orchestration>(context, "orchestration", request.id.value).record;
}

PageOf<Orchestration> list_orchestrations(Context& context, const ListOrchestrations& request) {
  return answer_page<Orchestration>(
      context, request,
      store::orchestrations_listing(context.connection, request, ownership_of(context, request)));
}

Orchestration put_orchestration(Context& context, const Orchestration& request) {
  Arrivals arrivals(context.connection, context.principal, std::nullopt, context.now,
                    context.environment.make_id);
  arrivals.take(request);
  arrivals.finish();
  return require<Orchestration>(context, "orchestration", request.id.value).record;
}

}  // namespace comptroller::service
