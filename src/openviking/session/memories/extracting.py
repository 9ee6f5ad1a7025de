"""Memories of a session that goes on: what its live messages teach, without an archive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from openviking.clock import iso, now_ms
from openviking.errors import AlreadyExistsError, ConflictError
from openviking.model.memory import MemoryChange
from openviking.session.memories.changes import changes_of
from openviking.session.memories.learning import Learner, Talk
from openviking.session.memories.merging import Origin
from openviking.session.memories.policy import Policy
from openviking.store.port import AccountStore

ATTEMPTS: Final = 20
"""Times that the changes are worked out anew because others wrote the same memories."""


def extracted(
    store: AccountStore, talk: Talk, learner: Learner, policy: Policy, stopped: Callable[[], bool]
) -> list[MemoryChange]:
    """Make memories of ``talk``, all but its event, which is made when it is archived; what was changed.

    A model that does not answer is asked once. What only messages say that are not live any more is left: they were
    redacted, or a commit learns from them. Raises `NotFoundError` if the session is removed meanwhile,
    `ConflictError` if others change the same memories all the time.
    """
    learned = learner.learned(store, talk, policy, stopped)
    for _ in range(ATTEMPTS):
        with store.read() as view:
            live = {one.message.id for one in store.sessions.live(talk.session.path)}
            changes = changes_of(
                view,
                talk.user,
                [wish for wish in learned.wishes if live.issuperset(wish.draft.sources)],
                Origin(str(talk.session), iso(now_ms()), talk.sent),
                below=talk.session.path,
            )
        if not changes.operations:
            return []
        try:
            store.apply(changes.operations)
        except (ConflictError, AlreadyExistsError):
            continue
        return [step.change for step in changes.steps]
    raise ConflictError(
        f"The memories of {talk.session} are changed by others all the time", resource=str(talk.session)
    )
