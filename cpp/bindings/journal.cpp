// The journal of a store: its verification, and signed checkpoints.
#include "service/journal.hpp"

#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/store.hpp"
#include "journal/checkpoint.hpp"
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
  std::string text;
  {
    const GilReleased released;
    text = work(*store.service());
  }
  return {text};
}

}  // namespace

void bind_journal(py::module_& module) {
  using py::arg;
  module.def(
      "verify_journal",
      [](const Store& store, const Principal& principal, const std::optional<std::string>& note,
         const std::string& verifier_key) {
        std::optional<journal::Checkpoint> earlier;
        if (note) earlier = journal::read_checkpoint(journal::opened_text(*note, verifier_key));
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
          return journal::signed_note(
              journal::text_of(service::journal_head(service, principal, name)), key);
        });
      },
      arg("store"), arg("principal"), arg("name"), arg("seed"));
  module.def(
      "verifier_key",
      [](const std::string& name, const py::bytes& seed) {
        return journal::verifier_key(signing_key(name, seed));
      },
      arg("name"), arg("seed"));
}

}  // namespace comptroller::bindings
