"""Programs that do not outlive the check that started them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def started(command: Sequence[Any], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Starts a program in a session of its own, whose processes an exception kills.

    `options` are those of `subprocess.Popen`.
    """
    process = subprocess.Popen(command, text=True, start_new_session=True, **options)
    try:
        yield process
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in filter(None, (process.stdout, process.stderr)):
            pipe.close()
        raise


def run(
    command: Sequence[Any], timeout: float | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs a program as `subprocess.run` does, in a session of its own."""
    with started(command, stdout=subprocess.PIPE, **options) as process:
        output, errors = process.communicate(timeout=timeout)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)
