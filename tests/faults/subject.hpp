// The store on which an operation runs, and its content.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "db/folder.hpp"
#include "journal/hash.hpp"
#include "load/loader.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::faults {

// A store in a folder of its own. Ids and times are the same in each subject, so an operation gives
// the same answers and the same content.
class Subject {
 public:
  Subject() = default;
  // Copies the files of a folder.
  explicit Subject(const std::string& original);

  std::string path() const { return folder_ / "store.db"; }
  const std::string& folder() const { return folder_.path(); }
  std::string file(const std::string& name) const { return folder_ / name; }
  // The names of its files; of those that are not the store's, also content and permissions.
  std::string files() const;

  void open();
  void close() { fixture_.reset(); }
  bool is_open() const { return fixture_ != nullptr; }
  service::ServiceFixture& store() { return *fixture_; }
  service::Service& service() { return fixture_->service; }
  const Principal& provider() { return fixture_->provider; }

  load::Result load(const std::string& kind, load::Input& input, load::LoadOptions options = {}) {
    options.kind = kind;
    return load::load(service(), provider(), input, options);
  }

  // What an operation that stores several parts reported to its caller.
  struct Acknowledged {
    std::uint64_t claims = 0;
    std::uint64_t identities = 0;
  } acknowledged;

 private:
  db::Folder folder_;
  bool is_copy_ = false;
  std::unique_ptr<service::ServiceFixture> fixture_;
};

// Lines of a file in memory. Calls `at_end` when their end is read for the first time.
class Lines : public load::Input {
 public:
  explicit Lines(std::string text, std::function<void()> at_end = {})
      : text_(std::move(text)), at_end_(std::move(at_end)) {}

  std::size_t read(char* out, std::size_t capacity) override {
    const std::size_t count = text_.copy(out, capacity, place_);
    place_ += count;
    if (count == 0 && at_end_) std::exchange(at_end_, nullptr)();
    return count;
  }
  std::optional<std::uint64_t> size() const override { return text_.size(); }
  void rewind() override { place_ = 0; }

 private:
  std::string text_;
  std::function<void()> at_end_;
  std::size_t place_ = 0;
};

// Returns lines of generated records. Spaces make each line `width` bytes long.
std::string sample_lines(const std::string& kind, std::uint64_t rows, std::size_t width = 0);

// The hash of each table's rows.
using Digest = std::map<std::string, journal::Hash>;
Digest digest_of(const std::string& path);
// Returns the names of the tables that differ.
std::string difference(const Digest& left, const Digest& right);

// Folders with a closed store, made once. The small store has the answer to a request to create
// this control with the idempotency key "key", and the identity has another control.
constexpr const char* dormant_control =
    R"({"identity_id":"known","type":"DORMANT","reason_code":"TEST"})";
const std::string& small_store();
const std::string& store_without_claims();
// A store of the first version.
const std::string& store_of_first_version();
// A store whose process was killed when a checkpoint was due at the next write.
const std::string& store_with_large_log();
// A store with more claims of one group than a write changes.
const std::string& store_with_large_group();
constexpr int claims_of_large_group = 1'200;

}  // namespace comptroller::faults
