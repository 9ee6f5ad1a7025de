"""What bodies of requests share."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A body that refuses unknown fields and never turns one type into another."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Lenient(BaseModel):
    """A body whose unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)


Telemetry = bool | dict[str, Any]
