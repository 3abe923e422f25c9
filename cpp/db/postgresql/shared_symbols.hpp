// The symbols of a database, cached for all connections of the process. They are read and stored on
// a connection of their own, each in a transaction of its own: a new text does not hold up other
// writes that need it, and a text whose write was undone does no harm. After a failover or a
// restart the last stored texts may be missing, and other texts may get their keys. The cache is
// then emptied.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
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
#include <vector>

#include "db/database.hpp"
#include "db/interrupt.hpp"

namespace comptroller::db::postgresql {

struct Symbol {
  std::int64_t key;
  std::string text;
};

// Safe for many threads. The functions that read and store symbols get the server of the caller's
// connection; they throw Lost if the cache has symbols of another one. What is cached is returned
// at once. For anything else they wait until no other thread uses the connection; they throw the
// interrupt's exceptions, and unavailable after `max_wait`.
class SharedSymbols {
 public:
  // Returns a connection, and what identifies its server.
  using Connect = std::function<std::pair<std::unique_ptr<Connection>, std::int64_t>()>;

  // The interrupt must outlive this object.
  SharedSymbols(Connect connect, const Interrupt& interrupt, std::chrono::milliseconds max_wait)
      : connect_(std::move(connect)), interrupt_(interrupt), max_wait_(max_wait) {}
  ~SharedSymbols() = default;
  SharedSymbols(const SharedSymbols&) = delete;
  SharedSymbols& operator=(const SharedSymbols&) = delete;

  // Reads the first symbols into the cache.
  void fill();
  // Called with the server of each new connection before it is used: empties the cache if it is
  // another server. Does not wait for a request.
  void follow(std::int64_t server);
  // Whether the cache has symbols of this server.
  bool is_of(std::int64_t server) const { return server_ == server; }
  // Changes when the cache is emptied because the database may have other content.
  std::int64_t generation() const { return generation_; }
  // Returns the text of a key; throws unusable if there is none.
  std::string text(std::int64_t key, std::int64_t server);
  std::optional<std::int64_t> find(std::string_view text, std::int64_t server);
  // Returns the key of a text; stores a new text.
  std::int64_t intern(std::string_view text, std::int64_t server);
  // Looks up several texts; returns those that are not stored.
  std::set<std::string_view> find_absent(std::span<const std::string_view> texts,
                                         std::int64_t server);
  // Looks up and stores several texts.
  void intern_many(std::span<const std::string_view> texts, std::int64_t server);

 private:
  // Reads symbols with the connection, on a new one if it was lost, and caches them. Throws Lost if
  // that is of another server, which the cache then follows.
  using Read = std::function<std::vector<Symbol>(Connection& connection)>;
  std::vector<Symbol> read(const Read& work, std::int64_t server);
  // The use of the connection by one thread, until its destructor. Not a timed mutex, because the
  // thread sanitizer of GCC 12 does not see that one is locked.
  struct EndUse {
    void operator()(SharedSymbols* symbols) const noexcept { symbols->end_use(); }
  };
  using Use = std::unique_ptr<SharedSymbols, EndUse>;
  Use wait_for_connection();
  void end_use() noexcept;
  // These two are for the thread that uses the connection.
  std::vector<Symbol> read_alone(const Read& work);
  void connect();
  // Reads the texts that are not cached with a query of a list; returns those without a row.
  std::set<std::string_view> read_unknown(const char* sql, std::span<const std::string_view> texts,
                                          std::int64_t server);
  // Reads the key of a text with a query of it; nullopt if there is no row.
  std::optional<std::int64_t> read_key(const char* sql, std::string_view text, std::int64_t server);
  std::optional<std::string> cached_text(std::int64_t key, std::int64_t server);
  std::optional<std::int64_t> cached_key(std::string_view text, std::int64_t server);
  // These require mutex_.
  void require(std::int64_t server) const;
  void remember(const Symbol& symbol);
  void forget();

  Connect connect_;
  const Interrupt& interrupt_;
  std::chrono::milliseconds max_wait_;

  // For the thread that uses the connection.
  std::unique_ptr<Connection> connection_;
  std::int64_t server_of_connection_ = 0;

  std::mutex mutex_;        // guards the members below; not held during requests
  bool is_in_use_ = false;  // the connection
  std::condition_variable end_of_use_;
  std::atomic<std::int64_t> server_ = 0;
  std::atomic<std::int64_t> generation_ = 1;
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

  // Names the server of the connection, which must remain that of the shared symbols. Called before
  // the first use.
  void expect(std::int64_t server) { server_ = server; }
  bool is_of_current_server() const { return server_ == 0 || shared_.is_of(server_); }
  std::int64_t generation() const { return shared_.generation(); }
  void begin_transaction(bool is_snapshot) {
    is_snapshot_ = is_snapshot;
    absent_.clear();
  }
  void find_many(std::span<const std::string_view> texts) override;

 protected:
  std::string read_text(std::int64_t key) override { return shared_.text(key, server_); }
  std::optional<std::int64_t> read_key(std::string_view text) override;
  std::int64_t insert(std::string_view text) override { return shared_.intern(text, server_); }
  void intern_many(std::span<const std::string_view> texts) override {
    shared_.intern_many(texts, server_);
  }

 private:
  static constexpr std::size_t max_cached = 4'096;

  std::int64_t server_ = 0;
  SharedSymbols& shared_;
  std::function<void()> take_snapshot_;
  bool is_snapshot_ = false;
  std::set<std::string, std::less<>> absent_;  // in this snapshot
};

}  // namespace comptroller::db::postgresql
