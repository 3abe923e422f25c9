// The connections of a pool that nobody uses.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace comptroller::db {

// For one thread at a time. The connection that was returned last is lent first.
template <class Connection>
class IdleConnections {
 public:
  // More are closed.
  static constexpr std::size_t max_count = 16;
  // One that was not needed for so many loans is closed: a peak of use, which comes at any time,
  // must not make the process larger for ever.
  static constexpr std::uint64_t max_unused_loans = 1'000;

  IdleConnections() {
    idle_.reserve(max_count);  // the end of a loan must not need memory
  }

  bool is_empty() const { return idle_.empty(); }
  void clear() { idle_.clear(); }
  // Returns a connection; null if there is none.
  std::unique_ptr<Connection> take() {
    if (idle_.empty()) return nullptr;
    std::unique_ptr<Connection> connection = std::move(idle_.back().connection);
    idle_.pop_back();
    return connection;
  }
  // Keeps a connection whose loan has ended. Returns one to close, or null.
  std::unique_ptr<Connection> keep(std::unique_ptr<Connection> connection) {
    ++ended_loans_;
    std::unique_ptr<Connection> unused;
    if (!idle_.empty() && ended_loans_ - idle_.front().ended_loans > max_unused_loans) {
      unused = std::move(idle_.front().connection);
      idle_.erase(idle_.begin());
    }
    if (idle_.size() == max_count) return connection;
    idle_.push_back({std::move(connection), ended_loans_});
    return unused;
  }

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    std::uint64_t ended_loans = 0;  // when it was returned
  };

  std::vector<Idle> idle_;  // the first one is unused for longest
  std::uint64_t ended_loans_ = 0;
};

}  // namespace comptroller::db
