"""What can become of a fetch that fails, as errors that no other attempt would mend."""

from __future__ import annotations

from typing import Any, ClassVar

from openviking.errors import PermissionDeniedError, ProcessingError


class FetchFailedError(ProcessingError):
    """The source can't be fetched; ``details`` has ``url``, and ``http_status`` where a server gave one."""


class FetchTimeoutError(FetchFailedError):
    """The source takes longer than it may; ``details`` has ``operation`` and ``timeout`` (seconds)."""

    code: ClassVar[str] = "DEADLINE_EXCEEDED"
    status: ClassVar[int] = 504

    def __init__(self, message: str, *, timeout: float = 0.0, **details: Any) -> None:
        super().__init__(message, **{"operation": "fetch", "timeout": timeout, **details})


class RefusedAddressError(PermissionDeniedError):
    """The address may not be asked; ``details`` has ``host`` and ``reason``."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(
            f"{host} may not be fetched from: its address is {reason}. Whoever runs this can allow it with"
            " fetch.allowed_hosts",
            host=host,
            reason=reason,
        )


class FetchCancelled(Exception):  # noqa: N818
    """The fetch was told to stop."""


class PassingError(Exception):
    """A failure that may be gone a moment later; ``retry_after`` are the seconds that a server asked to wait."""

    def __init__(self, message: str, *, retry_after: float | None = None, http_status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.retry_after = retry_after
        self.http_status = http_status
