"""Fetches origins: pages, files and archives by HTTP, repositories by git; all within the same limits."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openviking.config.settings import FetchSettings
from openviking.errors import FailedPreconditionError, InvalidArgumentError
from openviking.ingest.delivery import Delivery
from openviking.ingest.fetch.addresses import Addresses, network_of
from openviking.ingest.fetch.failures import FetchFailedError, FetchTimeoutError, PassingError, RefusedAddressError
from openviking.ingest.fetch.origin import Origin
from openviking.ingest.fetch.resolver import Gate, Resolver, SystemResolver
from openviking.ingest.fetch.web_address import web_address

if TYPE_CHECKING:
    from openviking.ingest.fetch.client import Client
    from openviking.ingest.fetch.refs import Wanted

DIRECTORY: Final = "fetch"
"""Where in a data directory what is fetched in pieces lies meanwhile."""

AHEAD_S: Final = 5.0
"""How long a name may take to be looked up before an import is queued; afterwards its task goes on asking."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an origin has now: ``delivery`` is None if that is what ``validators`` said it had.

    ``validators`` are kept with the source and given to the next fetch.
    """

    delivery: Delivery | None
    stem: str
    validators: Mapping[str, str]
    warnings: tuple[str, ...] = ()


class Fetcher:
    """Fetches what it may; ``data`` is the data directory, ``resolver`` what asks the name service."""

    def __init__(self, settings: FetchSettings, data: Path, resolver: Resolver | None = None) -> None:
        self._settings = settings
        self._place = data / DIRECTORY
        addresses = Addresses.of(settings.allow_private, settings.allowed_hosts)
        names = frozenset(one for one in settings.allowed_hosts if network_of(one) is None)
        self._gate = Gate(addresses, names, resolver or SystemResolver())
        self._lock = threading.Lock()
        self._client: Client | None = None

    def check(self, origin: Origin) -> None:
        """What can be said without any network.

        Raises `FailedPreconditionError` if nothing is to be fetched at all, `PermissionDeniedError` for an address that
        spells a place that may not be asked.
        """
        if not self._settings.enabled:
            raise FailedPreconditionError("Fetching is turned off here (fetch.enabled)", field="path")
        self._gate.check_spelling(origin.address)

    def look(self, origin: Origin, cancelled: Callable[[], bool]) -> Wanted:
        """Which state of a repository is meant; raises `InvalidArgumentError` for one that is not there."""
        from openviking.ingest.fetch.refs import wanted  # noqa: PLC0415

        try:
            return wanted(self._http(), origin, cancelled)
        except FetchTimeoutError:
            raise
        except FetchFailedError as error:
            raise InvalidArgumentError(error.message, **error.details) from error

    def reach(self, origin: Origin, cancelled: Callable[[], bool]) -> None:
        """See that the host of an origin exists and may be asked; nothing is fetched.

        A name service that is slow or down proves nothing, and is no error here. Raises `InvalidArgumentError` for a
        host that does not exist, `RefusedAddressError`, `FetchCancelled`.
        """
        where = origin.address
        try:
            self._gate.open(where.host, where.port, time.monotonic() + AHEAD_S, cancelled)
        except PassingError:
            return
        except RefusedAddressError:
            raise
        except FetchFailedError as error:
            raise InvalidArgumentError(error.message, field="path", **error.details) from error

    @contextlib.contextmanager
    def fetched(
        self,
        origin: Origin,
        validators: Mapping[str, Any],
        cancelled: Callable[[], bool],
        progress: Callable[[int], None],
    ) -> Iterator[Fetched]:
        """What an origin has, while the context lasts; ``validators`` are those of the state that is there already.

        Raises `FetchFailedError`, `FetchTimeoutError`, `RefusedAddressError`, `FetchCancelled`, and what `check` and
        `look` raise.
        """
        self.check(origin)
        if origin.kind == "repository":
            with self._repository(origin, validators, cancelled, progress) as result:
                yield result
        else:
            with self._page(origin, validators, cancelled, progress) as result:
                yield result

    @contextlib.contextmanager
    def _page(
        self,
        origin: Origin,
        validators: Mapping[str, Any],
        cancelled: Callable[[], bool],
        progress: Callable[[int], None],
    ) -> Iterator[Fetched]:
        from openviking.ingest.archive import ZipDelivery  # noqa: PLC0415
        from openviking.ingest.fetch.client import validators_of  # noqa: PLC0415
        from openviking.ingest.fetch.documents import DocumentsDelivery, documents_of, is_zip  # noqa: PLC0415
        from openviking.ingest.fetch.naming import file_name  # noqa: PLC0415
        from openviking.ingest.fetch.workspace import Workspace  # noqa: PLC0415

        answer = self._http().get(
            origin.address, headers={}, cancelled=cancelled, progress=progress, validators=validators
        )
        if answer.status == 304:
            yield Fetched(None, origin.stem, dict(validators))
            return
        kept = validators_of(answer)
        name = file_name(answer.where, answer.headers, answer.body)
        if not is_zip(answer, name):
            documents = documents_of(answer)
            yield Fetched(DocumentsDelivery(documents), origin.stem, kept, documents.warnings)
            return
        with Workspace(self._place) as space:
            archive = space.path / "archive"
            archive.write_bytes(answer.body)
            delivery = ZipDelivery(archive, origin.stem, name=name)
            try:
                yield Fetched(delivery, origin.stem, kept)
            finally:
                delivery.close()

    @contextlib.contextmanager
    def _repository(
        self,
        origin: Origin,
        validators: Mapping[str, Any],
        cancelled: Callable[[], bool],
        progress: Callable[[int], None],
    ) -> Iterator[Fetched]:
        from openviking.ingest.fetch.repository import fetched  # noqa: PLC0415
        from openviking.ingest.fetch.workspace import Workspace  # noqa: PLC0415

        state = self.look(origin, cancelled)
        kept = {"commit": state.commit, "below": state.below}
        if validators.get("commit") == state.commit and validators.get("below") == state.below:
            yield Fetched(None, origin.stem, kept)
            return
        with Workspace(self._place) as space:
            delivery = fetched(state, space, self._gate, self._settings, cancelled, progress)
            try:
                yield Fetched(delivery, origin.stem, kept)
            finally:
                delivery.close()

    def body(self, text: str, max_bytes: int, cancelled: Callable[[], bool]) -> bytes:
        """What an http or https URL gives, of at most ``max_bytes``, as it came; for what is only looked at.

        Raises as `fetched` does, and `InvalidArgumentError` for what is no URL.
        """
        where = web_address(text)
        if not self._settings.enabled:
            raise FailedPreconditionError("Fetching is turned off here (fetch.enabled)", field="image_url")
        self._gate.check_spelling(where)
        most = min(max_bytes, self._settings.max_bytes)
        return self._http().get(where, headers={}, cancelled=cancelled, progress=_silent, max_bytes=most).body

    def _http(self) -> Client:
        # The HTTP library is loaded with the first fetch.
        from openviking.ingest.fetch.client import Client  # noqa: PLC0415

        with self._lock:
            if self._client is None:
                self._client = Client(self._settings, self._gate)
            return self._client


def _silent(_: int) -> None:
    """Nobody watches."""
