"""Which memories a commit makes, by whose policy (contract/core.md §3.6)."""

from __future__ import annotations

from typing import Any

import pytest

from openviking.config.settings import MemorySettings
from openviking.errors import InvalidArgumentError
from openviking.model.memory import Draft
from openviking.model.session import MEMORY_TYPES, memory_policy
from openviking.service.extraction import Extraction
from openviking.session.memories.policy import Policy, effective

ALL = MEMORY_TYPES


@pytest.mark.parametrize(
    ("session", "user", "server", "policy"),
    [
        (None, None, None, Policy(ALL, own=True, peer=True, working_memory=True)),
        ({}, {}, {}, Policy(ALL)),
        ({"memory_types": ["events"]}, None, {"memory_types": ["profile"]}, Policy(("events",))),
        (None, None, {"memory_types": ["profile"]}, Policy(("profile",))),
        (None, {"memory_types": ["entities"]}, {"memory_types": ["profile"]}, Policy(("entities",))),
        # Each part is decided by the strongest that says something of it.
        ({"self": {"enabled": False}}, {"peer": {"enabled": False}}, {"memory_types": ["events"]},
         Policy(("events",), own=False, peer=False)),
        ({"self": {"enabled": True}}, {"self": {"enabled": False}}, None, Policy(ALL)),
        ({"self": {}}, {"self": {"enabled": False}}, None, Policy(ALL, own=False)),
        (None, None, {"working_memory": {"enabled": False}}, Policy(ALL, working_memory=False)),
        ({"memory_types": []}, None, None, Policy(())),
        ({"memory_types": ["experiences"]}, None, None, Policy(("experiences", "cases", "trajectories"))),
        ({"memory_types": ["tools", "skills"]}, None, None, Policy(("tools", "skills"))),
    ],
)  # fmt: skip
def test_the_strongest_policy_that_says_something_counts(session: Any, user: Any, server: Any, policy: Policy) -> None:
    assert effective([memory_policy(one) for one in (session, user, server)]) == policy


@pytest.mark.parametrize(
    ("policy", "peer", "allowed"),
    [
        (Policy(), "", True),
        (Policy(), "ann", True),
        (Policy(own=False), "", False),
        (Policy(own=False), "ann", True),
        (Policy(peer=False), "ann", False),
        (Policy(("events",)), "", False),
    ],
)
def test_what_is_allowed(policy: Policy, peer: str, allowed: bool) -> None:
    assert policy.allows(Draft("preferences", "tea", "Tea.", (), peer=peer)) is allowed


def test_a_policy_without_types_or_without_anybody_wants_nothing() -> None:
    assert not Policy(()).wants_any
    assert not Policy(own=False, peer=False).wants_any
    assert Policy(("events",), own=False).wants_any


def test_the_servers_policy_is_the_default_and_checked() -> None:
    extraction = Extraction(MemorySettings(policy={"memory_types": ["events"], "peer": {"enabled": False}}))
    assert extraction.policy(None) == Policy(("events",), peer=False)
    assert extraction.policy({"peer": {"enabled": True}}) == Policy(("events",))
    with pytest.raises(InvalidArgumentError, match=r"server\.user_config_defaults\.memory_policy.*'gossip'"):
        Extraction(MemorySettings(policy={"memory_types": ["gossip"]}))
