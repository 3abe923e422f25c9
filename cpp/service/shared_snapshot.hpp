// One snapshot for several reads.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "service/service.hpp"

namespace comptroller::service {

// Runs the reads of one service in one snapshot, from the first read until end(). Saves each read
// the file locks of a snapshot of its own. For one thread at a time.
class SharedSnapshot {
 public:
  // Runs a read. Keeps the service alive until end(). If it throws, the snapshot has ended.
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
  // The next read begins a new snapshot.
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

  // Destroyed in reverse order.
  std::shared_ptr<Service> service_;
  db::Lease connection_;
  std::optional<db::Snapshot> snapshot_;
};

}  // namespace comptroller::service
