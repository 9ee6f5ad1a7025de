"""The memories that may already say what a part of a conversation does: found by its words, few and short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from openviking.model.memory import ALONE
from openviking.model.scope import Scope
from openviking.parse.telling import telling
from openviking.retrieve.find import FILE_LEVEL, FindRequest, find
from openviking.session.extraction.transcript import in_line
from openviking.session.memories.asking import Known, Line
from openviking.session.memories.changes import EVENTS, MAX_FILE_BYTES
from openviking.session.memories.fields import parted
from openviking.session.memories.places import memories_root, peer_of, type_of
from openviking.store.port import View

MAX_PEERS: Final = 8
"""Partners of a part of a conversation whose memories are looked at."""

MAX_NOTES: Final = 16
MAX_RECALLED: Final = 6
QUERY_CHARS: Final = 1_000


def related(
    view: View, user: str, part: Sequence[Line], types: Sequence[str], limit: int, recalled: Sequence[str] = ()
) -> list[Known]:
    """Up to ``limit`` memories of the user and of the partners in ``part`` that share words with it, best first.

    Before them the ones that are one file each and a few of the paths that were ``recalled``, which may be what is
    answered to; at most 16 together. Events are never among them: nothing changes those.
    """
    peers = ["", *dict.fromkeys(line.peer for line in part if line.peer)][: MAX_PEERS + 1]
    wanted = [one for one in types if one != EVENTS]
    single = [[f"{memories_root(user, peer)}/{one}.md" for one in wanted if one in ALONE] for peer in peers]
    told = [path for path in recalled if peer_of(path) in peers and type_of(path) in wanted]
    paths = [*single[0], *told[:MAX_RECALLED]]
    roots = tuple(f"{memories_root(user, peer)}/{one}" for peer in peers for one in wanted if one not in ALONE)
    # What people say of themselves tells better what a memory may be of than what an assistant answers.
    said = [line.text for line in part if line.is_persons] or [line.text for line in part]
    query = telling(in_line(" ".join(said)), QUERY_CHARS)
    if limit and roots and query:
        scope = Scope(roots=roots, context_types=("memory",), levels=(FILE_LEVEL,))
        found = find(view, FindRequest(query, scope, limit, dense_weight=0.0))
        paths += [hit.uri.partition("://")[2] for hit in found.hits]
    paths += [path for group in single[1:] for path in group]
    known: list[Known] = []
    for path in dict.fromkeys(paths):
        if len(known) == MAX_NOTES:
            break
        node = view.get(path)
        text = None if node is None or node.is_dir or node.size > MAX_FILE_BYTES else view.text(node)
        if node is None or text is None:
            continue
        body, fields = parted(text)
        topic = "" if fields is None else fields.topic
        known.append(Known(f"n{len(known) + 1}", path, node.hash, type_of(path), peer_of(path), topic, body))
    return known
