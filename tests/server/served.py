"""A server in a process of its own, for tests that kill it: ``served.py DATA [ROOT_KEY]``.

It prints its port once it listens. ``$MODEL_URL`` is the address of an embedding service; without it there is none.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import uvicorn

from openviking.config.settings import EmbeddingSettings, Settings
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services


def main(place: str, root_key: str | None) -> None:
    url = os.environ.get("MODEL_URL", "")
    model = EmbeddingSettings(provider="none")
    if url:
        model = EmbeddingSettings(
            provider="openai", model="stub", api_base=url, api_key="k", batch_size=8, max_retries=0
        )
    settings = Settings(path=Path(place), poll_interval=0.2, embedding=model)
    app = create_app(Services(settings, Rules.of(None, root_key, "127.0.0.1")))
    listening = socket.create_server(("127.0.0.1", 0))
    os.write(1, f"{listening.getsockname()[1]}\n".encode())
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
