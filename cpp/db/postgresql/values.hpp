// The values of parameters and columns in PostgreSQL's binary format.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "db/query.hpp"

namespace comptroller::db::postgresql {

// Types by their number in pg_type, which never changes.
inline constexpr unsigned boolean_type = 16;
inline constexpr unsigned bytes_type = 17;
inline constexpr unsigned name_type = 19;
inline constexpr unsigned int8_type = 20;
inline constexpr unsigned int2_type = 21;
inline constexpr unsigned int4_type = 23;
inline constexpr unsigned text_type = 25;
inline constexpr unsigned unknown_type = 705;
inline constexpr unsigned varchar_type = 1043;
// Arrays of these.
inline constexpr unsigned bytes_array_type = 1001;
inline constexpr unsigned int4_array_type = 1007;
inline constexpr unsigned text_array_type = 1009;
inline constexpr unsigned int8_array_type = 1016;

// The first byte of a bytea says whether the rest is a blob or a text, because a column of ids,
// hashes or addresses has both. This file adds it and takes it off.
inline constexpr char blob_mark = 0;
inline constexpr char text_mark = 1;

// Appends a value, which is not NULL, of a type. A number beyond the type becomes the nearest one,
// which no row has, because the store compares with numbers that no row has.
void encode(const Value& value, unsigned type, std::string& out);

// Appends an array of values, of which none is NULL.
void encode_array(std::span<const Value> values, unsigned type, std::string& out);
inline constexpr std::size_t length_size = 4;
inline constexpr std::size_t size_of_int2 = 2;
// Appends the length of a value and the value, as arrays and COPY have it; of NULL, the length -1.
void encode_with_length(const Value& value, unsigned type, std::string& out);
void append_int2(std::int64_t number, std::string& out);
void append_int4(std::int64_t number, std::string& out);
void append_int8(std::int64_t number, std::string& out);

// Returns the value of a column, which is not NULL; throws unusable for a damaged one.
Value decode(std::string_view bytes, unsigned type);

}  // namespace comptroller::db::postgresql
