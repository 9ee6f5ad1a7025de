"""Receiving files ahead of the call that uses them (contract/core.md §3.4)."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Request

from openviking.errors import InvalidArgumentError, UnimplementedError
from openviking.server.edge import Caller
from openviking.server.envelope import Json
from openviking.server.multipart import FormReader
from openviking.service.uploads import Incoming, too_large
from openviking.text import quoted

router = APIRouter(prefix="/api/v1/resources", tags=["resources"])

FORM_BYTES: Final = 1024 * 1024
"""So much of a form may be something else than the file."""

_TRUTH: Final = {"": False, "false": False, "0": False, "true": True, "1": True}
_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {
                            "type": "string",
                            "format": "binary",
                            "description": "At most 512 MiB, unless configured.",
                        },
                        "telemetry": {"type": "boolean", "default": False},
                        "upload_mode": {"type": "string", "enum": ["local", "shared"]},
                    },
                }
            }
        },
    }
}


@router.post("/temp_upload", openapi_extra=_BODY)
async def temp_upload(edge: Caller, request: Request, token: str | None = None) -> Json:
    """Keep a file for a while (twelve hours), for one call of its sender that names the ``temp_file_id``."""
    if token is not None:
        raise UnimplementedError("Uploads by token are not part of this version", field="token")
    settings = edge.services.uploads.settings
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and len(length) < 20 and int(length) > settings.max_bytes + FORM_BYTES:
        raise too_large(settings)
    incoming: list[Incoming] = []

    def begin(filename: str | None) -> Incoming:
        incoming.append(edge.services.uploads.begin(edge.caller, filename))
        return incoming[0]

    form = FormReader(request.headers.get("content-type", ""), begin)
    try:
        await form.read(request.stream())
        mode, telemetry = _asked(form.fields)
        return await edge.answer(
            lambda: {"temp_file_id": incoming[0].finish(mode).id},
            lean=True, operation="resources.temp_upload", telemetry=telemetry,
        )  # fmt: skip
    except BaseException:
        # Also for a client that went away.
        for one in incoming:
            one.abandon()
        raise


def _asked(fields: dict[str, str]) -> tuple[str | None, bool]:
    """The mode of the upload, None for the usual one, and whether its telemetry is asked for."""
    mode, telemetry = fields.get("upload_mode") or None, fields.get("telemetry", "").lower()
    if mode not in {None, "local", "shared"}:
        raise InvalidArgumentError(f"upload_mode must be local or shared, not {quoted(mode)}", field="upload_mode")
    if telemetry not in _TRUTH:
        raise InvalidArgumentError(f"telemetry must be true or false, not {quoted(telemetry)}", field="telemetry")
    return mode, _TRUTH[telemetry]
