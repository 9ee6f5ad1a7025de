"""The door of a server: the names of the embedded door, carried out by the SDK, with results of the same shapes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openviking.cli.answers import found, glob_matches, grep_matches
from openviking.errors import InvalidURIError
from openviking.model.listing import Listing
from openviking.uri import SCHEME
from openviking_sdk.calls import admin, content, fs, observer, system, tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openviking.cli.options import Invocation
    from openviking_sdk.call import Call
    from openviking_sdk.sync_client import SyncHTTPClient

_ID_CHARS = frozenset("0123456789abcdefABCDEF")


class Remote:
    """A server as the commands see it; what is not here is a method of the SDK's client."""

    is_remote = True

    def __init__(self, client: SyncHTTPClient, invocation: Invocation) -> None:
        self.client = client
        self._invocation = invocation

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def result(self, call: Call[Any]) -> Any:
        """What the server gives for a call, as it stands."""
        return self.client.send(replace(call, read=lambda answer: answer.result, absent=None))

    # Finding

    def find(self, query: str, target_uri: str | Sequence[str] = "", **options: Any) -> Any:
        """`OpenViking.find`."""
        return found(self.client.find(query, _typed(target_uri), **options))

    def search(self, query: str, target_uri: str | Sequence[str] = "", **options: Any) -> Any:
        """The hits of a search."""
        return found(self.client.search(query, target_uri=_typed(target_uri), **options))

    def search_context(self, query: str, *, exclude_uris: Sequence[str] | None = None, **options: Any) -> Any:
        """A block of context for a prompt."""
        excluded = None if exclude_uris is None else _typed(exclude_uris)
        return self.client.search_context(query, exclude_uris=excluded, **options)

    def grep(self, uri: str, pattern: str, *, exclude_uri: str | None = None, **options: Any) -> Any:
        """`OpenViking.grep`."""
        exclude = None if exclude_uri is None else _typed(exclude_uri)
        return grep_matches(self.client.grep(_typed(uri), pattern, exclude_uri=exclude, **options))

    def glob(self, pattern: str, uri: str = SCHEME, **options: Any) -> Any:
        """`OpenViking.glob`."""
        return glob_matches(self.client.glob(pattern, _typed(uri), **options))

    # Directories

    def ls(self, uri: str = SCHEME, **options: Any) -> Listing:
        """`OpenViking.ls`."""
        return self._listing(fs.ls(_typed(uri), **options))

    def tree(self, uri: str, **options: Any) -> Listing:
        """`OpenViking.tree`."""
        return self._listing(fs.tree(_typed(uri), **options))

    def _listing(self, call: Call[Any]) -> Listing:
        envelope = self.client.send(replace(call, read=lambda answer: answer.envelope))
        return Listing(envelope["result"], total=envelope.get("total"), has_more=bool(envelope.get("has_more")))

    def stat(self, uri: str) -> Any:
        """`OpenViking.stat`."""
        return self.client.stat(_typed(uri))

    def attrs(self, uri: str) -> Any:
        """`OpenViking.attrs`."""
        return self.client.attrs(_typed(uri))

    def set_tags(self, uri: str, tags: Sequence[str], **options: Any) -> Any:
        """`OpenViking.set_tags`."""
        return self.client.set_tags(_typed(uri), tags, **options)

    def mkdir(self, uri: str, description: str | None = None) -> Any:
        """`OpenViking.mkdir`."""
        return self.result(fs.mkdir(_typed(uri), description))

    def rm(self, uri: str, recursive: bool = False, **options: Any) -> Any:
        """`OpenViking.rm`."""
        return self.result(fs.rm(_typed(uri), recursive, **options))

    def mv(self, from_uri: str, to_uri: str) -> Any:
        """`OpenViking.mv`."""
        return self.result(fs.mv(_typed(from_uri), _typed(to_uri)))

    def cp(self, from_uri: str, to_uri: str, **options: Any) -> Any:
        """Where the copy is."""
        return self.result(fs.cp(_typed(from_uri), _typed(to_uri), **options))

    # Content

    def read(self, uri: str, offset: int = 0, limit: int = -1, raw: bool = False) -> str:
        """`OpenViking.read`."""
        return self.client.read(_typed(uri), offset, limit, raw=raw)

    def abstract(self, uri: str) -> str:
        """`OpenViking.abstract`."""
        return self.client.abstract(_typed(uri))

    def overview(self, uri: str) -> str:
        """`OpenViking.overview`."""
        return self.client.overview(_typed(uri))

    def download(self, uri: str) -> bytes:
        """`OpenViking.download`."""
        return self.client.download_bytes(_typed(uri))

    def save(self, uri: str, target: Path) -> int:
        """Write the bytes of a file to a place of this machine, whatever their number; how many they are."""
        self.client.download(_typed(uri), target)
        return target.stat().st_size

    def write(self, uri: str, text: str, mode: str, **options: Any) -> Any:
        """`OpenViking.write`."""
        return self.result(content.write(_typed(uri), text, mode, **options))  # type: ignore[arg-type]

    def reindex(self, uri: str, **options: Any) -> Any:
        """What was, or would be, indexed anew."""
        return self.client.reindex(_typed(uri), **options)

    # Links

    def relations(self, uri: str) -> Any:
        """`OpenViking.relations`."""
        return self.client.relations(_typed(uri))

    def link(self, from_uri: str, uris: Sequence[str], reason: str = "") -> Any:
        """`OpenViking.link`."""
        return self.client.link(_typed(from_uri), _typed(uris), reason)

    def unlink(self, from_uri: str, uri: str) -> Any:
        """`OpenViking.unlink`."""
        return self.client.unlink(_typed(from_uri), _typed(uri))

    # State

    def wait_processed(self, timeout: float | None = None, **_: Any) -> Any:
        """The queues, when what was waiting is done."""
        return self.client.wait_processed(timeout)

    def status(self) -> Any:
        """The server's parts."""
        return self.result(observer.get_status())

    def health(self) -> Any:
        """What the server says of its health."""
        return self.client.health_info()

    def check_consistency(self, uri: str) -> Any:
        """Whether files and index agree below ``uri``."""
        return self.result(system.check_consistency(_typed(uri)))

    def get_task(self, task_id: str) -> Any:
        """A task. Raises the server's NOT_FOUND."""
        return self.result(tasks.get_task(task_id))

    def admin_list_users(self, account_id: str, limit: int, name: str | None, role: Any) -> Listing:
        """The users of an account."""
        return self._listing(admin.admin_list_users(account_id, limit, name, role))


def _typed(uri: Any) -> Any:
    """An address as it was typed: this command line completes none, as the SDK does. Raises `InvalidURIError`."""
    for one in [uri] if isinstance(uri, str) else uri:
        if one and not one.startswith(SCHEME) and not (len(one) == 32 and _ID_CHARS.issuperset(one)):
            raise InvalidURIError(one, f"it must start with {SCHEME}")
    return uri
