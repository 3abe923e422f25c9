// Views (model/scalar.hpp) as Arrow columns: the column type of each kind of view, and how a view
// is appended to such a column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "arrow/builder.hpp"
#include "model/error.hpp"
#include "model/text.hpp"
#include "store/columns.hpp"

namespace comptroller::arrow {

template <class V>
struct Kind {};

template <class T>
Builder make_builder(std::string_view name, Audience audience, bool is_nullable = false) {
  return make_column(Kind<View<bare<T>>>{}, std::string(name), is_nullable || is_optional<T>,
                     audience);
}

// A struct of the fields that the audience sees.
template <Record R>
std::vector<Builder> make_members(Audience audience) {
  std::vector<Builder> members;
  for_each_field<R>([&]<class F>() {
    using T = typename F::Type;
    if (is_shown<bare<T>>(audience)) members.push_back(make_builder<T>(F::name, audience));
  });
  return members;
}

// The column of each kind of view. Elements of lists, keys and values are never null.
inline Builder make_column(Kind<std::string_view>, std::string name, bool is_nullable, Audience) {
  return Builder({std::move(name), "u", BufferLayout::text, is_nullable});
}
inline Builder make_column(Kind<Decimal>, std::string name, bool is_nullable, Audience) {
  return Builder({std::move(name), "d:38,18", BufferLayout::number, is_nullable, sizeof(Int128)});
}
inline Builder make_column(Kind<Timestamp>, std::string name, bool is_nullable, Audience) {
  return Builder(
      {std::move(name), "tsu:UTC", BufferLayout::number, is_nullable, sizeof(std::int64_t)});
}
inline Builder make_column(Kind<bool>, std::string name, bool is_nullable, Audience) {
  return Builder({std::move(name), "b", BufferLayout::boolean, is_nullable});
}
template <ClosedSet E>
Builder make_column(Kind<E>, std::string name, bool is_nullable, Audience) {
  return Builder(
      {std::move(name), "c", BufferLayout::number, is_nullable, sizeof(std::int8_t), words_of<E>});
}
template <class V>
Builder make_column(Kind<std::optional<V>>, std::string name, bool, Audience audience) {
  return make_column(Kind<V>{}, std::move(name), true, audience);
}
// Words in a list are plain text.
template <List L>
Builder make_column(Kind<L>, std::string name, bool is_nullable, Audience audience) {
  using Element = View<std::ranges::range_value_t<L>>;
  using Item = std::conditional_t<ClosedSet<Element>, std::string_view, Element>;
  std::vector<Builder> items;
  items.push_back(make_column(Kind<Item>{}, "item", false, audience));
  return Builder({std::move(name), "+l", BufferLayout::list, is_nullable}, std::move(items));
}
template <Pairs P>
Builder make_column(Kind<P>, std::string name, bool is_nullable, Audience audience) {
  std::vector<Builder> pair;
  for (const char* part : {"key", "value"}) {
    pair.push_back(make_column(Kind<std::string_view>{}, part, false, audience));
  }
  std::vector<Builder> entries;
  entries.emplace_back(Column{"entries", "+s", BufferLayout::record}, std::move(pair));
  return Builder({std::move(name), "+m", BufferLayout::list, is_nullable}, std::move(entries));
}
template <Record R>
Builder make_column(Kind<R>, std::string name, bool is_nullable, Audience audience) {
  return Builder({std::move(name), "+s", BufferLayout::record, is_nullable},
                 make_members<R>(audience));
}

// Appends a member of a record or a column of a row.
void append_field(Builder& builder, const auto& field, Audience audience) {
  if (field.is_unset()) return builder.append_null();
  field.visit([&](const auto& view) { append(builder, view, audience); });
}

// Appends a view to a column of its kind. Texts and amounts may be from a damaged store, and
// readers of Arrow rely on them being valid: throws unavailable if they are not.
inline void append(Builder& builder, std::string_view text, Audience) {
  if (!count_characters(text)) {
    throw Error::damaged("a text is not UTF-8, or has control characters");
  }
  builder.append_text(text);
}
void append(Builder& builder, const Packed auto& packed, Audience) {
  builder.append_text(packed.size(), [&](char* at) { packed.write(at); });
}
inline void append(Builder& builder, Decimal number, Audience) {
  if (!is_amount(number.text)) throw Error::damaged("an amount is no number");
  builder.append_number(scaled(number.text));
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
template <class V>
void append(Builder& builder, const std::optional<V>& view, Audience audience) {
  view ? append(builder, *view, audience) : builder.append_null();
}
template <class T>
void append_element(Builder& builder, const T& element, Audience audience) {
  append(builder, Scalar<T>::view(element), audience);
}
template <ClosedSet E>
void append_element(Builder& builder, const E& element, Audience) {
  builder.append_text(word(element));
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
  append(builder, Scalar<T>::view(json::read_stored<T>(document.text)), audience);
}
void append(Builder& builder, const JsonText<Addresses>& addresses, Audience audience);

}  // namespace comptroller::arrow
