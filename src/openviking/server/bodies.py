"""What bodies of requests share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from openviking.errors import UnimplementedError


class Strict(BaseModel):
    """A body that refuses unknown fields and never turns one type into another."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Lenient(BaseModel):
    """A body whose unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class TelemetryOptions(Strict):
    """Which parts of the telemetry an answer shall have."""

    summary: bool = True


Telemetry = bool | TelemetryOptions
"""Whether an answer shall say how long it took (contract/core.md §1.3)."""


def refuse_acl(acl: object) -> None:
    """Raises `UnimplementedError` for an access list: one that was ignored would leave open what was to be closed."""
    if acl is not None:
        raise UnimplementedError("Access lists are not part of this version", field="acl")
