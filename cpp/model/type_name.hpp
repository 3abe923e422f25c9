// The name of a record or closed set as its definition spells it, without namespace.
#pragma once

#include <string_view>

namespace comptroller {

template <class T>
constexpr std::string_view type_name() {
  // "... [with T = comptroller::Claim; ...]" (gcc), "... [T = comptroller::Claim]" (clang).
  constexpr std::string_view signature = __PRETTY_FUNCTION__;
  constexpr std::size_t begin = signature.find("T = ") + 4;
  constexpr std::size_t end = signature.find_first_of(";]", begin);
  constexpr std::string_view qualified = signature.substr(begin, end - begin);
  return qualified.substr(qualified.rfind(':') + 1);
}

}  // namespace comptroller
