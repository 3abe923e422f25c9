// Reading and writing files by descriptors. Failures are std::system_error.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <string_view>

namespace sqlite_format {

void write_at(int descriptor, std::string_view bytes, std::uint64_t offset);
// Reads all of the bytes.
void read_at(int descriptor, char* out, std::size_t size, std::uint64_t offset);

// A descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace sqlite_format
