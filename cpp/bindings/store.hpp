// The class Store: a service on one file; _core.pyi describes it.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/service.hpp"

namespace comptroller::bindings {

using Parameters = std::vector<std::pair<std::string, std::string>>;

std::vector<service::Parameter> to_parameters(const Parameters& pairs);

// A service that can be closed while other threads use it: running calls finish, and the last of
// them closes the file. Safe for many threads.
class Store {
 public:
  // `progress` is called with the number of records while the store gets its journal, or None.
  // `path` is a file, ":memory:", or the address of a PostgreSQL database. Only for a database:
  // `libpq` is the library to use if COMPTROLLER_LIBPQ names none, by default that of the system;
  // `secrets_base` begins the names of its private files, by default it has none.
  Store(const std::string& path, bool read_only, const pybind11::object& progress,
        const std::optional<std::string>& libpq, const std::optional<std::string>& secrets_base);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Throws closed after close(), and in a forked child.
  std::shared_ptr<service::Service> service() const;
  void close();

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<service::Service> service_;
};

}  // namespace comptroller::bindings
