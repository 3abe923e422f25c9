#include "store/journal_begin.hpp"

#include "store/changes.hpp"
#include "store/columns.hpp"
#include "store/tables.hpp"

namespace comptroller::store {

void begin_journal(db::Connection& connection, Timestamp now) {
  if (journal_size(connection) > 0) return;
  JournalHead head;
  Changes changes(connection, {now, "comptroller", "journal.begin"}, head);
  changes.begin_batch();
  std::string content;
  for_each_table([&]<class R>() {
    if (changes.last_key(R::table) == 0) return;
    db::Query rows = connection.query("SELECT " + select_list<R>() + " FROM " +
                                      std::string(R::table) + " ORDER BY key");
    while (rows.step()) {
      content.clear();
      json::append_canonical<R>(content, Row{rows, connection.symbols()});
      changes.found(R::table, content);
    }
  });
  changes.finish_batch({});
}

}  // namespace comptroller::store
