#include "db/sqlite/open_file.hpp"

#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

#include "db/forks.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

namespace filesystem = std::filesystem;

constexpr int max_links = 40;

struct Registry {
  std::mutex mutex;
  std::vector<OpenFile*> files;
};

Registry& registry() {
  static auto* const all = new Registry;  // never destroyed, because static databases use it
  return *all;
}

}  // namespace

void OpenFile::before_fork() {
  registry().mutex.lock();
}

void OpenFile::after_fork_in_parent() {
  registry().mutex.unlock();
}

void OpenFile::after_fork_in_child() {
  for (OpenFile* file : registry().files) {
    file->is_inherited_ = true;
    if (!file->id_) file->id_ = id_of(file->path_);  // another thread was creating it
  }
  registry().mutex.unlock();
}

std::optional<OpenFile::Id> OpenFile::id_of(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return Id{found.st_dev, found.st_ino};
}

OpenFile::OpenFile(std::string path) : path_(std::move(path)) {
  static const int is_registered =
      ::pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
  if (is_registered != 0) throw Error(Code::unavailable, "out of memory");
  identify();
  const std::lock_guard registering(registry().mutex);
  registry().files.push_back(this);
}

OpenFile::~OpenFile() {
  const std::lock_guard registering(registry().mutex);
  std::erase(registry().files, this);
}

void OpenFile::identify() {
  const std::optional<Id> id = id_of(path_);
  if (!id && Error::code_of_system(errno) == Code::unavailable) {
    throw Error::of_system(errno, path_ + " cannot be found");
  }
  const std::lock_guard registering(registry().mutex);
  id_ = id;
  const bool is_inherited = id && std::ranges::any_of(registry().files, [&](const OpenFile* file) {
                              return file->is_inherited_ && file->id_ == id;
                            });
  if (!is_inherited) return;
  throw Error(Code::unusable,
              path_ +
                  " was open when this process was forked, so its locks do not protect it here; " +
                  how_to_fork);
}

bool OpenFile::has_place() const {
  const std::optional<Id> found = id_of(path_);
  if (!found) return errno != ENOENT && errno != ENOTDIR;
  const std::lock_guard reading(registry().mutex);
  return found == id_;
}

void OpenFile::require_place() const {
  if (has_place()) return;
  throw Error(
      Code::unusable,
      "the file of the store was moved, replaced or removed while it was open; put it back, "
      "or end all programs that use the store and restore a backup");
}

// Whether the file with this path and id is one of the database's files.
bool OpenFile::has(const std::string& resolved, const std::optional<Id>& id) const {
  if (id && id == id_) return true;
  return std::ranges::any_of(file_suffixes, [&](const char* suffix) {
    const std::string name = path_ + suffix;
    return name == resolved || (id && id == id_of(name));
  });
}

std::string resolve(const std::string& path) {
  std::error_code failure;
  filesystem::path file = filesystem::absolute(path, failure);
  // std::filesystem::canonical does not follow a link to a missing file.
  for (int links = 0; links < max_links && filesystem::is_symlink(file, failure); ++links) {
    file = file.parent_path() / filesystem::read_symlink(file, failure);
  }
  file = filesystem::weakly_canonical(file, failure);
  return failure ? path : file.string();
}

std::optional<std::string> find_open_file(const std::string& path) {
  const std::string resolved = resolve(path);
  const auto id = OpenFile::id_of(path);
  const std::lock_guard reading(registry().mutex);
  const auto found = std::ranges::find_if(
      registry().files, [&](const OpenFile* file) { return file->has(resolved, id); });
  if (found == registry().files.end()) return std::nullopt;
  return (*found)->path();
}

}  // namespace comptroller::db::sqlite
