"""What both clients are made with."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import ClassVar

from openviking_sdk.settings import Settings, resolved


class Configured:
    """A client's settings, and the lock under which it opens and closes."""

    supports_request_actor_peer: ClassVar[bool] = True
    """`use_actor_peer` changes the peer of single calls."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        account: str | None = None,
        user: str | None = None,
        actor_peer_id: str | None = None,
        timeout: float | None = None,
        extra_headers: Mapping[str, str] | None = None,
        profile_enabled: bool | None = None,
        *,
        retries: int = 2,
    ) -> None:
        """A client with these settings, of which the server is not asked yet.

        What is None comes from the environment (``OPENVIKING_URL``, ``OPENVIKING_API_KEY``, ``OPENVIKING_ACCOUNT``,
        ``OPENVIKING_USER``, ``OPENVIKING_ACTOR_PEER_ID``, ``OPENVIKING_TIMEOUT``), else from ``ovcli.conf``, else it is
        ``http://127.0.0.1:1933``, 60 s and nothing. ``account`` and ``user`` count in the server's modes ``dev`` and
        ``trusted`` only. ``timeout`` in seconds is for connecting and for each answer; what waits for the server's work
        waits longer. ``retries`` is how often a call is sent again that never reached the server, or that may safely be
        done twice; 0 for never. ``profile_enabled`` asks the server for a profile of each call, which goes to the logger
        ``openviking_sdk.profile``. Raises `InvalidArgumentError` for a value that can't be right.
        """
        self._settings = resolved(
            url=url,
            api_key=api_key,
            account=account,
            user=user,
            actor_peer_id=actor_peer_id,
            timeout=timeout,
            extra_headers=extra_headers,
            profile=profile_enabled,
        )
        self._retries = retries
        self._opening = threading.Lock()

    @property
    def settings(self) -> Settings:
        """What the client works with."""
        return self._settings

    def __repr__(self) -> str:
        return f"{type(self).__name__}(url={self._settings.url!r})"
