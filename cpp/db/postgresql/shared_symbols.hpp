// The symbols of a database, cached for all connections of the process. They are read and stored on
// a connection of their own, each in a transaction of its own: a new text does not hold up other
// writes that need it, and a text whose write was undone does no harm. After a failover or a
// restart the last stored texts may be missing, and other texts may get their keys. The cache is
// then emptied.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "db/database.hpp"

namespace comptroller::db::postgresql {

// Safe for many threads.
class SharedSymbols {
 public:
  // Returns a connection, and what identifies its server.
  using Connect = std::function<std::pair<std::unique_ptr<Connection>, std::int64_t>()>;

  explicit SharedSymbols(Connect connect) : connect_(std::move(connect)) {}
  ~SharedSymbols() = default;
  SharedSymbols(const SharedSymbols&) = delete;
  SharedSymbols& operator=(const SharedSymbols&) = delete;

  // Reads the first symbols into the cache.
  void fill();
  // Called with the server of each new connection before it is used: empties the cache if it is
  // another server.
  void follow(std::int64_t server);
  // Whether the cache has symbols of this server.
  bool is_of(std::int64_t server) const { return server_ == server; }
  // Changes when the cache is emptied because the database may have other content.
  std::int64_t generation() const { return generation_; }
  // Returns the text of a key; throws unusable if there is none.
  std::string text(std::int64_t key);
  std::optional<std::int64_t> find(std::string_view text);
  // Returns the key of a text; stores a new text.
  std::int64_t intern(std::string_view text);
  // Looks up several texts; returns those that are not stored.
  std::set<std::string_view> find_absent(std::span<const std::string_view> texts);
  // Looks up and stores several texts.
  void intern_many(std::span<const std::string_view> texts);

 private:
  // Runs `work` with the connection; again on a new one if it was lost. Throws Lost if that is of
  // another server, which the cache then follows.
  template <class Work>
  auto with_connection(const Work& work);
  // Connects anew. Returns false if that is to another server, which the cache then follows.
  bool connect();
  void forget();
  void remember(std::string_view text, std::int64_t key);
  // Runs a query of the texts that are not cached, and remembers its rows; returns those that have
  // none.
  std::set<std::string_view> read_unknown(const char* sql, std::span<const std::string_view> texts);

  Connect connect_;
  std::atomic<std::int64_t> server_ = 0;
  std::atomic<std::int64_t> generation_ = 1;
  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;
  std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> keys_;
  std::unordered_map<std::int64_t, std::string> texts_;
};

// The symbols of one connection, with a small cache in front of the shared one. A text that is not
// stored after a snapshot was taken is in no row that the snapshot sees.
class ConnectionSymbols final : public Symbols {
 public:
  // `take_snapshot` takes the snapshot of the connection's transaction, if there is none.
  ConnectionSymbols(Statements& connection, SharedSymbols& shared,
                    std::function<void()> take_snapshot)
      : Symbols(connection, max_cached),
        shared_(shared),
        take_snapshot_(std::move(take_snapshot)) {}

  // Names the server of the connection, which must remain that of the shared symbols.
  void expect(std::int64_t server) { server_ = server; }
  bool is_of_current_server() const { return server_ == 0 || shared_.is_of(server_); }
  std::int64_t generation() const { return shared_.generation(); }
  void begin_transaction(bool is_snapshot) {
    is_snapshot_ = is_snapshot;
    absent_.clear();
  }
  void find_many(std::span<const std::string_view> texts) override;

 protected:
  std::string read_text(std::int64_t key) override { return shared_of_current_server().text(key); }
  std::optional<std::int64_t> read_key(std::string_view text) override;
  std::int64_t insert(std::string_view text) override {
    return shared_of_current_server().intern(text);
  }
  void intern_many(std::span<const std::string_view> texts) override {
    shared_of_current_server().intern_many(texts);
  }

 private:
  static constexpr std::size_t max_cached = 4'096;

  // The shared symbols; throws Lost if they are of another server than the connection.
  SharedSymbols& shared_of_current_server() const;

  std::int64_t server_ = 0;
  SharedSymbols& shared_;
  std::function<void()> take_snapshot_;
  bool is_snapshot_ = false;
  std::set<std::string, std::less<>> absent_;  // in this snapshot
};

}  // namespace comptroller::db::postgresql
