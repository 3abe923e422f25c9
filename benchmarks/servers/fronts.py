"""What stands between a client and a server: TLS of the server, and nginx."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from servers.running import GLANCE_S, START_WITHIN_S, Server

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def certificate(folder: Path) -> list[object]:
    """Creates a certificate of a day; returns the options to serve with it."""
    chain, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(chain)]
    subprocess.run(command, check=True, capture_output=True)
    return ["--tls-cert", chain, "--tls-key", key]


@contextmanager
def behind_nginx(server: Server, folder: Path) -> Iterator[Server]:
    """Yields a server at the address of an nginx with one process, which keeps connections to it.

    The resource use is that of the server.
    """
    if NGINX is None:
        raise RuntimeError("nginx is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    places = "".join(f"{name}_temp_path {folder}/{name};\n" for name in _TEMPORARY)
    settings = folder / "nginx.conf"
    settings.write_text(
        f"daemon off;\nworker_processes 1;\npid {folder}/pid;\nerror_log {folder}/errors;\n"
        f"events {{}}\nhttp {{\naccess_log off;\nkeepalive_requests 1000000;\n{places}"
        f"upstream served {{ server {server.address.removeprefix('http://')}; keepalive 64;"
        " keepalive_requests 1000000; keepalive_timeout 4s; }\n"
        f"server {{ listen 127.0.0.1:{port};\nproxy_http_version 1.1;\n"
        'proxy_set_header Connection "";\nproxy_set_header X-Forwarded-For $remote_addr;\n'
        "location / { proxy_pass http://served; }\n}\n}\n"
    )
    process = subprocess.Popen([NGINX, "-e", str(folder / "errors"), "-c", str(settings)])
    try:
        _wait(port)
        yield Server(f"http://127.0.0.1:{port}", server.pid)
    finally:
        process.terminate()
        process.wait()


def _wait(port: int) -> None:
    ends = time.monotonic() + START_WITHIN_S
    while time.monotonic() < ends:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(GLANCE_S)
        else:
            return
    raise RuntimeError("nginx does not listen")
