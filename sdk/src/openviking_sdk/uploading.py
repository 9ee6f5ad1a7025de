"""Bringing files of this machine to the server's temporary place, from where another call takes them."""

from __future__ import annotations

from pathlib import Path

from openviking_sdk.call import Answer, Call, Steps, an_object, given
from openviking_sdk.errors import InternalError
from openviking_sdk.files import Upload
from openviking_sdk.ignore import SendRules
from openviking_sdk.sources import packed


def uploaded(path: Path, rules: SendRules, mode: str | None) -> Steps[str]:
    """The id by which another call takes a file or folder; it is not kept for long.

    Raises what `packed` raises.
    """
    with (yield from packed(path, rules, given(upload_mode=mode))) as upload:
        temp_file_id: str = yield temp_upload(upload)
    return temp_file_id


def temp_upload(upload: Upload) -> Call[str]:
    """The call that sends a file and gives its id; done twice it leaves two, of which one is forgotten."""
    return Call(
        method="POST",
        path="/api/v1/resources/temp_upload",
        upload=upload,
        read=_temp_file_id,
        repeatable=True,
    )


def _temp_file_id(answer: Answer) -> str:
    temp_file_id = an_object(answer).get("temp_file_id")
    if not isinstance(temp_file_id, str):
        raise InternalError("The server took an upload and gave no temp_file_id for it")
    return temp_file_id
