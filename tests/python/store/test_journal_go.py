"""Go's packages sumdb/note and sumdb/tlog verify checkpoints and proofs of the journal."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import comptroller
import pytest

MODULE = "golang.org/x/mod v0.21.0"
PROGRAM = """
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type proven struct {
	Entry    string
	Sequence int64
	Size     int64
	Proof    []string
}

func fail(err error) {
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
}

func main() {
	var given struct {
		Key, Checkpoint string
		Proofs          []proven
	}
	fail(json.NewDecoder(os.Stdin).Decode(&given))
	verifier, err := note.NewVerifier(given.Key)
	fail(err)
	opened, err := note.Open([]byte(given.Checkpoint), note.VerifierList(verifier))
	fail(err)
	lines := strings.SplitN(opened.Text, "\\n", 2)
	// Go's own trees have another first line.
	tree, err := tlog.ParseTree([]byte("go.sum database tree\\n" + lines[1]))
	fail(err)
	for _, each := range given.Proofs {
		var proof tlog.RecordProof
		for _, digits := range each.Proof {
			bytes, err := hex.DecodeString(digits)
			fail(err)
			proof = append(proof, tlog.Hash(bytes))
		}
		leaf := tlog.RecordHash([]byte(each.Entry))
		fail(tlog.CheckRecord(proof, tree.N, tree.Hash, each.Sequence, leaf))
	}
	fmt.Println("verified", lines[0], tree.N, len(given.Proofs))
}
"""

Verify = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def verify(tmp_path_factory: pytest.TempPathFactory) -> Verify:
    """Returns a function that runs the program with a key, a checkpoint and proofs."""
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    folder = tmp_path_factory.mktemp("go")
    (folder / "main.go").write_text(PROGRAM)
    (folder / "go.mod").write_text(f"module verify\n\ngo 1.22\n\nrequire {MODULE}\n")
    # Only the cache of modules: tests use no network.
    offline = {"GOPROXY": "off", "GOSUMDB": "off", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    build = subprocess.run(
        ["go", "build", "-o", "verify", "."],
        cwd=folder,
        env={**os.environ, **offline},
        capture_output=True,
        text=True,
        check=False,
    )
    if "module lookup disabled" in build.stderr:
        pytest.skip(f"the cache of Go has no {MODULE}; run `go mod download {MODULE}`")
    assert build.returncode == 0, build.stderr

    def run(key: str, checkpoint: str, proofs: list[dict[str, object]]) -> tuple[int, str]:
        given = {"Key": key, "Checkpoint": checkpoint, "Proofs": proofs}
        ended = subprocess.run(
            [folder / "verify"],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout

    return run


def test_go_verifies_checkpoints_and_proofs(
    verify: Verify, store_path: Path, tmp_path: Path
) -> None:
    with comptroller.open(store_path) as svc:
        for number in range(21):
            svc.identities.put(id=f"i-{number}", customer_id="acme")
        key, checkpoint = svc.journal.key(), svc.journal.checkpoint()
        size = svc.journal.state().size
        found = [svc.journal.prove(sequence) for sequence in range(size)]
    proofs: list[dict[str, object]] = [
        {"Entry": each.entry, "Sequence": each.sequence, "Proof": each.proof} for each in found
    ]
    name = key.split("+", maxsplit=1)[0]
    assert verify(key, checkpoint, proofs) == (0, f"verified {name} {size} {size}\n")
    altered = {**proofs[3], "Entry": found[3].entry.replace("acme", "evil")}
    for refused in (
        (key, checkpoint, [altered]),
        (key, checkpoint, [{**proofs[3], "Sequence": 4}]),
        (key, checkpoint.replace(f"\n{size}\n", f"\n{size + 1}\n"), proofs),
        (key.replace("+", "x+", 1), checkpoint, proofs),
    ):
        code, message = verify(*refused)
        assert (code, message.startswith("refused: ")) == (1, True)
