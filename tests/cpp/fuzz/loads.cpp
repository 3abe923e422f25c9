// Files with any bytes are loaded or refused, and each of their lines is accounted for.
#include <algorithm>
#include <memory>
#include <string>

#include "fuzz/targets.hpp"
#include "json/writer.hpp"
#include "load/documents.hpp"
#include "load/loader.hpp"
#include "load/pieces.hpp"
#include "service/maintenance.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::fuzz {

namespace {

constexpr std::size_t limit = 64;
constexpr int inputs_per_store = 500;
constexpr std::string_view kinds[] = {"identities", "controls", "orchestrations",  "payout-groups",
                                      "claims",     "balances", "reward-addresses"};

// The documents of an input that arrives in pieces.
std::string documents_of(std::string_view text, std::size_t piece, std::size_t window) {
  load::TextInput input(text, piece);
  load::Documents documents(input, {limit, window});
  std::string all;
  std::uint64_t line = 0;
  while (true) {
    const auto some = documents.next();
    if (some.empty()) return all;
    for (const load::Document& each : some) {
      require(each.line >= line, "a line before the one before");
      line = each.line;
      require(each.text.size() <= limit, "a document above the limit");
      all += std::to_string(each.line) + "/" + std::to_string(each.item);
      all.append(each.is_blank ? " blank " : " ").append(each.text);
      if (each.refusal) all += each.refusal->detail();
      all += "\n";
    }
  }
}

// Whether a window of so many bytes shows the format: it has the first line with content, and the
// name that may follow it, and those of the answers in an array follow their brace at once.
bool shows_format(std::string_view text, std::size_t window) {
  constexpr std::string_view longest_name = R"("next_page_cursor")";
  if (text.size() <= window) return true;
  for (std::size_t brace = text.find('{'); brace < text.size(); brace = text.find('{', brace + 1)) {
    const std::size_t name = std::min(text.find_first_not_of(" \t\r\n", brace + 1), text.size());
    if (name - brace + longest_name.size() > window) return false;
  }
  // Where the byte order mark may be, its bytes are no content either.
  const std::size_t begin = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const std::size_t next = text.find_first_not_of(" \t\r\n", text.find('\n', begin));
  return next < window && next + longest_name.size() <= window;
}

}  // namespace

void documents(std::string_view input) {
  const std::string whole = documents_of(input, std::string_view::npos, 4096);
  for (const std::size_t piece : {1U, 7U}) {
    require(documents_of(input, piece, 4096) == whole, "other documents in pieces");
  }
  constexpr std::size_t small = limit + limit / 4;
  if (!shows_format(input, small)) return;
  require(documents_of(input, 3, small) == whole, "other documents in small windows");
}

// The input: the kind, whether to keep going, and the file. It is loaded twice.
void load(std::string_view input) {
  if (input.size() < 2) return;
  struct Store : service::ServiceFixture {};
  static std::unique_ptr<Store> store;
  static int inputs = 0;
  if (!store || ++inputs % inputs_per_store == 0) store = std::make_unique<Store>();
  const auto number = static_cast<unsigned char>(input[0]);
  load::LoadOptions options;
  options.kind = kinds[number % std::size(kinds)];
  options.keep_going = input[1] % 2 == 1;
  input.remove_prefix(2);
  for (const bool is_again : {false, true}) {
    load::TextInput text(input, 1 + number);
    const load::Result result = load::load(store->service, store->provider, text, options);
    require(result.read == result.inserted + result.updated + result.unchanged + result.rejected +
                               result.blank,
            "a line is not accounted for");
    require(result.committed == (options.keep_going || result.rejected == 0),
            "committed, although it has rejected lines");
    require(!is_again || !result.committed || result.inserted == 0,
            "the same file inserts records again");
    for (const load::Rejection& each : result.rejections) {
      require(each.line > 0 && !each.message.empty(), "a rejection without a place");
    }
  }
  require(service::check(store->service, store->provider).starts_with(R"({"ok":true)"),
          "the store is not sound");
}

}  // namespace comptroller::fuzz
