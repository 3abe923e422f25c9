#include "load/input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "model/error.hpp"

namespace comptroller::load {

namespace {

[[noreturn]] void throw_unreadable(const std::string& path, int reason) {
  std::string why = path + " cannot be read: " + std::generic_category().message(reason);
  const bool is_fault_of_machine =
      reason == EMFILE || reason == ENFILE || reason == ENOMEM || reason == EIO;
  if (is_fault_of_machine) throw Error(Code::unavailable, std::move(why));
  throw Error::invalid("source", std::move(why));
}

}  // namespace

FileInput::FileInput(std::string path) : path_(std::move(path)) {
  do {
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) throw_unreadable(path_, errno);
  struct stat status{};
  const int failure = ::fstat(descriptor_, &status) != 0 ? errno : 0;
  if (failure != 0 || S_ISDIR(status.st_mode)) {
    ::close(descriptor_);
    throw_unreadable(path_, failure != 0 ? failure : EISDIR);
  }
  if (!S_ISREG(status.st_mode)) return;
  size_ = static_cast<std::uint64_t>(status.st_size);
  begin_ = ::lseek(descriptor_, 0, SEEK_CUR);  // not 0 if /dev/fd shares an open file
}

void FileInput::rewind() {
  if (::lseek(descriptor_, begin_, SEEK_SET) < 0) {
    throw Error::of_system(errno, path_ + " cannot be read again");
  }
}

FileInput::~FileInput() {
  ::close(descriptor_);
}

std::size_t FileInput::read(char* out, std::size_t capacity) {
  ssize_t count = 0;
  do {
    count = ::read(descriptor_, out, capacity);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    throw Error::of_system(errno, path_ + " cannot be read further");
  }
  return static_cast<std::size_t>(count);
}

}  // namespace comptroller::load
