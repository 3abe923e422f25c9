#include "bindings/store.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "arrow/stream.hpp"
#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/interruptible.hpp"
#include "bindings/python_input.hpp"
#include "db/postgresql/database.hpp"
#include "db/postgresql/libpq.hpp"
#include "db/postgresql/typed_select.hpp"
#include "db/sqlite/database.hpp"
#include "db/sqlite/open_file.hpp"
#include "export/exporter.hpp"
#include "files/secret_key.hpp"
#include "files/whole_file.hpp"
#include "load/loader.hpp"
#include "load/tally.hpp"
#include "model/error.hpp"
#include "service/authorisation.hpp"
#include "service/journal.hpp"
#include "service/maintenance.hpp"
#include "service/operations.hpp"
#include "service/record_tables.hpp"
#include "service/scans.hpp"
#include "service/service.hpp"
#include "service/shared_documents.hpp"

namespace py = pybind11;

namespace comptroller::bindings {

namespace {

using service::Service;

// Runs Python's signal handlers, which may raise.
void handle_signals() {
  if (service::BackgroundWork::is_this_thread() || !may_handle_signals) return;
  const GilHeld held;
  if (in_python([] { return PyErr_CheckSignals(); }) != 0) throw py::error_already_set();
}

// Closes the file without holding the GIL, because closing may wait for a lock whose holder waits
// for the GIL. A forked child does nothing: the file's locks and the service's threads belong to
// the process that opened it.
void delete_service(Service* service) {
  if (!service->is_forked()) {
    std::optional<GilReleased> released;
    if (holds_gil()) released.emplace();
    delete service;
  }
  --core_users;
}

// Opens a database by the form of its address.
std::unique_ptr<db::Database> open_database(const std::string& address, bool read_only,
                                            const std::optional<std::string>& libpq) {
  if (db::postgresql::is_address(address)) {
    if (libpq) db::postgresql::offer_libpq(*libpq);
    return db::postgresql::open(address, {read_only, &handle_signals});
  }
  return db::sqlite::open(address, {.read_only = read_only,
                                    .is_temporary = address == ":memory:",
                                    .check_interrupt = &handle_signals});
}

// Returns the function that returns the key from which the secrets of the store's webhooks follow;
// none if the store has no place for it.
std::function<std::optional<std::string>(bool)> webhook_key_of(
    const std::string& path, const std::optional<std::string>& secrets_base) {
  if (path == ":memory:") {
    return [key = files::make_secret_key()](bool) { return key; };
  }
  const auto of_file = [](const std::string& base, const std::string& owner) {
    return [file = base + ".webhook-key", owner](bool may_be_made) {
      return may_be_made ? files::read_secret_key(file, owner) : files::find_secret_key(file);
    };
  };
  if (!db::postgresql::is_address(path)) {
    const std::string store = std::filesystem::weakly_canonical(path).string();
    return of_file(store, store);  // links to a store have the same key
  }
  if (!secrets_base) return {};
  return of_file(*secrets_base, std::filesystem::path(*secrets_base).parent_path().string());
}

}  // namespace

std::vector<service::Parameter> to_parameters(const Parameters& pairs) {
  std::vector<service::Parameter> parameters;
  parameters.reserve(pairs.size());
  for (const auto& [name, value] : pairs) parameters.push_back({name, value});
  return parameters;
}

Store::Store(const std::string& path, bool read_only, const py::object& progress,
             const std::optional<std::string>& libpq,
             const std::optional<std::string>& secrets_base) {
  store::RecordProgress observer;
  if (!progress.is_none()) {
    observer = [&](std::uint64_t records) {
      const GilHeld held;
      call_python(progress, records);
    };
  }
  const InterruptibleCall interruptible;
  auto database = open_database(path, read_only, libpq);
  service::Environment environment = service::environment_of(*database);
  environment.webhook_key = webhook_key_of(path, secrets_base);
  auto opened = std::make_unique<Service>(std::move(database), std::move(environment), observer);
  ++core_users;  // before delete_service may run
  service_ = {opened.release(), &delete_service};
}

Store::~Store() {
  const GilReleased released;
  close();
}

std::shared_ptr<Service> Store::service() const {
  const std::lock_guard guard(mutex_);
  if (!service_) throw Error(Code::closed, "the service is closed");
  service_->check_usable();
  return service_;
}

void Store::close() {
  std::shared_ptr<Service> closing;
  {
    const std::lock_guard guard(mutex_);
    closing.swap(service_);
  }
  if (closing && !closing->is_forked()) closing->close();
}

namespace {

// Other threads run while a large text is copied.
py::bytes to_bytes(const std::string& text) {
  constexpr std::size_t large = std::size_t{256} << 10U;
  if (text.size() < large) return {text};
  PyObject* const bytes = in_python(
      [&] { return PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(text.size())); });
  if (bytes == nullptr) throw py::error_already_set();
  {
    const GilReleased released;
    text.copy(PyBytes_AS_STRING(bytes), text.size());
  }
  return py::reinterpret_steal<py::bytes>(bytes);
}

py::tuple to_tuple(const service::Answer& answer) {
  return py::make_tuple(to_bytes(answer.body), answer.is_replay);
}

// Returns a function of the module that runs a call; `run` is given the service and the call.
auto calling(auto run) {
  return [run](const Store& store, const Principal& principal, const std::string& operation,
               const Parameters& parameters, const std::optional<py::bytes>& body,
               std::optional<std::string> idempotency_key, std::optional<std::string> request_id) {
    const std::shared_ptr<Service> service = store.service();
    const service::Call call{&service::require_operation(operation), to_parameters(parameters),
                             body ? std::string(*body) : std::string(), std::move(idempotency_key),
                             std::move(request_id)};
    return run(*service, principal, call);
  };
}

py::tuple call(Service& service, const Principal& principal, const service::Call& call) {
  return to_tuple(interruptibly([&] { return service.call(principal, call); }));
}

// None if the call is not short.
py::object call_if_short(Service& service, const Principal& principal, const service::Call& call) {
  const auto answer = interruptibly([&] { return service.call_if_short(principal, call); });
  return answer ? py::object(to_tuple(*answer)) : py::none();
}

// Opens the empty store of a copy. That in a file is a temporary one beside it.
std::unique_ptr<db::Database> open_destination(const std::string& destination,
                                               const std::optional<std::string>& libpq) {
  if (db::postgresql::is_address(destination)) return open_database(destination, false, libpq);
  const files::WholeFile refused_if_exists(destination, files::WholeFile::Existing::refuse);
  const std::string folder = std::filesystem::absolute(destination).parent_path().string();
  return db::sqlite::open(
      "", {.is_temporary = true, .temporary_folder = folder, .check_interrupt = &handle_signals});
}

// Copies the store; returns the numbers of records by kind, and the head of the journal.
py::tuple copy_to(const Store& store, const Principal& principal, const std::string& destination,
                  const std::optional<std::string>& libpq, const py::object& progress) {
  store::CopyProgress observer;
  if (!progress.is_none()) {
    observer = [&](std::uint64_t rows) {
      const GilHeld held;
      call_python(progress, rows);
    };
  }
  const service::Copied copied = interruptibly([&] {
    const auto target = open_destination(destination, libpq);
    service::Copied made = service::copy(*store.service(), principal, *target, observer);
    if (!db::postgresql::is_address(destination)) target->backup(destination, {});
    return made;
  });
  std::map<std::string, std::int64_t> rows;
  for (const auto& [table, count] : copied.rows) rows.emplace(table, count);
  return py::make_tuple(rows, copied.journal.size, copied.journal.root);
}

// A head of the journal as a tuple, or None.
py::object to_python(const std::optional<service::JournalHead>& head) {
  if (!head) return py::none();
  return py::make_tuple(head->size, head->root);
}

// Loads a file. `account` is LoadOptions::account.
void load(const Store& store, const Principal& principal, const std::string& kind,
          const py::object& source, bool are_rows, bool only_lines,
          std::optional<std::string> input_name, const py::object& input_sha256,
          std::optional<std::string> mapping, std::optional<std::string> customer_id,
          bool keep_going, bool dry_run, std::optional<std::uint64_t> total_bytes,
          const py::object& progress, const py::object& account, const py::object& rejected) {
  std::unique_ptr<load::Input> input;
  if (py::isinstance<py::str>(source)) {
    auto file = std::make_unique<load::FileInput>(source.cast<std::string>());
    if (!total_bytes) total_bytes = file->size();
    input = std::move(file);
  } else {
    input = std::make_unique<PythonInput>(source, are_rows);
  }
  load::LoadOptions options{
      kind, std::move(customer_id), std::move(input_name), keep_going, dry_run, only_lines};
  options.mapping = std::move(mapping);
  options.check_interrupt = &handle_signals;
  if (!input_sha256.is_none()) {
    options.input_sha256 = [&] {
      const GilHeld held;
      return call_python(input_sha256).cast<std::optional<std::string>>();
    };
  }
  options.account = [&](const std::string& result) {
    const GilHeld held;
    call_python(account, py::bytes(result));
  };
  if (!rejected.is_none()) {
    options.rejected = [&](const load::Rejection* rejection, std::string_view text) {
      const GilHeld held;
      const py::object shown =
          rejection == nullptr ? py::none() : py::object(py::bytes(json::to_text(*rejection)));
      call_python(rejected, shown, py::bytes(text.data(), text.size()));
    };
  }
  if (!progress.is_none()) {
    options.progress = [&, most = std::array<std::uint64_t, 2>()](std::uint64_t bytes,
                                                                  std::uint64_t rows) mutable {
      most = {std::max(most[0], bytes), std::max(most[1], rows)};  // a load may begin again
      const GilHeld held;
      call_python(progress, most[0], total_bytes, most[1]);
    };
  }
  interruptibly([&] { load::load(*store.service(), principal, *input, options); });
}

py::tuple export_rows(const Store& store, const Principal& principal, std::string kind,
                      std::string path, std::string format, const Parameters& parameters) {
  exporting::ExportOptions options{std::move(kind), std::move(path), std::move(format),
                                   &handle_signals};
  const exporting::Exported exported = interruptibly([&] {
    return exporting::export_rows(*store.service(), principal, options, to_parameters(parameters));
  });
  return py::make_tuple(exported.rows, to_python(exported.head));
}

void export_to(const Store& store, const Principal& principal, std::string kind,
               const py::object& write, std::string format, const Parameters& parameters) {
  const auto write_bytes = [&](std::string_view text) {
    constexpr std::size_t most = std::size_t{256} << 10U;  // copied while other threads wait
    for (; !text.empty(); text.remove_prefix(std::min(most, text.size()))) {
      const GilHeld held;
      call_python(write, py::bytes(text.data(), std::min(most, text.size())));
    }
  };
  exporting::ExportOptions options{
      std::move(kind), {}, std::move(format), &handle_signals, write_bytes};
  interruptibly([&] {
    exporting::export_rows(*store.service(), principal, options, to_parameters(parameters));
  });
}

arrow::Table make_stream(const std::shared_ptr<Service>& service, const service::Scan& scan,
                         const std::string& kind,
                         const std::optional<std::vector<std::string>>& columns) {
  arrow::RowSource source{
      {service, service->database().get()}, scan.listing, [service] { service->check_usable(); }};
  return arrow::make_table(kind, columns, scan.audience, std::move(source));
}

arrow::Table stream(const Store& store, const Principal& principal, const std::string& kind,
                    const std::optional<std::vector<std::string>>& columns,
                    const Parameters& parameters) {
  const std::shared_ptr<Service> service = store.service();
  return make_stream(service,
                     service::scan(*service, principal, kind, to_parameters(parameters),
                                   service::Purpose::analysis),
                     kind, columns);
}

// Returns a stream, and a function that returns the head of the journal in the state that it read.
std::pair<arrow::Table, py::cpp_function> stream_with_head(
    const Store& store, const Principal& principal, const std::string& kind,
    const std::optional<std::vector<std::string>>& columns, const Parameters& parameters) {
  const std::shared_ptr<Service> service = store.service();
  const auto head = std::make_shared<service::ObservedHead>();
  const service::Scan scan =
      service::observe_head(*service,
                            service::scan(*service, principal, kind, to_parameters(parameters),
                                          service::Purpose::analysis),
                            principal, head);
  return {make_stream(service, scan, kind, columns),
          py::cpp_function([head] { return to_python(head->get()); })};
}

// Releases a stream, which joins its threads, or a schema, unless a consumer moved it out.
template <class Struct>
struct Release {
  void operator()(Struct* held) const {
    const GilReleased released;
    if (held->release != nullptr) held->release(held);
    delete held;
  }
};

// Makes a capsule that owns the structure that `fill` fills.
template <class Struct, class Fill>
py::capsule to_capsule(const char* name, Fill fill) {
  std::unique_ptr<Struct, Release<Struct>> held(new Struct{});
  fill(held.get());
  py::capsule capsule(held.get(), name, [](PyObject* owner) {
    Release<Struct>{}(static_cast<Struct*>(PyCapsule_GetPointer(owner, PyCapsule_GetName(owner))));
  });
  held.release();  // NOLINT(bugprone-unused-return-value): the capsule owns it
  return capsule;
}

py::capsule arrow_stream(const arrow::Table& table, const py::object&) {
  return to_capsule<ArrowArrayStream>("arrow_array_stream",
                                      [&](ArrowArrayStream* out) { table.open(out); });
}

py::capsule arrow_schema(const arrow::Table& table) {
  return to_capsule<ArrowSchema>("arrow_schema",
                                 [&](ArrowSchema* out) { table.export_schema(out); });
}

}  // namespace

void bind_store(py::module_& module) {
  freeze(py::class_<Principal>(module, "Principal", py::is_final())
             .def(py::init(&service::make_principal), py::arg("customer") = py::none(),
                  py::arg("client_id") = py::none(), py::arg("scopes") = py::none(),
                  py::arg("actor") = py::none())
             .def_readonly("customer", &Principal::customer)
             .def_readonly("actor", &Principal::actor)
             .def_readonly("scopes", &Principal::scopes));

  freeze(py::class_<arrow::Table>(module, "ArrowSource", py::is_final())
             .def("__arrow_c_stream__", &arrow_stream, py::arg("requested_schema") = py::none())
             .def("__arrow_c_schema__", &arrow_schema)
             .def("with_string_views", &arrow::Table::with_views, py::keep_alive<0, 1>())
             .def("compact", &arrow::Table::compact, py::arg("names"), py::keep_alive<0, 1>(),
                  py::call_guard<InterruptibleCall>())
             .def("texts", [](const arrow::Table& table) {
               std::map<std::string, std::vector<std::string>> texts;
               for (const auto& [name, codes] : table.codes) texts.emplace(name, codes->texts());
               return texts;
             }));

  using py::arg;
  freeze(
      py::class_<Store>(module, "Store", py::is_final())
          .def(py::init<const std::string&, bool, const py::object&,
                        const std::optional<std::string>&, const std::optional<std::string>&>(),
               arg("path"), arg("read_only") = false, arg("progress") = py::none(), py::kw_only(),
               arg("libpq") = py::none(), arg("secrets_base") = py::none())
          .def("call", calling(&call), arg("principal"), arg("operation"), arg("parameters"),
               arg("body") = py::none(), arg("idempotency_key") = py::none(),
               arg("request_id") = py::none())
          .def("call_if_short", calling(&call_if_short), arg("principal"), arg("operation"),
               arg("parameters"), arg("body") = py::none(), arg("idempotency_key") = py::none(),
               arg("request_id") = py::none())
          .def("load", &load, arg("principal"), arg("kind"), arg("source"), py::kw_only(),
               arg("are_rows"), arg("only_lines") = false, arg("input_name") = py::none(),
               arg("input_sha256") = py::none(), arg("mapping") = py::none(), arg("customer_id"),
               arg("keep_going"), arg("dry_run"), arg("total_bytes"), arg("progress"),
               arg("account"), arg("rejected") = py::none())
          .def("export", &export_rows, arg("principal"), arg("kind"), arg("path"), arg("format"),
               arg("parameters"))
          .def("export_to", &export_to, arg("principal"), arg("kind"), arg("write"), arg("format"),
               arg("parameters"))
          .def(
              "version", [](const Store& store) { return store.service()->database()->version(); },
              py::call_guard<InterruptibleCall>())
          .def("now",
               [](const Store& store) { return store.service()->environment().now().microseconds; })
          .def(
              "commits",
              [](const Store& store) {
                const db::Commits commits = store.service()->database()->commits();
                return std::pair(commits.by_size, commits.writes);
              },
              py::call_guard<InterruptibleCall>())
          .def(
              "log_size",
              [](const Store& store) {
                const db::LogSize size = store.service()->database()->log_size();
                return std::tuple(size.bytes, size.pending, size.pending >= db::large_log);
              },
              py::call_guard<InterruptibleCall>())
          .def("stream", &stream, arg("principal"), arg("kind"), arg("columns"), arg("parameters"),
               py::keep_alive<0, 1>())  // an open stream keeps its store open
          .def("stream_with_head", &stream_with_head, arg("principal"), arg("kind"), arg("columns"),
               arg("parameters"))
          .def(
              "backup",
              [](const Store& store, const Principal& principal, const std::string& destination) {
                const service::JournalHead head = interruptibly(
                    [&] { return service::backup(*store.service(), principal, destination); });
                return std::pair(head.size, head.root);
              },
              arg("principal"), arg("destination"))
          .def("copy_to", &copy_to, arg("principal"), arg("destination"), py::kw_only(),
               arg("libpq"), arg("progress"))
          .def(
              "check",
              [](const Store& store, const Principal& principal) {
                return py::bytes(
                    interruptibly([&] { return service::check(*store.service(), principal); }));
              },
              arg("principal"))
          .def(
              "shared_document",
              [](const Store& store, const Principal& principal,
                 const std::string& name) -> std::optional<py::bytes> {
                return interruptibly(
                    [&] { return service::read_shared(*store.service(), principal, name); });
              },
              arg("principal"), arg("name"))
          .def(
              "replace_shared_document",
              [](const Store& store, const Principal& principal, const std::string& name,
                 const std::optional<std::string>& before, const std::string& after) {
                return interruptibly([&] {
                  return service::replace_shared(*store.service(), principal, name, before, after);
                });
              },
              arg("principal"), arg("name"), arg("before"), arg("after"))
          .def("close", &Store::close, py::call_guard<GilReleased>()));

  module.def("rule_of", &load::rule_of, arg("message"));

  module.def(
      "postgresql_select",
      [](const std::string& table, const std::vector<std::string>& columns,
         const std::string& schema) {
        const auto tables = service::record_tables();
        const auto found = std::ranges::find(tables, table, &db::ReadableView::table);
        if (found == tables.end()) throw Error::invalid("table", "no table " + table);
        return db::postgresql::typed_select(*found, columns, schema);
      },
      arg("table"), arg("columns"), arg("schema"));

  module.def(
      "open_store_of",
      [](const std::string& path) -> std::optional<py::str> {
        std::optional<std::string> store;
        {
          const GilReleased released;
          store = db::sqlite::find_open_file(path);
        }
        if (!store) return std::nullopt;
        return py::reinterpret_steal<py::str>(PyUnicode_DecodeFSDefault(store->c_str()));
      },
      arg("path"));
}

}  // namespace comptroller::bindings
