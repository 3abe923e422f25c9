// One snapshot for several reads.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "service/service.hpp"

namespace comptroller::service {

// Reads of one service that all see the state which the first of them saw, until end(). Beginning a
// snapshot costs as much as reading three rows. For one thread at a time.
class SharedSnapshot {
 public:
  // Runs a read; keeps the service alive until end(). Throws as Service::call does, and ends the
  // snapshot then.
  std::string read(const std::shared_ptr<Service>& service, const Principal& principal,
                   const Call& call) {
    try {
      if (service_ != service) begin(service);
      return service->read(principal, call, *connection_);
    } catch (...) {
      end();
      throw;
    }
  }
  // The next read sees what was committed before it.
  void end() noexcept {
    snapshot_.reset();
    connection_.reset();
    service_.reset();
  }

 private:
  void begin(const std::shared_ptr<Service>& service) {
    end();
    connection_ = service->database()->reader();
    snapshot_.emplace(*connection_);
    service_ = service;
  }

  // Destroyed in the opposite order.
  std::shared_ptr<Service> service_;
  db::Lease connection_;
  std::optional<db::Snapshot> snapshot_;
};

}  // namespace comptroller::service
