#include "vectors.hpp"

#include <stdexcept>

namespace comptroller::rules {

Vectors::Vectors(const std::string& name) {
  const simdjson::dom::array cases =
      parser_.load(TEST_VECTORS "/" + name + ".json").get_array().value();
  for (const simdjson::dom::element element : cases) {
    cases_.emplace_back(element.get_object().value());
  }
  if (cases_.empty()) throw std::runtime_error(name + " holds no case");
}

}  // namespace comptroller::rules
