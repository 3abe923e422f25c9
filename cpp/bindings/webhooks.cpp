// The delivery of the events of webhooks; _core.pyi describes it.
#include <pybind11/stl.h>

#include <tuple>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/store.hpp"
#include "model/error.hpp"
#include "service/webhook_delivery.hpp"

namespace py = pybind11;

namespace comptroller::bindings {

namespace {

using service::WebhookEvent;
using Place = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

std::optional<std::int64_t> number_of(const std::optional<Timestamp>& time) {
  return time ? std::optional(time->microseconds) : std::nullopt;
}
std::optional<Timestamp> time_of(const std::optional<std::int64_t>& number) {
  return number ? std::optional(Timestamp{*number}) : std::nullopt;
}
Place place_of(const store::FeedPosition& position) {
  return {position.sequence, position.part, position.key};
}
store::FeedPosition position_of(const Place& place) {
  return std::make_from_tuple<store::FeedPosition>(place);
}

// Runs a function of the service without the GIL.
auto released(const Store& store, const auto& work) {
  const GilReleased released;
  return work(*store.service());
}

}  // namespace

void bind_webhooks(py::module_& module) {
  using py::arg;
  freeze(py::class_<service::Destination>(module, "Destination")
             .def_property_readonly(
                 "updated_at",
                 [](const service::Destination& self) { return self.updated_at.microseconds; })
             .def_readonly("url", &service::Destination::url)
             .def_readonly("customer_id", &service::Destination::customer_id)
             .def(
                 "sign",
                 [](const service::Destination& self, const py::bytes& content, std::int64_t now) {
                   return self.signers.sign(std::string_view(content), Timestamp{now});
                 },
                 arg("content"), arg("now")));
  freeze(py::class_<service::ActiveWebhook>(module, "ActiveWebhook")
             .def_readonly("key", &service::ActiveWebhook::key)
             .def_readonly("id", &service::ActiveWebhook::id)
             .def_property_readonly(
                 "considered",
                 [](const service::ActiveWebhook& self) { return place_of(self.considered); })
             .def_readonly("destination", &service::ActiveWebhook::destination));
  freeze(py::class_<WebhookEvent>(module, "WebhookEvent")
             .def_property_readonly("record",
                                    [](const WebhookEvent& self) {
                                      return py::make_tuple(enum_text(self.event.resource),
                                                            self.event.record_id);
                                    })
             .def_property_readonly("type",
                                    [](const WebhookEvent& self) { return self.event.event_type; })
             .def_property_readonly("is_test",
                                    [](const WebhookEvent& self) {
                                      return self.event.position.sequence == store::test_sequence;
                                    })
             .def_property_readonly("attempts",
                                    [](const WebhookEvent& self) { return self.event.attempts; })
             .def_property_readonly(
                 "first_attempt_at",
                 [](const WebhookEvent& self) { return number_of(self.event.first_attempt_at); })
             .def_readonly("webhook_id", &WebhookEvent::webhook_id)
             .def_property_readonly("body",
                                    [](const WebhookEvent& self) { return py::bytes(self.body); })
             .def_readonly("is_blocked", &WebhookEvent::is_blocked)
             // Notes an attempt that failed or succeeded, or that the event waits for another.
             .def(
                 "note",
                 [](WebhookEvent& self, std::optional<std::int64_t> attempted_at,
                    std::optional<std::int64_t> next_attempt_at, std::optional<std::string> error) {
                   store::Undelivered& event = self.event;
                   if (attempted_at) {
                     ++event.attempts;
                     event.last_attempt_at = time_of(attempted_at);
                     if (!event.first_attempt_at) event.first_attempt_at = event.last_attempt_at;
                   }
                   event.next_attempt_at = time_of(next_attempt_at);
                   event.last_error = std::move(error);
                 },
                 arg("attempted_at"), arg("next_attempt_at"), arg("error")));
  freeze(
      py::class_<service::EventBatch>(module, "EventBatch")
          .def_readonly("destination", &service::EventBatch::destination)
          .def_property_readonly(
              "next", [](const service::EventBatch& self) { return place_of(self.next); })
          .def_readonly("is_at_end", &service::EventBatch::is_at_end)
          .def_property_readonly(
              "next_due", [](const service::EventBatch& self) { return number_of(self.next_due); })
          .def_readonly("retries", &service::EventBatch::retries)
          .def_readonly("events", &service::EventBatch::events));
  module.def(
      "is_webhook_key_shared",
      [](const Store& store, const Principal& principal) {
        return released(store, [&](service::Service& service) {
          return service::is_webhook_key_shared(service, principal);
        });
      },
      arg("store"), arg("principal"));
  module.def(
      "share_webhook_key",
      [](const Store& store, const Principal& principal) {
        released(store, [&](service::Service& service) {
          service::share_webhook_key(service, principal);
        });
      },
      arg("store"), arg("principal"));
  module.def(
      "active_webhooks",
      [](const Store& store, const Principal& principal) {
        return released(store, [&](service::Service& service) {
          return service::active_webhooks(service, principal);
        });
      },
      arg("store"), arg("principal"));
  module.def(
      "take_events",
      [](const Store& store, const Principal& principal, std::int64_t webhook, const Place& after,
         std::int64_t max_retries, std::int64_t max_events) {
        const service::EventQuery query{webhook, position_of(after), max_retries, max_events};
        return released(store, [&](service::Service& service) {
          return service::take_events(service, principal, query);
        });
      },
      arg("store"), arg("principal"), arg("webhook"), arg("after"), arg("max_retries"),
      arg("max_events"));
  module.def(
      "report_deliveries",
      [](const Store& store, const Principal& principal, std::string holder, std::int64_t webhook,
         const Place& after, const Place& next,
         const std::vector<std::pair<const WebhookEvent*, bool>>& outcomes) {
        service::DeliveryReport report{std::move(holder), webhook, position_of(after),
                                       position_of(next)};
        for (const auto& [event, is_delivered] : outcomes) {
          report.outcomes.push_back({event->event, is_delivered});
        }
        return released(store, [&](service::Service& service) {
          return service::report_deliveries(service, principal, report);
        });
      },
      arg("store"), arg("principal"), arg("holder"), arg("webhook"), arg("after"), arg("next"),
      arg("outcomes"));
  module.def(
      "lease_delivery",
      [](const Store& store, const Principal& principal, const std::string& holder,
         std::int64_t seconds) {
        return released(store, [&](service::Service& service) {
          return service::lease_delivery(service, principal, holder, seconds);
        });
      },
      arg("store"), arg("principal"), arg("holder"), arg("seconds"));
}

}  // namespace comptroller::bindings
