// Writes the rows of an Arrow stream as the lines of a load.
#pragma once

#include <string_view>

#include "arrow/text_reader.hpp"

namespace comptroller::arrow {

// Returns a formatter that writes rows as NDJSON records of this kind; unset cells are omitted, and
// a row without a value is a blank line. Arrays and nested records may be JSON text. The value of
// an unknown column is written as 0, whatever its type, so that the load counts the column. Throws
// invalid_request for an unknown kind, for rows that are not a table, and for a column that appears
// more than once.
TextReader::Formatter make_line_formatter(std::string_view kind, const ArrowSchema& schema);

}  // namespace comptroller::arrow
