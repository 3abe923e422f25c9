"""Serves a peer's application: `python -m servers.start MODULE DATABASE`; prints its address.

The server is uvicorn with httptools and uvloop, in one process and without an access log. A module
may define its own `Protocol`.
"""

from __future__ import annotations

import socket
import sys
from importlib import import_module
from pathlib import Path

import uvicorn


def main() -> None:
    name, database = sys.argv[1:]
    module = import_module(name)
    application = module.app(Path(database))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            application,
            http=getattr(module, "Protocol", "httptools"),
            loop="uvloop",
            ws="none",
            lifespan="off",
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
        )
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
