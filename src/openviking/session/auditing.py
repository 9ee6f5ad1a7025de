"""Whether the archives of a session hold what was archived."""

from __future__ import annotations

from openviking.errors import NotFoundError, OpenVikingError
from openviking.session.archives import archived_messages
from openviking.store.audit import Damage
from openviking.store.port import AccountStore
from openviking.uri import from_path


def archive_faults(store: AccountStore, path: str) -> list[Damage]:
    """What is wrong with the archives of the session at ``path``; one that is marked as failed is known to be."""
    found = []
    with store.read():
        for archive in store.sessions.archives(path):
            if archive.state == "failed":
                continue
            fault = ""
            try:
                messages = archived_messages(store, from_path(path), archive.number)
            except NotFoundError:
                fault = f"the messages of archive {archive.number} are gone"
            except (OpenVikingError, ValueError, KeyError, TypeError):
                fault = f"the messages of archive {archive.number} can't be read"
            else:
                if len(messages) != archive.messages:
                    fault = f"archive {archive.number} has {len(messages)} of {archive.messages} messages"
            if fault:
                found.append(Damage("archive", fault, path, key=(path, archive.number)))
    return found
