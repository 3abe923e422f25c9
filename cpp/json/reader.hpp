// Reads records from JSON text. The whole document is validated: RFC 8259, UTF-8, escapes that are
// Unicode scalar values, nesting of at most 32, at most 1 MiB, one object, no duplicate member at
// any depth.
//
// Errors: content_too_large, malformed_json (not JSON), invalid_request (JSON, but not the expected
// record; names the path of every invalid member).
#pragma once

#include <algorithm>
#include <bitset>
#include <string>
#include <utility>
#include <vector>

#include "json/document.hpp"
#include "model/error.hpp"
#include "model/metadata.hpp"
#include "model/scalar.hpp"
#include "model/wording.hpp"

namespace comptroller::json {

// Reads the members of a document into records and collects the invalid members.
class RecordReader {
 public:
  // The path of each invalid member begins with `prefix`.
  RecordReader(const Parser& parser, std::vector<FieldError>& refused, const ReadOptions& options,
               std::string prefix)
      : parser_(parser), refused_(refused), options_(options), prefix_(std::move(prefix)) {}

  template <Record R>
  void read(const simdjson::dom::object& object, R& record) {
    std::bitset<field_count<R>> seen;
    std::bitset<field_count<R>> unset;
    std::vector<std::string_view> unknown;
    std::size_t expected = 0;  // members are usually in the order of the table
    for (const auto& [key, value] : object) {
      const std::size_t position = find<R>(key, expected);
      if (position == field_count<R> || (is_given(key) && !options_.may_repeat)) {
        read_unknown<R>(key, value);
        unknown.push_back(key);
        continue;
      }
      if (seen[position]) {
        refuse(key, "appears more than once");
        continue;
      }
      seen.set(position);
      expected = position + 1;
      if (options_.is_load && value.is_null()) {
        unset.set(position);
      } else {
        read_at(position, value, record);
      }
    }
    refuse_repeated(unknown);
    fill_defaults(seen & ~unset, record);
  }

 private:
  template <Record R>
  static std::size_t find(std::string_view key, std::size_t expected) {
    constexpr auto& names = field_names<R>;
    for (std::size_t tried = 0; tried < names.size(); ++tried) {
      const std::size_t position = (expected + tried) % names.size();
      if (names[position] == key) return position;
    }
    return names.size();
  }

  bool is_given(std::string_view key) const {
    return path_.empty() &&
           std::ranges::find(options_.given_fields, key) != options_.given_fields.end();
  }

  template <Record R>
  void read_unknown(std::string_view key, const simdjson::dom::element& value) {
    if (options_.unknown == nullptr) {
      if (refused_.size() >= max_refused) return;
      std::vector<std::string_view> known;
      for (const std::string_view name : field_names<R>) {
        if (!is_given(name)) known.push_back(name);
      }
      refuse(key, unknown_name_message(key, known));
      return;
    }
    refuse_duplicates(value);
    count_unknown(*options_.unknown, path_ + shorten(key), 1);
  }

  // Rejects unknown members that appear more than once; known duplicates are found by their
  // position.
  void refuse_repeated(std::vector<std::string_view>& unknown) {
    if (options_.unknown == nullptr) return;
    std::ranges::sort(unknown);
    const auto repeated = std::ranges::adjacent_find(unknown);
    if (repeated != unknown.end()) refuse(*repeated, "appears more than once");
  }

  template <Record R>
  void read_at(std::size_t position, const simdjson::dom::element& value, R& record) {
    for_each_indexed_field<R>([&]<class F, std::size_t I>() {
      if (I != position) return;
      using T = typename F::Type;
      if constexpr (is_derived<bare<T>>) {
        refuse_duplicates(value);
      } else if constexpr (is_optional<T>) {
        if (shows_null<F> && value.is_null()) return;
        auto& member = record.*F::member;
        read_value(F::name, value, member ? *member : member.emplace());
      } else {
        read_value(F::name, value, record.*F::member);
      }
    });
  }

  template <Parsed T>
  void read_value(std::string_view name, const simdjson::dom::element& value, T& into) {
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) {
      if (is_amount<T> && options_.is_load && value.is_number()) {
        return read_number(name, parser_.text_of(value), into);
      }
      refuse(name, "must be a string" + not_number(value) + ": " + FieldType<T>::expectation());
    } else if (!assign(text, into)) {
      refuse(name, refused_text(FieldType<T>::expectation(), text));
    }
  }

  // Sets a value; returns false if the text is invalid.
  template <Parsed T>
  bool assign(std::string_view text, T& into) const {
    if constexpr (Assigned<T>) {
      return into.assign(text);
    } else {
      auto parsed = parse<T>(text);
      if (!parsed) return false;
      into = *std::move(parsed);
      return true;
    }
  }

  template <Parsed T>
  std::optional<T> parse(std::string_view text) const {
    if constexpr (std::derived_from<T, Timestamp>) {
      if (options_.is_load) {
        const std::optional<Timestamp> time = Timestamp::parse_loaded(text);
        return time ? std::optional(T{*time}) : std::nullopt;
      }
    }
    return FieldType<T>::parse(text);
  }

  // Reads an amount that is a number, not a string.
  template <Parsed T>
  void read_number(std::string_view name, const std::string& number, T& into) {
    const std::optional<std::string> exact = exact_number(number);
    if (!exact) {
      refuse(name, shorten(number) + " may be a rounded float, which is not exact; give a string");
    } else if (!assign(*exact, into)) {
      refuse(name, refused_text(FieldType<T>::expectation(), number));
    }
  }

  void read_value(std::string_view name, const simdjson::dom::element& value, bool& into) {
    if (value.get_bool().get(into) != simdjson::SUCCESS) refuse(name, "must be true or false");
  }

  template <class T>
  void read_value(std::string_view name, const simdjson::dom::element& value,
                  std::vector<T>& into) {
    simdjson::dom::array array;
    if (value.get_array().get(array) != simdjson::SUCCESS) {
      refuse(name, "must be an array");
      return;
    }
    into.resize(array.size());
    std::size_t position = 0;
    for (const simdjson::dom::element element : array) read_value(name, element, into[position++]);
  }

  void read_value(std::string_view name, const simdjson::dom::element& value, Metadata& into) {
    simdjson::dom::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) {
      refuse(name, "must be an object of strings");
      return;
    }
    into.pairs.clear();
    for (const auto& [key, element] : object) {
      if (options_.is_load && element.is_null()) continue;
      std::string_view text;
      if (element.get_string().get(text) != simdjson::SUCCESS) {
        refuse(std::string(name) + "." + std::string(key),
               "must be a string" + not_number(element));
        return;
      }
      into.pairs.emplace_back(key, text);
    }
    if (const auto why = refusal(into)) refuse(name, *why);
  }

  template <Record R>
  void read_value(std::string_view name, const simdjson::dom::element& value, R& into) {
    simdjson::dom::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) {
      refuse(name, "must be an object");
      return;
    }
    const std::size_t length = path_.size();
    path_.append(name).append(".");
    read(object, into);
    path_.resize(length);
  }

  // Sets default values of omitted members, and unsets those of a line; rejects the record if an
  // omitted member is required.
  template <Record R>
  void fill_defaults(const std::bitset<field_count<R>>& seen, R& record) {
    for_each_indexed_field<R>([&]<class F, std::size_t I>() {
      using T = typename F::Type;
      if (seen[I]) return;
      if constexpr (requires { T::default_of(record); }) {
        record.*F::member = T::default_of(record);
        return;
      }
      if (options_.is_load) record.*F::member = {};
      if constexpr (is_required<T> && !is_completed_by_load<T>) {
        if (!is_given(F::name)) refuse(F::name, "is required");
      }
    });
  }

  // Returns ", not 1.5" for a number.
  std::string not_number(const simdjson::dom::element& value) const {
    return value.is_number() ? ", not " + shorten(parser_.text_of(value)) : "";
  }

  void refuse(std::string_view name, std::string message) {
    if (refused_.size() >= max_refused) return;
    refused_.push_back({prefix_ + path_ + std::string(name), std::move(message)});
  }

  static constexpr std::size_t max_refused = 1000;  // more than are reported

  const Parser& parser_;
  std::vector<FieldError>& refused_;
  const ReadOptions& options_;
  std::string prefix_;
  std::string path_;
};

// Reads one document after another. For one thread at a time.
class Reader {
 public:
  // Sets the members of `record` that the document has, and throws if a required member is missing.
  // A line to load sets all members; `record` may be that of an earlier line, whose memory is used
  // again.
  template <Record R>
  void read(std::string_view document, R& record, const ReadOptions& options = {}) {
    simdjson::dom::object object = parser_.parse(document, options.is_padded);
    simdjson::dom::object inner;
    std::string prefix;
    if (!options.envelope.empty() && object.size() == 1 &&
        object.at_key(options.envelope).get_object().get(inner) == simdjson::SUCCESS) {
      object = inner;
      prefix = std::string(options.envelope) + ".";
    }
    if (options.is_load && has_number_as_amount<R>(object)) {
      object = parser_.parse_keeping_numbers(document);
    }
    std::vector<FieldError> refused;
    RecordReader(parser_, refused, options, std::move(prefix)).read(object, record);
    if (!refused.empty()) throw Error::fields(std::move(refused));
  }

 private:
  // No nested record has amounts.
  template <Record R>
  static bool has_number_as_amount(const simdjson::dom::object& object) {
    bool found = false;
    for_each_field<R>([&]<class F>() {
      if constexpr (is_amount<bare<typename F::Type>>) {
        simdjson::dom::element value;
        found |= object.at_key(F::name).get(value) == simdjson::SUCCESS && value.is_number();
      }
    });
    return found;
  }

  Parser parser_;
};

}  // namespace comptroller::json
