"""Every error that callers of OpenViking can meet, each with its wire code and HTTP status.

    OpenVikingError
    ├── InvalidArgumentError          400  bad value, bad pattern, wrong kind of node
    │   ├── InvalidURIError           400  a URI that can never name anything
    │   ├── UnsupportedURIError       400  a URI of a kind that this can't be done with
    │   └── InvalidFilterError        400
    ├── UnauthenticatedError          401
    ├── PermissionDeniedError         403  a scope, spelling or node the caller may not touch
    ├── NotFoundError                 404
    ├── ConflictError                 409  something is there already, or changed meanwhile
    │   └── AlreadyExistsError        409
    ├── FailedPreconditionError       412
    ├── ResourceExhaustedError        429
    ├── InternalError                 500
    │   └── ProcessingError           500  a source that could not be fetched or parsed
    ├── UnimplementedError            501
    ├── UnavailableError              503  a store or model that does not answer
    └── DeadlineExceededError         504

Codes, statuses and the shape of ``details`` follow contract/core.md §1.2.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

LONGEST: Final = 4096
"""Characters of the longest address; what is longer was not found because it names nothing."""


class OpenVikingError(Exception):
    """Base of every error raised on purpose; carries ``code``, ``status``, ``message`` and ``details``."""

    code: ClassVar[str] = "INTERNAL"
    status: ClassVar[int] = 500

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = details

    def to_dict(self) -> dict[str, Any]:
        """The ``error`` member of the error envelope: ``code``, ``message``, ``details``."""
        return {"code": self.code, "message": self.message, "details": self.details}


class InvalidArgumentError(OpenVikingError):
    """A value is malformed, out of range, or names a node of the wrong kind."""

    code = "INVALID_ARGUMENT"
    status = 400


class InvalidURIError(InvalidArgumentError):
    """A spelling that is not a ``viking://`` URI; ``details`` has ``uri`` and ``reason``."""

    code = "INVALID_URI"

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__(f"Invalid URI: {uri} ({reason})", uri=uri, reason=reason)


class UnsupportedURIError(InvalidArgumentError):
    """What is asked for can't be done with what the URI names."""

    code = "UNSUPPORTED_URI"


class InvalidFilterError(InvalidArgumentError):
    """A filter that cannot be parsed; it is refused, never ignored."""

    code = "INVALID_FILTER"


class UnauthenticatedError(OpenVikingError):
    """No key, or a key that is not known."""

    code = "UNAUTHENTICATED"
    status = 401


class PermissionDeniedError(OpenVikingError):
    """The caller may not do this here; ``details.resource`` names the URI."""

    code = "PERMISSION_DENIED"
    status = 403


class NotFoundError(OpenVikingError):
    """Nothing of that name; ``details`` has ``type`` and ``resource``, a ``note`` says more in the message."""

    code = "NOT_FOUND"
    status = 404

    def __init__(self, resource: str, kind: str = "file", note: str = "") -> None:
        # No address is that long: what is needs not be given back.
        resource = resource if len(resource) <= LONGEST else f"{resource[:80]}…"
        more = f" ({note})" if note else ""
        super().__init__(f"{kind[:1].upper()}{kind[1:]} not found: {resource}{more}", type=kind, resource=resource)


class ConflictError(OpenVikingError):
    """The present state forbids it, or another writer was faster; ``details.resource`` names the URI."""

    code = "CONFLICT"
    status = 409


class AlreadyExistsError(ConflictError):
    """The name is taken; ``details`` has ``type`` and ``resource``."""

    code = "ALREADY_EXISTS"

    def __init__(self, resource: str, kind: str = "file") -> None:
        super().__init__(f"{kind[:1].upper()}{kind[1:]} already exists: {resource}", type=kind, resource=resource)


class FailedPreconditionError(OpenVikingError):
    """Something must be done or said first, such as ``recursive`` for a directory."""

    code = "FAILED_PRECONDITION"
    status = 412


class ResourceExhaustedError(OpenVikingError):
    """A limit of size, count or load was reached."""

    code = "RESOURCE_EXHAUSTED"
    status = 429


class InternalError(OpenVikingError):
    """A fault of OpenViking's own."""


class ProcessingError(InternalError):
    """A source that cannot be fetched, unpacked or parsed at all."""

    code = "PROCESSING_ERROR"


class UnimplementedError(OpenVikingError):
    """Part of the public API that this version does not have."""

    code = "UNIMPLEMENTED"
    status = 501


class UnavailableError(OpenVikingError):
    """The store or a model does not answer; ``details`` has ``service`` and ``reason``."""

    code = "UNAVAILABLE"
    status = 503

    def __init__(self, message: str, *, service: str, reason: str) -> None:
        super().__init__(message, service=service, reason=reason)


class DeadlineExceededError(OpenVikingError):
    """The time allowed is over; ``details`` has ``operation`` and ``timeout`` (seconds), and what is missing."""

    code = "DEADLINE_EXCEEDED"
    status = 504

    def __init__(self, message: str, *, operation: str, timeout: float, **details: Any) -> None:
        super().__init__(message, operation=operation, timeout=timeout, **details)
