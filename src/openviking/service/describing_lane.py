"""Pictures are described behind the writes: by threads of its own for all open stores, or by whoever waits."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from openviking.errors import DeadlineExceededError, FailedPreconditionError, OpenVikingError, UnavailableError
from openviking.ingest.describing import NoDescription
from openviking.ingest.picture_vectors import TOO_LARGE, data_uri
from openviking.ingest.prepare import prepare
from openviking.parse.pictures import MAX_BYTES
from openviking.service.describing import Describing, Refusal
from openviking.service.outages import Outages
from openviking.store.batch import PutFile
from openviking.store.pictures import ClaimedPicture
from openviking.store.port import AccountStore
from openviking.text import counted, seconds_told

THREADS: Final = 2
LEASE_S: Final = 5.0
"""A picture is another's so long after the time that its holder's calls may take."""

COPIES: Final = 32
"""Files with the same picture that get its description in one transaction."""

END_S: Final = 0.8
"""So long closing lets calls come to an end by themselves."""

PICTURES: Final = "pictures"
_FIRST_LOOK_S: Final = 0.02
_LAST_LOOK_S: Final = 0.5

_log = logging.getLogger(__name__)


class DescribingLane:
    """Claims pictures that nobody has described and has the model look at them, each content once.

    ``written`` is called when a description was stored, so that the work that follows is done. With ``running`` False
    there are no threads, and whoever waits does it.
    """

    def __init__(
        self,
        stores: Callable[[], list[AccountStore]],
        describing: Describing,
        *,
        running: bool,
        interval: float,
        written: Callable[[], None],
    ) -> None:
        self._stores = stores
        self.describing = describing
        self._interval = interval
        self._written = written
        self._changed = threading.Condition()
        self._events = 0
        self._stopped = False
        self._outages = Outages()
        self._threads: list[threading.Thread] = []
        if running and describing.enabled:
            self._threads = [
                threading.Thread(target=self._run, name=f"openviking-pictures-{number}", daemon=True)
                for number in range(THREADS)
            ]
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Look for work now rather than at the next interval."""
        with self._changed:
            self._events += 1
            self._changed.notify_all()

    def stop(self) -> None:
        """End the threads and the calls under way; what is not described by then is left for later."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        end = time.monotonic() + END_S
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0.0))
        self.describing.close()
        for thread in self._threads:
            thread.join()

    def waiting(self, store: AccountStore, below: str = "") -> int:
        """How many pictures of a store are still to be described; none without a model."""
        return store.pictures.waiting(below) if self.describing.enabled else 0

    def status(self, store: AccountStore) -> dict[str, Any]:
        """The model, whether it answers, how many pictures wait for it and how many have no description for good."""
        told = {"waiting": store.pictures.waiting(), "refused": store.pictures.refused()}
        try:
            described = self.describing.describe()
        except OpenVikingError as error:
            described = {"error": error.message}
        state = "failing" if "error" in described else "working" if told["waiting"] else "ready"
        return {"model": described.get("model"), "state": state, "error": described.get("error"), **told}

    def until_described(self, store: AccountStore, limit: float | None, deadline: float | None, below: str) -> int:
        """Await, or do, what can be described at and below ``below``; how many pictures that were.

        A model that does not answer is not waited for, nor is a picture that is tried again later. Raises
        `DeadlineExceededError` that says how many are missing, `FailedPreconditionError` if the lane is stopped.
        """
        if not self.describing.enabled or self._away():
            return 0
        look, most, last = _FIRST_LOOK_S, 0, -1
        while left := store.pictures.ready(below):
            seen, most = self._events, max(most, left)
            if self._stopped:
                raise FailedPreconditionError(
                    "Closed before the queued work was done; nothing is lost", missing={PICTURES: left}
                )
            if self._away():
                return most - left
            rest = None if deadline is None else deadline - time.monotonic()
            if rest is not None and rest <= 0:
                raise DeadlineExceededError(
                    f"Still to be done after {seconds_told(limit or 0.0)}: {counted(left, PICTURES)} to be described",
                    operation="wait",
                    timeout=limit or 0.0,
                    missing={PICTURES: left},
                )
            if not self._threads and self._one(store, below, rest):
                continue
            look = _FIRST_LOOK_S if left != last else min(2 * look, _LAST_LOOK_S)
            last = left
            self._pause(seen, look if rest is None else min(look, rest))
        return most

    def _away(self) -> bool:
        return self.describing.calls.outage is not None

    def _pause(self, seen: int, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._events != seen, seconds)

    def _run(self) -> None:
        while not self._stopped:
            seen, worked = self._events, False
            for store in self._stores():
                # One of each: a long backlog keeps no other account waiting.
                worked |= self._tried(store)
            if not worked:
                self._pause(seen, max(self._interval, self.describing.calls.left()))

    def _tried(self, store: AccountStore) -> bool:
        if self._stopped or not self._outages.over(store):
            return False
        try:
            return self._one(store)
        except Exception as error:  # noqa: BLE001
            # The edge of the thread: a fault must not end the work for all.
            told = error.message if isinstance(error, OpenVikingError) else repr(error)
            if self._outages.note(store, told) and not self._stopped:
                _log.warning("pictures can't be described: %s", told, exc_info=not isinstance(error, OpenVikingError))
            return False

    def _one(self, store: AccountStore, below: str = "", seconds: float | None = None) -> bool:
        """Have the next picture described; False if there is none, or the model is left alone."""
        if self.describing.calls.left() > 0:
            return False
        allowed = self.describing.timeout if seconds is None else min(seconds, self.describing.timeout)
        claimed = store.pictures.claim(int((self.describing.longest + LEASE_S) * 1000), below=below)
        if claimed is None:
            return False
        try:
            return self._settled(store, claimed, max(allowed, 0.001))
        except BaseException:
            with contextlib.suppress(OpenVikingError):
                store.pictures.give_back(claimed)
            raise
        finally:
            self.wake()

    def _settled(self, store: AccountStore, claimed: ClaimedPicture, seconds: float) -> bool:
        """Describe a claimed picture, or note why not; False if the model does not answer."""
        pictures, node = store.pictures, claimed.node
        if node.size > MAX_BYTES:
            pictures.give_back(claimed, failed=TOO_LARGE, refused=True)
            return True
        try:
            with store.read() as view:
                data = view.data(node)
        except UnavailableError as error:
            pictures.give_back(claimed, failed=error.message)
            return True
        said = claimed.known
        if said is None:
            shown = data_uri(data)
            try:
                said = None if shown is None else self.describing.described(shown, seconds)
            except NoDescription as error:
                pictures.give_back(claimed, failed=str(error))
                return True
            except Refusal as error:
                pictures.give_back(claimed, failed=str(error), refused=True)
                return True
            except OpenVikingError:
                pictures.give_back(claimed)
                return False
            if said is None:
                pictures.give_back(claimed)
                return False
            if not pictures.describe(claimed, said, self.describing.model):
                return True
        else:
            pictures.give_back(claimed)
        self._put(store, node.hash or b"", data, said)
        return True

    def _put(self, store: AccountStore, digest: bytes, data: bytes, description: str) -> None:
        """Give the description to all files with the picture; one that is changed meanwhile is not touched."""
        while nodes := store.pictures.bare(digest, COPIES):
            puts = [
                PutFile(
                    node.path, prepare(node.name, data, digest, description=description), mode="replace", base=digest
                )
                for node in nodes
            ]
            outcomes = store.apply(puts, tolerant=True).outcomes
            if all(outcome.error is not None for outcome in outcomes):
                break
        self._written()
