"""The fields that a memory file carries behind its text, for the rooms above (`openviking.model.hidden_fields`)."""

from __future__ import annotations

from openviking.model.hidden_fields import FIELDS, visible

__all__ = ["FIELDS", "visible"]
