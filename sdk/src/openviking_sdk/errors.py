"""The errors that callers of the SDK meet: one class for each code of the wire, found again from the error envelope.

    OpenVikingError
    ├── InvalidArgumentError                 400
    │   ├── InvalidURIError, UnsupportedURIError, UnsupportedModeError, InvalidFilterError
    │   └── SkillInvalidError, SkillCapabilityUnavailableError
    ├── UnauthenticatedError                 401
    ├── PermissionDeniedError                403
    ├── NotFoundError                        404
    ├── ConflictError                        409
    │   └── AlreadyExistsError, AbortedError, WriteConflictError
    ├── SessionExpiredError                  410
    ├── FailedPreconditionError              412
    ├── ResourceExhaustedError               429
    ├── InternalError                        500
    │   ├── NotInitializedError, ProcessingError, EmbeddingFailedError, VLMFailedError, WriteFailedError
    │   └── RefreshFailedError, AgentOutputInvalidError, RestoreWritebackPartialError, UnknownError
    ├── UnimplementedError                   501
    ├── UnavailableError                     503, and no connection
    │   └── ModelUnavailableError, BotRestartedError, NoVectorDBError
    └── DeadlineExceededError                504, and no answer in time

A code that is not listed becomes the class of its HTTP status and keeps its own ``code``. Codes and statuses follow
contract/core.md §1.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final


class OpenVikingError(Exception):
    """Base of every error of the SDK.

    ``code`` is the code of the wire and ``details`` what the server adds to it; ``status`` the HTTP status, None if no
    answer came; ``request_id`` names the request in the server's log; ``retry_after`` the seconds after which the
    server wants to be asked again, if it says so.
    """

    default_code: ClassVar[str] = "UNKNOWN"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.details: dict[str, Any] = dict(details or {})
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after


class InvalidArgumentError(OpenVikingError):
    """A value is malformed, out of range, or names a node of the wrong kind."""

    default_code = "INVALID_ARGUMENT"


class InvalidURIError(InvalidArgumentError):
    """A spelling that is no ``viking://`` address; ``details`` has ``uri`` and ``reason``."""

    default_code = "INVALID_URI"


class UnsupportedURIError(InvalidArgumentError):
    """An address of a kind that this call does not work on."""

    default_code = "UNSUPPORTED_URI"


class UnsupportedModeError(InvalidArgumentError):
    """A mode that this kind of node does not have."""

    default_code = "UNSUPPORTED_MODE"


class InvalidFilterError(InvalidArgumentError):
    """A filter that can't be read; it is refused, never ignored."""

    default_code = "INVALID_FILTER"


class SkillInvalidError(InvalidArgumentError):
    """A skill that breaks the rules for skills."""

    default_code = "SKILL_INVALID"


class SkillCapabilityUnavailableError(InvalidArgumentError):
    """A skill needs something that the server does not have."""

    default_code = "SKILL_CAPABILITY_UNAVAILABLE"


class UnauthenticatedError(OpenVikingError):
    """No key, or a key that the server does not know."""

    default_code = "UNAUTHENTICATED"


class PermissionDeniedError(OpenVikingError):
    """The caller may not do this here; ``details["resource"]`` names the address."""

    default_code = "PERMISSION_DENIED"


class NotFoundError(OpenVikingError):
    """There is nothing of that name; ``details`` has ``type`` and ``resource``."""

    default_code = "NOT_FOUND"


class ConflictError(OpenVikingError):
    """Something is there already, or changed meanwhile; with ``details["retryable"]`` another try may succeed."""

    default_code = "CONFLICT"


class AlreadyExistsError(ConflictError):
    """The name is taken."""

    default_code = "ALREADY_EXISTS"


class AbortedError(ConflictError):
    """The server gave up because of something that happened at the same time."""

    default_code = "ABORTED"


class WriteConflictError(ConflictError):
    """Two writes met."""

    default_code = "WRITE_CONFLICT"


class SessionExpiredError(OpenVikingError):
    """The session is gone."""

    default_code = "SESSION_EXPIRED"


class FailedPreconditionError(OpenVikingError):
    """Not possible in the present state, as removing a directory without ``recursive``."""

    default_code = "FAILED_PRECONDITION"


class ResourceExhaustedError(OpenVikingError):
    """Too many, too large, or too fast."""

    default_code = "RESOURCE_EXHAUSTED"


class InternalError(OpenVikingError):
    """The server failed, or what answered is no OpenViking server."""

    default_code = "INTERNAL"


class NotInitializedError(InternalError):
    """The server is not ready yet."""

    default_code = "NOT_INITIALIZED"


class ProcessingError(InternalError):
    """A source that could not be fetched or parsed."""

    default_code = "PROCESSING_ERROR"


class EmbeddingFailedError(InternalError):
    """The embedding model failed."""

    default_code = "EMBEDDING_FAILED"


class VLMFailedError(InternalError):
    """The language model failed."""

    default_code = "VLM_FAILED"


class WriteFailedError(InternalError):
    """The write could not be stored."""

    default_code = "WRITE_FAILED"


class RefreshFailedError(InternalError):
    """The write is stored, what is derived from it is not."""

    default_code = "REFRESH_FAILED"


class AgentOutputInvalidError(InternalError):
    """A model's answer can't be used."""

    default_code = "AGENT_OUTPUT_INVALID"


class RestoreWritebackPartialError(InternalError):
    """Only a part of a restore was written."""

    default_code = "RESTORE_WRITEBACK_PARTIAL"


class UnknownError(InternalError):
    """The server knows no better name for what happened."""

    default_code = "UNKNOWN"


class UnimplementedError(OpenVikingError):
    """The server does not have this."""

    default_code = "UNIMPLEMENTED"


class UnavailableError(OpenVikingError):
    """The server, a store or a model can't be reached; without a connection ``status`` is None.

    ``details`` has ``service`` and ``reason``.
    """

    default_code = "UNAVAILABLE"


class ModelUnavailableError(UnavailableError):
    """A model does not answer."""

    default_code = "MODEL_UNAVAILABLE"


class BotRestartedError(UnavailableError):
    """The agent behind the server was restarted."""

    default_code = "BOT_RESTARTED"


class NoVectorDBError(UnavailableError):
    """There is no vector index."""

    default_code = "NO_VECTOR_DB"


class DeadlineExceededError(OpenVikingError):
    """It took too long; ``details`` has ``operation`` and ``timeout``. Without an answer ``status`` is None."""

    default_code = "DEADLINE_EXCEEDED"


def _subclasses(kind: type[OpenVikingError]) -> Iterator[type[OpenVikingError]]:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


BY_CODE: Final[dict[str, type[OpenVikingError]]] = {
    **{kind.default_code: kind for kind in _subclasses(OpenVikingError)},
    "INTERNAL_ERROR": InternalError,
}
"""The class of each documented code."""

BY_STATUS: Final[dict[int, type[OpenVikingError]]] = {
    400: InvalidArgumentError,
    401: UnauthenticatedError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    410: SessionExpiredError,
    412: FailedPreconditionError,
    413: ResourceExhaustedError,
    422: InvalidArgumentError,
    429: ResourceExhaustedError,
    500: InternalError,
    501: UnimplementedError,
    502: UnavailableError,
    503: UnavailableError,
    504: DeadlineExceededError,
}
"""The class of an HTTP status, for answers without a code that is known."""


def error_class(code: str | None, status: int) -> type[OpenVikingError]:
    """The class for a code; for an unknown code that of the HTTP status, and `OpenVikingError` if that is unknown."""
    if code is not None and code in BY_CODE:
        return BY_CODE[code]
    return BY_STATUS.get(status, InternalError if status >= 500 else OpenVikingError)
