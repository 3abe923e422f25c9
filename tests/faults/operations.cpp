#include "operations.hpp"

#include <cstdlib>
#include <filesystem>
#include <future>
#include <utility>

#include "arrow/consumer.hpp"
#include "arrow/memory.hpp"
#include "export/exporter.hpp"
#include "files/secret_key.hpp"
#include "json/writer.hpp"
#include "service/maintenance.hpp"
#include "service/scans.hpp"
#include "store/jurisdiction_changes.hpp"

namespace comptroller::faults {

namespace {

constexpr std::uint64_t loaded_claims = 300;
constexpr std::size_t wide_line = 3'600;        // 300 of them are more than 1 MiB
constexpr std::size_t very_wide_line = 30'000;  // 300 of them are more than 8 MiB
const std::string first_group = service::ServiceFixture::generated_id(1);

void open(Subject& subject) {
  subject.open();
}

// Opens a store and writes, so that later operations also read its log.
void open_and_write(Subject& subject) {
  subject.open();
  subject.store().put_identity("in-log", "acme");
  Lines lines(sample_lines("balances", 20));
  subject.load("balances", lines);
}

// Opens a store that never reads or fills tables by their pages.
void open_only_sql(Subject& subject) {
  ::setenv("COMPTROLLER_ONLY_SQL", "1", 1);  // NOLINT(concurrency-mt-unsafe): one thread runs
  subject.open();
  ::unsetenv("COMPTROLLER_ONLY_SQL");  // NOLINT(concurrency-mt-unsafe)
}

std::string open_store(Subject& subject) {
  subject.open();
  return "";
}

std::string create_control(Subject& subject, const std::optional<std::string>& key = std::nullopt) {
  return subject.store()
      .answer(subject.store().acme, "controls.create", {},
              R"({"identity_id":"known","type":"SELL_ONLY","reason_code":"TEST"})", key)
      .body;
}

std::string replay(Subject& subject) {
  const service::Answer answer =
      subject.store().answer(subject.store().acme, "controls.create", {}, dormant_control, "key");
  return answer.body + (answer.is_replay ? " again" : "");
}

std::string put_identity_later(Subject& subject) {
  std::promise<void> done;
  subject.service().database()->write_later(
      [](db::Connection& connection) {
        connection.run("INSERT INTO symbols (text) VALUES (?)", db::Value::of("later"));
      },
      [&](const std::exception_ptr& failure) {
        failure ? done.set_exception(failure) : done.set_value();
      });
  done.get_future().get();
  return "";
}

// A stream of bytes that cannot be read again.
class Stream : public Lines {
 public:
  using Lines::Lines;
  std::optional<std::uint64_t> size() const override { return std::nullopt; }
};

template <class Input = Lines>
std::string load_claims(Subject& subject, std::size_t width) {
  Input lines(sample_lines("claims", loaded_claims, width));
  return json::to_text(subject.load("claims", lines));
}

std::string load_in_parts(Subject& subject) {
  Lines lines(sample_lines("claims", loaded_claims));
  load::LoadOptions options;
  options.keep_going = true;
  options.account = [&](const std::string& result) {
    subject.acknowledged.claims = std::stoull(service::Json(result).at("/inserted"));
  };
  return json::to_text(subject.load("claims", lines, options));
}

// Another write comes between the copy of the store and the load's own write.
std::string load_beside_a_write(Subject& subject) {
  std::exception_ptr failure;
  Lines lines(sample_lines("claims", loaded_claims, wide_line), [&] {
    try {
      subject.store().put_identity("beside", "acme");
      subject.acknowledged.identities = 1;
    } catch (...) {
      failure = std::current_exception();
    }
  });
  const load::Result result = subject.load("claims", lines);
  subject.acknowledged.claims = result.inserted;
  if (failure) std::rethrow_exception(failure);
  return json::to_text(result);
}

std::string export_claims(Subject& subject) {
  const exporting::ExportOptions options{"claims", subject.file("claims.ndjson"), "ndjson", [] {}};
  auto exported = exporting::export_rows(subject.service(), subject.provider(), options, {});
  return std::move(exported.head->root);  // a copy would allocate after the export
}

// Makes a file that only its owner may read, which the export replaces.
void prepare_export(Subject& subject) {
  open_and_write(subject);
  const std::string path = subject.file("claims.ndjson");
  db::write_file(path, "earlier");
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
}

// Returns what a function of a stream provides; throws the failure of the stream.
template <class Raw>
arrow::Owned<Raw> take(ArrowArrayStream& stream, int (*get)(ArrowArrayStream*, Raw*)) {
  Raw raw{};
  if (const int failure = get(&stream, &raw); failure != 0) {
    const char* const message = stream.get_last_error(&stream);
    throw Error::of_system(failure, message == nullptr ? "" : message);
  }
  return arrow::Owned<Raw>(raw);
}

std::string stream_claims(Subject& subject) {
  service::Service& service = subject.service();
  const service::Scan scan =
      service::scan(service, subject.provider(), "claims", {}, service::Purpose::analysis);
  // The service owns the database.
  const std::shared_ptr<db::Database> database(std::shared_ptr<void>(), service.database().get());
  const arrow::Table table =
      arrow::make_table("claims", std::nullopt, scan.audience, {database, scan.listing, [] {}});
  ArrowArrayStream raw{};
  table.open(&raw);
  arrow::Owned<ArrowArrayStream> stream(raw);
  auto schema = take(*stream.get(), raw.get_schema);
  std::string rows;
  while (true) {
    auto array = take(*stream.get(), raw.get_next);
    if (array.get() == nullptr) return rows;
    for (std::int64_t row = 0; row < array.get()->length; ++row) {
      rows += arrow::show(*schema.get(), *array.get(), row);
    }
  }
}

std::string back_up(Subject& subject) {
  return service::backup(subject.service(), subject.provider(), subject.file("backup.db")).root;
}

std::string make_key(Subject& subject) {
  files::read_secret_key(subject.path() + ".webhook-key", subject.path());
  return "";
}

std::string move_group(Subject& subject) {
  return subject.store()
      .answer(subject.store().acme, "payout_groups.update", {{"id", first_group}},
              R"({"jurisdiction":"FR"})")
      .body;
}

void finish_moves(Subject& subject) {
  for (bool is_more = true; is_more;) {
    subject.service().database()->write([&](db::Connection& connection) {
      is_more = store::continue_jurisdiction_changes(connection);
    });
  }
}

std::string verify_journal(Subject& subject) {
  return service::verify_journal(subject.service(), subject.provider(), std::nullopt);
}

// Returns an operation that makes one call.
std::function<std::string(Subject&)> call(const std::string& operation,
                                          const service::Parameters& parameters = {},
                                          const std::string& body = "") {
  return [=](Subject& subject) {
    return subject.store().answer(subject.provider(), operation, parameters, body).body;
  };
}

// Returns the changes without the cursor of their end, which differs in each answer.
std::string list_changes(Subject& subject) {
  std::string answer = call("changes.list")(subject);
  answer.resize(answer.rfind(R"("next_cursor":)"));
  return answer;
}

}  // namespace

const std::vector<Operation>& operations() {
  const auto closed = [](Subject&) {};
  static const std::vector<Operation> all{
      {"create a control", &small_store, [](Subject& subject) { return create_control(subject); }},
      {"put an identity", &small_store,
       call("identities.put", {}, R"({"id":"new","customer_id":"acme","metadata":{"a":"b"}})")},
      {"delete a control", &small_store, call("controls.delete", {{"id", first_group}})},
      {"create with a key", &small_store,
       [](Subject& subject) { return create_control(subject, "new key"); }},
      {"replay a key", &small_store, &replay},
      {"write later", &small_store, &put_identity_later},
      {"write and checkpoint", &store_with_large_log,
       [](Subject& subject) { return create_control(subject); }},
      {"close", &small_store,
       [](Subject& subject) {
         subject.close();
         return std::string();
       },
       &open_and_write},
      {"create a store", nullptr, &open_store, closed},
      {"open", &small_store, &open_store, closed},
      {"open after a kill", &store_with_large_log, &open_store, closed},
      {"migrate", &store_of_first_version, &open_store, closed},
      {"load with a private copy", &store_without_claims,
       [](Subject& subject) { return load_claims(subject, wide_line); }},
      {.name = "load beside a write",
       .original = &store_without_claims,
       .run = &load_beside_a_write,
       .is_in_parts = true},
      {"load with statements", &store_without_claims,
       [](Subject& subject) { return load_claims(subject, 0); }, &open_only_sql},
      {.name = "load in parts",
       .original = &store_without_claims,
       .run = &load_in_parts,
       .is_in_parts = true},
      {.name = "load a large stream",
       .original = &store_without_claims,
       .run = [](Subject& subject) { return load_claims<Stream>(subject, very_wide_line); },
       .is_long = true},
      {"move a group", &store_with_large_group, &move_group, &open, &finish_moves},
      {"list", &small_store, call("claims.list", {{"limit", "50"}}), &open_and_write},
      {"list with statements", &small_store, call("claims.list", {{"limit", "50"}}),
       &open_only_sql},
      {"list changes", &small_store, &list_changes, &open_and_write},
      {"stream", &small_store, &stream_claims, &open_and_write},
      {"export", &small_store, &export_claims, &prepare_export},
      {"export to a new file", &small_store, &export_claims, &open_and_write},
      {"back up", &small_store, &back_up, &open_and_write},
      {"make a key", &small_store, &make_key},
      {"check", &small_store,
       [](Subject& subject) { return service::check(subject.service(), subject.provider()); },
       &open_and_write},
      {"verify the journal", &small_store, &verify_journal, &open_and_write},
  };
  return all;
}

}  // namespace comptroller::faults
