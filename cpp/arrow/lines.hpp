// The rows of an Arrow stream as the lines of a load.
#pragma once

#include <string_view>

#include "arrow/text_reader.hpp"

namespace comptroller::arrow {

// Makes NDJSON of rows of records of this kind; unset cells are left out. A column that such a line
// does not know has 0 for each value, whatever its type, so that the load counts it. Throws
// invalid_request for an unknown kind, for rows that are not a table, and for a column that appears
// more than once.
TextReader::Formatter make_line_formatter(std::string_view kind, const ArrowSchema& schema);

}  // namespace comptroller::arrow
