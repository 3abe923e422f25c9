#include "service/handling.hpp"

namespace comptroller::service {

Error not_found(std::string_view what, std::string_view id) {
  return {Code::not_found, "there is no " + std::string(what) + " " + std::string(id)};
}

void append_next_cursor(std::string& answer, const Context& context, const PageRequest& page,
                        const std::optional<store::Position>& next) {
  answer += ",\"next_page_cursor\":\"";
  if (next) answer += seal_cursor(context.secret, page.list, *next);
  answer += "\"}";
}

}  // namespace comptroller::service
