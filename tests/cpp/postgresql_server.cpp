#include "postgresql_server.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "test_database.hpp"

namespace comptroller::db::postgresql {

namespace {

const Interrupt no_interrupt{{}};

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): never changed
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string with_database(std::string address, const std::string& name) {
  const std::size_t begin = address.find('/', address.find("://") + 3) + 1;
  return address.replace(begin, std::min(address.find('?'), address.size()) - begin, name);
}

void run_on_server(const std::string& sql) {
  Session session(server_address().value(), false, no_interrupt);
  session.add_statement(sql);
  session.run();
}

}  // namespace

std::optional<std::string> server_address() {
  const auto address = variable("COMPTROLLER_TEST_POSTGRESQL");
  if (!address) MESSAGE("skipped, because COMPTROLLER_TEST_POSTGRESQL is not set");
  return address;
}

TestDatabase::TestDatabase(const TestDatabase* copied) {
  static std::atomic<int> count = 0;
  name_ = "core_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
  address_ = with_database(server_address().value(), name_);
  run_on_server("CREATE DATABASE " + name_ + " ENCODING 'UTF8' TEMPLATE " +
                (copied == nullptr ? "template0" : copied->name_ + " STRATEGY FILE_COPY"));
}

TestDatabase::~TestDatabase() {
  run_on_server("DROP DATABASE " + name_ + " WITH (FORCE)");
}

std::unique_ptr<Session> TestDatabase::connect() const {
  return std::make_unique<Session>(address_, false, no_interrupt);
}

namespace {

// The database of an empty store.
const TestDatabase& empty_store() {
  static const TestDatabase made;
  [[maybe_unused]] static const bool is_migrated = made.open() != nullptr;
  return made;
}

// A store that owns its database.
class OwningDatabase final : public Database {
 public:
  Lease reader() override { return store_->reader(); }
  std::vector<Lease> readers_of_one_snapshot(std::size_t count) override {
    return store_->readers_of_one_snapshot(count);
  }
  bool is_writable() const override { return store_->is_writable(); }
  void check_may_write() override { store_->check_may_write(); }
  void write(const std::function<void(Connection&)>& work) override { store_->write(work); }
  void write_later(std::function<void(Connection&)> work,
                   std::function<void(std::exception_ptr)> done) override {
    store_->write_later(std::move(work), std::move(done));
  }
  bool write_unless_bulk(const std::function<void(Connection&)>& work) override {
    return store_->write_unless_bulk(work);
  }
  std::unique_ptr<Fill> fill(const Filling& filling) override { return store_->fill(filling); }
  std::int64_t version() override { return store_->version(); }
  Commits commits() const override { return store_->commits(); }
  LogSize log_size() override { return store_->log_size(); }
  std::function<std::int64_t()> clock_offset() const override { return store_->clock_offset(); }
  std::string folder() const override { return store_->folder(); }
  bool owns(const std::string& path) const override { return store_->owns(path); }
  Health health() override { return store_->health(); }
  void backup(const std::string& destination, const Observe& observe) override {
    store_->backup(destination, observe);
  }
  void interrupt() noexcept override { store_->interrupt(); }

 private:
  TestDatabase database_{&empty_store()};
  std::unique_ptr<Database> store_ = database_.open();
};

// The tests begin after this.
[[maybe_unused]] const bool is_tested = [] {
  const bool is_named = variable("COMPTROLLER_TEST_ENGINE") == "postgresql";
  if (is_named) {
    open_on_tested_engine = []() -> std::unique_ptr<Database> {
      return std::make_unique<OwningDatabase>();
    };
  }
  return is_named;
}();

}  // namespace

}  // namespace comptroller::db::postgresql
