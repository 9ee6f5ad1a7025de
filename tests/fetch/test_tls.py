"""Over https the name is proved although the connection goes to an address that was chosen before."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.stubs.web import ToldResolver

from openviking.ingest.fetch.client import Client
from openviking.ingest.fetch.failures import FetchFailedError
from openviking.ingest.fetch.web_address import web_address

NAME = "secure.example"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for `NAME` that signs itself, with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate, and is not installed")
    path = tmp_path / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
         f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_bytes((tmp_path / "key").read_bytes() + (tmp_path / "cert").read_bytes())
    return path


@pytest.fixture
def port(certificate: Path) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    names: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    over = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while not over.is_set():
            connected, _ = listening.accept()
            with connected:
                try:
                    with context.wrap_socket(connected, server_side=True) as secured:
                        secured.recv(65_536)
                        body = str(names[-1]).encode()
                        secured.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    over.set()
    socket.create_connection(listening.getsockname()).close()
    thread.join()
    listening.close()


def test_the_name_is_proved(
    certificate: Path, port: int, client: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver = ToldResolver({NAME: [["127.0.0.1"]], "other.example": [["127.0.0.1"]]})

    def get(host: str) -> bytes:
        made = client(resolver)
        where = web_address(f"https://{host}:{port}/")
        return made.get(where, headers={}, cancelled=lambda: False, progress=lambda _: None).body

    with pytest.raises(FetchFailedError, match=r"(?i)certificate"):
        get(NAME)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert get(NAME) == NAME.encode(), "the server is told the name, not the address"
    for other in ("other.example", "127.0.0.1"):
        with pytest.raises(FetchFailedError, match=r"(?i)certificate"):
            get(other)
