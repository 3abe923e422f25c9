// The journal of a store: its verification, and signed checkpoints.
#include "service/journal.hpp"

#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "bindings/interruptible.hpp"
#include "bindings/store.hpp"
#include "journal/note.hpp"
#include "model/error.hpp"

namespace py = pybind11;

namespace comptroller::bindings {

namespace {

journal::SigningKey signing_key(const std::string& name, const std::string& seed) {
  journal::SigningKey key{name, {}};
  if (seed.size() != key.seed.size()) throw Error::invalid("seed", "must have 32 bytes");
  std::ranges::copy(seed, key.seed.begin());
  return key;
}

// Runs a function of the service without the GIL, and returns its text.
py::bytes answer(const Store& store, const auto& work) {
  return {interruptibly([&] { return work(*store.service()); })};
}

}  // namespace

void bind_journal(py::module_& module) {
  using py::arg;
  module.def(
      "journal_entries",
      [](const Store& store, const Principal& principal, std::uint64_t from, std::uint64_t limit,
         bool only_batches) {
        return answer(store, [&](service::Service& service) {
          return service::journal_entries(service, principal, {from, limit, only_batches});
        });
      },
      arg("store"), arg("principal"), arg("from_sequence"), arg("limit"),
      arg("only_batches") = false);
  module.def(
      "verify_journal",
      [](const Store& store, const Principal& principal, const std::optional<std::string>& note,
         const std::string& verifier_key) {
        std::optional<service::JournalHead> earlier;
        if (note) earlier = service::opened_checkpoint(*note, verifier_key);
        return answer(store, [&](service::Service& service) {
          return service::verify_journal(service, principal, earlier);
        });
      },
      arg("store"), arg("principal"), arg("checkpoint"), arg("verifier_key"));
  module.def(
      "sign_checkpoint",
      [](const Store& store, const Principal& principal, const std::string& name,
         const py::bytes& seed) {
        const journal::SigningKey key = signing_key(name, seed);
        return answer(store, [&](service::Service& service) {
          return service::signed_checkpoint(key, service::journal_head(service, principal));
        });
      },
      arg("store"), arg("principal"), arg("name"), arg("seed"));
  module.def(
      "sign_head",
      [](const std::string& name, const py::bytes& seed, std::uint64_t size, std::string root) {
        return py::bytes(
            service::signed_checkpoint(signing_key(name, seed), {size, std::move(root)}));
      },
      arg("name"), arg("seed"), arg("size"), arg("root"));
  module.def(
      "open_checkpoint",
      [](const std::string& note, const std::string& verifier_key) {
        const service::JournalHead head = service::opened_checkpoint(note, verifier_key);
        return std::pair(head.size, head.root);
      },
      arg("checkpoint"), arg("verifier_key"));
  module.def(
      "journal_head",
      [](const Store& store, const Principal& principal, std::optional<std::uint64_t> size) {
        service::JournalHead head;
        {
          const InterruptibleCall interruptible;
          service::Service& service = *store.service();
          head = size ? service::earlier_head(service, principal, *size)
                      : service::journal_head(service, principal);
        }
        return std::pair(head.size, head.root);
      },
      arg("store"), arg("principal"), arg("size") = py::none());
  module.def(
      "record_histories",
      [](const Store& store, const Principal& principal,
         const std::vector<store::RecordName>& names, bool with_proofs) {
        return answer(store, [&](service::Service& service) {
          return service::record_histories(service, principal, names, with_proofs);
        });
      },
      arg("store"), arg("principal"), arg("names"), arg("with_proofs"));
  module.def(
      "moved_records",
      [](const Store& store, const Principal& principal, const std::vector<std::string>& texts,
         bool is_in_any_case) {
        return answer(store, [&](service::Service& service) {
          return service::moved_records(service, principal, texts, is_in_any_case);
        });
      },
      arg("store"), arg("principal"), arg("texts"), arg("is_in_any_case"));
  module.def(
      "archive_journal",
      [](const Store& store, const Principal& principal, std::uint64_t size, std::string sha256,
         std::string root) {
        const InterruptibleCall interruptible;
        service::archive_journal(*store.service(), principal,
                                 {size, std::move(sha256), std::move(root)});
      },
      arg("store"), arg("principal"), arg("size"), arg("sha256"), arg("root"));
  module.def(
      "verifier_key",
      [](const std::string& name, const py::bytes& seed) {
        return journal::verifier_key(signing_key(name, seed));
      },
      arg("name"), arg("seed"));
}

}  // namespace comptroller::bindings
