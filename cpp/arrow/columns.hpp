// Fields of records as Arrow columns: the type each takes, and values from a record or straight
// from a row of the store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "arrow/builder.hpp"
#include "model/error.hpp"
#include "model/text.hpp"
#include "store/columns.hpp"

namespace comptroller::arrow {

using json::Audience;

template <class T>
Builder make_builder(std::string_view name, Audience audience, bool is_nullable = false);

// A struct of those fields that the audience is shown.
template <Record R>
std::vector<Builder> make_members(Audience audience) {
  std::vector<Builder> members;
  for_each_field<R>([&]<class F>() {
    if (!json::is_shown<typename F::Type>(audience)) return;
    members.push_back(make_builder<typename F::Type>(F::name, audience));
  });
  return members;
}

template <class T>
inline constexpr bool is_timestamp =
    std::derived_from<T, Timestamp> || std::same_as<T, NullableTimestamp>;
template <class T>
inline constexpr bool is_money = requires(const T& value) { scaled(value.text); };

// The column of a field of type T. Elements of lists, keys and values are never null.
template <class T>
Builder make_builder(std::string_view name, Audience audience, bool is_nullable) {
  Column column{.name = std::string(name), .format = "u", .is_nullable = is_nullable};
  const auto shaped = [&](Shape shape, std::string_view format, std::size_t width = 0) {
    column.shape = shape;
    column.format = format;
    column.width = width;
  };
  std::vector<Builder> children;
  if constexpr (is_optional<T>) {
    return make_builder<bare<T>>(name, audience, true);
  } else if constexpr (is_timestamp<T>) {
    shaped(Shape::number, "tsu:UTC", sizeof(std::int64_t));
    column.is_nullable = is_nullable || std::same_as<T, NullableTimestamp>;
  } else if constexpr (is_money<T>) {
    shaped(Shape::number, "d:38,18", sizeof(Int128));
  } else if constexpr (std::same_as<T, bool>) {
    shaped(Shape::boolean, "b");
  } else if constexpr (ClosedSet<T>) {
    shaped(Shape::number, "c", sizeof(std::int8_t));
    column.words = words_of<T>;
  } else if constexpr (std::same_as<T, Metadata>) {
    shaped(Shape::list, "+m");
    std::vector<Builder> pair;
    pair.push_back(make_builder<Label>("key", audience));
    pair.push_back(make_builder<Label>("value", audience));
    children.emplace_back(Column{.name = "entries", .format = "+s", .shape = Shape::record},
                          std::move(pair));
  } else if constexpr (is_array<T>) {
    // Words in a list are plain text.
    using Element = typename T::value_type;
    shaped(Shape::list, "+l");
    children.push_back(
        make_builder<std::conditional_t<ClosedSet<Element>, Word, Element>>("item", audience));
  } else if constexpr (Record<T>) {
    shaped(Shape::record, "+s");
    children = make_members<T>(audience);
  }
  return Builder(std::move(column), std::move(children));
}

void append_metadata(Builder& builder, const Metadata& metadata);

// Appends a member of a record to its column.
template <class T>
void append_value(Builder& builder, const T& value, Audience audience) {
  if constexpr (is_optional<T>) {
    value ? append_value(builder, *value, audience) : builder.append_null();
  } else if constexpr (std::same_as<T, NullableTimestamp>) {
    append_value(builder, value.value, audience);
  } else if constexpr (is_timestamp<T>) {
    builder.append_number(value.microseconds);
  } else if constexpr (is_money<T>) {
    builder.append_number(scaled(value.text));
  } else if constexpr (std::same_as<T, bool>) {
    builder.append_boolean(value);
  } else if constexpr (ClosedSet<T>) {
    builder.append_number(static_cast<std::int8_t>(value));
  } else if constexpr (std::same_as<T, Metadata>) {
    append_metadata(builder, value);
  } else if constexpr (is_array<T>) {
    for (const auto& element : value) {
      if constexpr (ClosedSet<typename T::value_type>) {
        builder.elements().append_text(word(element));
      } else {
        append_value(builder.elements(), element, audience);
      }
    }
    builder.end_list();
  } else if constexpr (Record<T>) {
    std::size_t index = 0;
    for_each_field<T>([&]<class F>() {
      if (!json::is_shown<typename F::Type>(audience)) return;
      append_value(builder.child(index++), value.*F::member, audience);
    });
    builder.end_record();
  } else {
    builder.append_text(value.value);
  }
}

// Appends text of the store. Throws damaged for what is none: readers of Arrow trust it to be.
inline void append_stored_text(Builder& builder, std::string_view text) {
  if (!count_characters(text))
    throw Error::damaged("a text is not UTF-8, or has control characters");
  builder.append_text(text);
}
void append_addresses(Builder& builder, const store::PackedAddresses& packed);
void append_addresses(Builder& builder, const store::JsonText& array);

// Appends a column of a row to that of a field of type T. Texts go straight from the row to the
// column; all else is read as the record's member.
template <class T>
void append_stored(Builder& builder, const db::Value& value, db::Symbols& symbols) {
  if (value.is_null()) return builder.append_null();
  store::visit_column<T>(value, symbols, [&]<class Held>(const Held& held) {
    if constexpr (std::same_as<Held, std::string_view>) {
      append_stored_text(builder, held);
    } else if constexpr (std::same_as<Held, store::Digits>) {
      if (!is_amount(held.text)) throw Error::damaged("an amount is no number");
      builder.append_number(scaled(held.text));
    } else if constexpr (store::Packed<Held>) {
      builder.append_text(held.size(), [&](char* at) { held.write(at); });
    } else if constexpr (std::same_as<T, Addresses>) {
      append_addresses(builder, held);
    } else {
      // What the store keeps as a document belongs to the record and is shown with it.
      append_value(builder, store::AsMember<T>{}(held), Audience::provider);
    }
  });
}

}  // namespace comptroller::arrow
