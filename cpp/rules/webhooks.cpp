#include "rules/webhooks.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "model/ascii.hpp"
#include "model/error.hpp"
#include "model/wording.hpp"

namespace comptroller::rules {

namespace {

constexpr std::size_t max_event_types = 100;
constexpr std::string_view statuses = "orchestration.";  // and a status in lower case
struct EventType {
  std::string_view name;
  std::string_view table;
};
constexpr std::array<EventType, 12> event_types{{
    {"identity.control.created", "controls"},
    {"identity.control.deleted", "controls"},
    {"identity.updated", "identities"},
    {"payout_group.created", "payout_groups"},
    {"payout_group.updated", "payout_groups"},
    {"reward_address.created", "reward_addresses"},
    {"reward_address.updated", "reward_addresses"},
    {"claim.created", "claims"},
    {"claim.submitted", "claims"},
    {"claim.confirmed", "claims"},
    {"claim.failed", "claims"},
    {"orchestration.completed", "orchestrations"},
}};

constexpr bool is_letter(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port <= 65535;
}

// The characters that a host may have. A percent sign is none of them.
bool is_host(std::string_view host) {
  const bool is_ipv6 = host.starts_with('[') && host.ends_with(']');
  if (is_ipv6) host = host.substr(1, host.size() - 2);
  return !host.empty() && std::ranges::all_of(host, [&](char character) {
    return is_digit(character) || is_letter(character) || character == '.' ||
           character == (is_ipv6 ? ':' : '-');
  });
}

// Whether a host is a name of two labels or more. A host whose last label begins with a digit can
// be an IPv4 address, also in forms such as 127.1, 0x7f000001 and 2130706433.
bool is_dns_name(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  const std::size_t dot = host.rfind('.');
  return !host.starts_with('[') && dot != std::string_view::npos && dot > 0 &&
         dot + 1 < host.size() && is_letter(host[dot + 1]);
}

std::string pattern_group(std::string_view pattern) {
  return std::string(pattern.substr(0, pattern.size() - 1));  // with its full stop
}

bool matches(std::string_view pattern, std::string_view type) {
  if (pattern == "*") return true;
  if (pattern.ends_with(".*")) return type.starts_with(pattern_group(pattern));
  return pattern == type;
}

bool is_status(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char character) {
    return is_digit(character) || character == '_' || (character >= 'a' && character <= 'z');
  });
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), to_lower);
  return text;
}

}  // namespace

void check_webhook_url(std::string_view url, bool is_of_client) {
  const std::string_view given = url;
  const auto refuse = [&](std::string_view expected) {
    throw Error::invalid("url", refused_text(std::string(expected), given));
  };
  const bool is_https = url.starts_with("https://");
  if (!is_https && (is_of_client || !url.starts_with("http://"))) {
    refuse(is_of_client ? "an https URL" : "an https or http URL");
  }
  const bool is_printable =
      std::ranges::all_of(url, [](char character) { return character > ' ' && character <= '~'; });
  if (!is_printable || url.find_first_of("\\#\"<>^`{|}") != std::string_view::npos) {
    refuse("a URL of printable ASCII without a fragment");
  }
  url.remove_prefix(url.find("://") + 3);
  const std::string_view authority = url.substr(0, url.find_first_of("/?"));
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && !authority.ends_with(']');
  const std::string_view host = has_port ? authority.substr(0, colon) : authority;
  if (!is_host(host) || (has_port && !is_port(authority.substr(colon + 1)))) {
    refuse("a URL with a host, an optional port, and no credentials");
  }
  if (is_of_client && !is_dns_name(host)) {
    refuse("a URL with a DNS name, such as hooks.example.com, and no IP address");
  }
}

void check_event_types(const EventTypes& patterns) {
  if (patterns.size() > max_event_types) {
    throw Error::invalid("event_types", "has " + std::to_string(patterns.size()) +
                                            " types; give at most " +
                                            std::to_string(max_event_types));
  }
  for (const Label& pattern : patterns) {
    if (!tables_of_events({pattern}).empty()) continue;
    std::array<std::string_view, event_types.size()> names;
    std::ranges::transform(event_types, names.begin(), &EventType::name);
    throw Error::invalid("event_types", '"' + shorten(pattern.value) +
                                            "\" is no type of event; one of *, " +
                                            comma_separated(names));
  }
}

std::set<std::string_view> tables_of_events(const EventTypes& patterns) {
  std::set<std::string_view> tables;
  for (const Label& pattern : patterns) {
    const std::string& text = pattern.value;
    for (const EventType& type : event_types) {
      if (matches(text, type.name)) tables.insert(type.table);
    }
    if (text.starts_with(statuses) && is_status(text.substr(statuses.size()))) {
      tables.insert("orchestrations");
    }
  }
  return tables;
}

bool matches_event_type(const EventTypes& patterns, std::string_view type) {
  return std::ranges::any_of(patterns,
                             [&](const Label& pattern) { return matches(pattern.value, type); });
}

std::optional<std::string> event_type(const RecordChange& change) {
  const auto created_or_updated = [&](const std::string& name) {
    return name + (change.is_new ? ".created" : ".updated");
  };
  if (change.table == "identities") return "identity.updated";
  if (change.table == "payout_groups") return created_or_updated("payout_group");
  if (change.table == "reward_addresses") return created_or_updated("reward_address");
  if (change.table == "orchestrations") return std::string(statuses) + lower(change.status);
  if (change.table == "claims") {
    const bool is_created = change.is_new || change.status == "PENDING";
    return "claim." + (is_created ? std::string("created") : lower(change.status));
  }
  if (change.table == "controls" && change.is_new) return "identity.control.created";
  if (change.table == "controls" && change.sets_deletion) return "identity.control.deleted";
  return std::nullopt;
}

}  // namespace comptroller::rules
