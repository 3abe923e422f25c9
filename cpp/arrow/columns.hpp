// Views (model/scalar.hpp) as Arrow columns: the column type of each kind of view, and how a view
// is appended to such a column.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/builder.hpp"
#include "model/error.hpp"
#include "model/text.hpp"
#include "store/columns.hpp"

namespace comptroller::arrow {

struct ColumnOptions {
  Audience audience;
  Representation representation = Representation::usual;
  bool is_compact() const { return representation == Representation::compact; }
};

template <class V>
Builder make_column(std::string name, bool is_nullable, ColumnOptions options);

template <class T>
Builder make_builder(std::string_view name, ColumnOptions options) {
  if (std::same_as<bare<T>, GroupId> && options.is_compact()) {
    return Builder(
        Column{std::string(name), "w:16", BufferLayout::uuid, is_optional<T>, packed_uuid_length});
  }
  return make_column<View<bare<T>>>(std::string(name), is_optional<T>, options);
}

// Makes a struct of the fields that the audience may see.
template <Record R>
std::vector<Builder> make_members(ColumnOptions options) {
  std::vector<Builder> members;
  for_each_field<R>([&]<class F>() {
    using T = typename F::Type;
    if (is_shown<bare<T>>(options.audience)) members.push_back(make_builder<T>(F::name, options));
  });
  return members;
}

// Makes the column of each kind of view. Elements of lists, and keys and values of maps, are never
// null.
template <class V>
Builder make_column(std::string name, bool is_nullable, ColumnOptions options) {
  const auto column = [&](std::string_view format, BufferLayout layout, std::size_t width = 0) {
    return Column{std::move(name), format, layout, is_nullable, width};
  };
  std::vector<Builder> children;
  if constexpr (std::same_as<V, std::string_view>) {
    return Builder(options.representation == Representation::usual
                       ? column("u", BufferLayout::text)
                       : column("vu", BufferLayout::view));
  } else if constexpr (std::same_as<V, Decimal>) {
    return Builder(column("d:38,18", BufferLayout::number, sizeof(Int128)));
  } else if constexpr (std::same_as<V, Timestamp>) {
    const auto* const format = options.is_compact() ? "tsu:" : "tsu:UTC";
    return Builder(column(format, BufferLayout::number, sizeof(std::int64_t)));
  } else if constexpr (std::same_as<V, bool>) {
    return Builder(column("b", BufferLayout::boolean));
  } else if constexpr (ClosedSet<V>) {
    Column codes = column("c", BufferLayout::number, sizeof(std::int8_t));
    if (!options.is_compact()) codes.dictionary = enum_texts<V>;
    return Builder(std::move(codes));
  } else if constexpr (Pairs<V>) {
    std::vector<Builder> pair;
    pair.push_back(make_column<std::string_view>("key", false, options));
    pair.push_back(make_column<std::string_view>("value", false, options));
    children.emplace_back(Column{"entries", "+s", BufferLayout::record}, std::move(pair));
    return Builder(column("+m", BufferLayout::list), std::move(children));
  } else if constexpr (List<V>) {
    // Elements of lists are plain text, even if they are values of a closed set.
    using Element = View<std::ranges::range_value_t<V>>;
    using Item = std::conditional_t<ClosedSet<Element>, std::string_view, Element>;
    children.push_back(make_column<Item>("item", false, options));
    return Builder(column("+l", BufferLayout::list), std::move(children));
  } else {
    return Builder(column("+s", BufferLayout::record), make_members<V>(options));
  }
}

// Appends a member of a record or a column of a row.
void append_field(Builder& builder, const auto& field, Audience audience) {
  if (field.is_unset()) return builder.append_null();
  field.visit([&](const auto& view) { append(builder, view, audience); });
}

// Returns a text, which may come from a damaged store; throws unusable if it is invalid.
inline std::string_view checked(std::string_view text) {
  if (count_characters(text)) return text;
  throw Error::damaged("a text is not UTF-8, or has control characters");
}

// Appends a view to a column of its kind. Readers of Arrow require valid texts and amounts, so this
// throws unusable for invalid values of a damaged store.
inline void append(Builder& builder, std::string_view text, Audience) {
  builder.append_text(checked(text));
}
void append(Builder& builder, const Packed auto& packed, Audience) {
  builder.append_text(packed.size(), [&](char* at) { packed.write(at); });
}
inline void append(Builder& builder, Decimal number, Audience) {
  const std::optional<Int128> value = read_amount(number.text);
  if (!value) throw Error::damaged("an amount is not a number");
  builder.append_number(*value);
}
inline void append(Builder& builder, Timestamp time, Audience) {
  builder.append_number(time.microseconds);
}
void append(Builder& builder, std::same_as<bool> auto flag, Audience) {
  builder.append_boolean(flag);
}
void append(Builder& builder, ClosedSet auto value, Audience) {
  builder.append_number(static_cast<std::int8_t>(value));
}
template <class T>
void append_element(Builder& builder, const T& element, Audience audience) {
  append(builder, view_of(element), audience);
}
// Texts in lists are addresses, which recur in the claims of a payout group.
inline void append_recurring(Builder& builder, std::string_view text) {
  builder.append_recurring_text(text, text.size(),
                                [&](char* at) { checked(text).copy(at, text.size()); });
}
inline void append_element(Builder& builder, const Label& address, Audience) {
  append_recurring(builder, address.value);
}
inline void append_element(Builder& builder, const PackedHexadecimal& address, Audience) {
  builder.append_recurring_text(address.bytes, address.size(),
                                [&](char* at) { address.write(at); });
}
template <ClosedSet E>
void append_element(Builder& builder, const E& element, Audience) {
  builder.append_text(enum_text(element));
}
void append(Builder& builder, const List auto& values, Audience audience) {
  for (const auto& value : values) append_element(builder.elements(), value, audience);
  builder.end_list();
}
void append(Builder& builder, const Pairs auto& pairs, Audience audience) {
  Builder& entries = builder.elements();
  for (const auto& [key, value] : pairs) {
    append(entries.child(0), std::string_view(key), audience);
    append(entries.child(1), std::string_view(value), audience);
    entries.end_record();
  }
  builder.end_list();
}
template <Record R>
void append(Builder& builder, const R& record, Audience audience) {
  std::size_t index = 0;
  for_each_indexed_field<R>([&]<class F, std::size_t I>() {
    if (!is_shown<bare<typename F::Type>>(audience)) return;
    append_field(builder.child(index++), RecordFields<R>{record}.template field<F, I>(), audience);
  });
  builder.end_record();
}
template <class T>
void append(Builder& builder, const JsonText<T>& document, Audience audience) {
  append(builder, view_of(json::read_stored<T>(document.text)), audience);
}
// A compact JSON array of strings without escapes is split in place, because no string contains a
// quote.
inline void append(Builder& builder, const JsonText<Addresses>& addresses, Audience audience) {
  constexpr std::string_view between = "\",\"";
  std::string_view rest = addresses.text;
  const bool is_plain = rest.size() >= std::string_view(R"([""])").size() &&
                        rest.starts_with("[\"") && rest.ends_with("\"]") &&
                        rest.find('\\') == std::string_view::npos;
  if (!is_plain) return append(builder, json::read_stored<Addresses>(rest), audience);
  rest = rest.substr(2, rest.size() - 4);
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = rest.find(between);
    append_recurring(builder.elements(), rest.substr(0, end));
    if (end != std::string_view::npos) rest.remove_prefix(end + between.size());
  }
  builder.end_list();
}

}  // namespace comptroller::arrow
