"""From wishes to operations: what a commit changes in the memories of its user, worked out against one state of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from openviking.index.tags import MEMORY_TYPE
from openviking.ingest.prepare import prepare
from openviking.model.memory import Draft, MemoryChange
from openviking.session.extraction.masking import masked
from openviking.session.memories.conversation import LOG
from openviking.session.memories.fields import MAX_SOURCES, Fields, harmless, joined, parted
from openviking.session.memories.merging import (
    Origin,
    Page,
    fresh,
    is_about,
    is_older,
    is_over_already,
    merged,
    repeated,
    rewritten,
    says,
)
from openviking.session.memories.places import is_memory, places, type_of
from openviking.session.memories.wording import spoken
from openviking.store.batch import Operation, PutFile, Remove, SetTags
from openviking.store.port import View
from openviking.uri import from_path, is_identifier

EVENTS: Final = "events"

MAX_FILE_BYTES: Final = 256 * 1024
"""What is larger is no memory to be joined with, whatever its name."""

Way = Literal["tell", "rewrite", "forget"]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be done about one memory: ``tell`` finds its place by itself and joins what is there.

    ``rewrite`` and ``forget`` mean the memory at ``path`` as it was with the SHA-256 ``base``. If it has another one by
    now, was said later, or has words of somebody's own, the one tells it beside what is there, and the other leaves it
    alone.
    """

    draft: Draft
    way: Way = "tell"
    path: str = ""
    base: bytes | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A change that is made, with what its memory noted before and was tagged with, so that it can be taken back.

    Of one whose texts were ``redacted`` nothing can be.
    """

    change: MemoryChange
    fields: Fields | None = None
    tags: tuple[str, ...] = ()
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """The operations of one transaction, and the steps that they take; ``left`` are the URIs that were left alone."""

    operations: tuple[Operation, ...] = ()
    steps: tuple[Step, ...] = ()
    left: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """Memories that were added or updated, by type."""
        told: dict[str, int] = {}
        for step in self.steps:
            if step.change.kind != "delete":
                told[step.change.type] = told.get(step.change.type, 0) + 1
        return dict(sorted(told.items()))


def changes_of(
    view: View, user: str, wishes: Sequence[Wish], origin: Origin, *, event_tags: tuple[str, ...] = (), below: str = ""
) -> Changes:
    """What ``wishes`` change in the memories of ``user`` as ``view`` shows them; nothing that is said there already.

    Every write tells the bytes that it was worked out from, so that an edit that comes between is a conflict and not
    lost. Secrets are masked. ``event_tags`` are for events, ``below`` is a directory that must still be there.
    """
    desk = _Desk(view, user, origin)
    for wish in wishes:
        desk.carry_out(_masked(wish))
    return desk.changes(event_tags, below)


@dataclass(slots=True)
class _Sheet:
    """A memory while wishes are carried out: what it was, and what it is to be (``page`` None: not there)."""

    path: str
    base: bytes | None
    was: Page | None
    page: Page | None
    taken: bool = False
    sources: list[str] = field(default_factory=list)


class _Desk:
    """The memories that wishes are about, each read once."""

    def __init__(self, view: View, user: str, origin: Origin) -> None:
        self._view = view
        self._user = user
        self._origin = origin
        self._sheets: dict[str, _Sheet] = {}
        self._files: dict[str, str | None] = {}
        self._left: list[str] = []

    def carry_out(self, wish: Wish) -> None:
        """Change the sheets as ``wish`` wants."""
        if wish.way == "tell":
            self._tell(wish.draft)
            return
        if not is_memory(self._user, wish.path):
            return
        sheet = self._sheet(wish.path)
        page = sheet.page
        # What somebody wrote or edited is nobody else's to rewrite, and what was said later is not undone.
        same = (
            page is not None
            and sheet.base == wish.base
            and not page.own
            and not is_older(page, wish.draft, self._origin)
        )
        if wish.way == "forget":
            if same:
                self._put(sheet, None, wish.draft)
            elif sheet.page is not None:
                self._left.append(str(from_path(sheet.path)))
        elif sheet.page is None or sheet.taken:
            self._tell(wish.draft)
        elif same:
            # It has seen what the memory says: what it quotes tells nothing of whether that is said anew.
            if spoken(sheet.page.body) != spoken(wish.draft.body):
                self._put(sheet, rewritten(sheet.page, wish.draft, self._origin), wish.draft)
        elif not self._joined(sheet, sheet.page, wish.draft):
            self._tell(wish.draft)

    def changes(self, event_tags: tuple[str, ...], below: str) -> Changes:
        """The operations and steps of all that was carried out."""
        operations: list[Operation] = []
        steps: list[Step] = []
        for sheet in self._sheets.values():
            if sheet.page == sheet.was:
                continue
            step = self._step(sheet)
            steps += [] if step is None else [step]
            if sheet.page is None:
                operations.append(Remove(sheet.path, base=sheet.base))
                continue
            name = sheet.path.rpartition("/")[2]
            content = prepare(name, joined(sheet.page.body, sheet.page.fields).encode("utf-8", "replace"))
            mode: Literal["create", "replace"] = "create" if sheet.base is None else "replace"
            operations.append(PutFile(sheet.path, content, mode, base=sheet.base, below=below))
            if step is not None:
                tags = (f"{MEMORY_TYPE}={step.change.type}", *(event_tags if step.change.type == EVENTS else ()))
                operations.append(SetTags(sheet.path, tags, "append"))
        return Changes(tuple(operations), tuple(steps), tuple(dict.fromkeys(self._left)))

    def _step(self, sheet: _Sheet) -> Step | None:
        before = None if sheet.was is None else sheet.was.body
        after = None if sheet.page is None else sheet.page.body
        if before == after:
            return None
        sources = tuple(dict.fromkeys(sheet.sources))[-MAX_SOURCES:]
        told = sheet.page or sheet.was
        kind = type_of(sheet.path) or (told.fields.memory_type if told and told.fields else "")
        uri = str(from_path(sheet.path))
        if after is None:
            node = self._view.get(sheet.path)
            tags = () if node is None else self._view.tags([node.id]).get(node.id, ())
            change = MemoryChange("delete", kind, uri, sources, before)
            return Step(change, sheet.was.fields if sheet.was else None, tags)
        change = MemoryChange("add" if before is None else "update", kind, uri, sources, before, after)
        return Step(change, sheet.was.fields if sheet.was else None)

    def _tell(self, draft: Draft) -> None:
        """Join ``draft`` with the first memory of its name that is of its topic, or give it a place of its own."""
        if draft.peer and not is_identifier(draft.peer):
            return
        if (file := self._in_the_way(next(places(self._user, draft)))) is not None:
            self._left.append(str(from_path(file)))
            return
        for path in places(self._user, draft):
            sheet = self._sheet(path)
            if sheet.taken:
                continue
            if sheet.page is None:
                self._put(sheet, fresh(draft, self._origin), draft)
                return
            if draft.type == EVENTS:
                # Events are never changed: that of these words is there, or the name is another's.
                if sheet.page.body.partition(LOG)[2] == harmless(draft.body).partition(LOG)[2]:
                    return
                continue
            if is_about(sheet.page, draft) and is_over_already(sheet.page, draft):
                return
            if (says(sheet.page, draft) or is_about(sheet.page, draft)) and self._joined(sheet, sheet.page, draft):
                return
        self._left.append(str(from_path(path)))

    def _joined(self, sheet: _Sheet, page: Page, draft: Draft) -> bool:
        """Join ``draft`` with what ``page`` says; False if there is no room."""
        if says(page, draft):
            sheet.page = repeated(page, draft, self._origin)
            return True
        joint = merged(page, draft, self._origin)
        if joint is not None:
            self._put(sheet, joint, draft)
        return joint is not None

    def _in_the_way(self, path: str) -> str | None:
        """The file that lies where a directory above ``path`` is to be."""
        above = path.rpartition("/")[0]
        if not above:
            return None
        if above not in self._files:
            node = self._view.get(above)
            self._files[above] = self._in_the_way(above) if node is None else None if node.is_dir else above
        return self._files[above]

    def _put(self, sheet: _Sheet, page: Page | None, draft: Draft) -> None:
        sheet.page = page
        sheet.sources += draft.sources

    def _sheet(self, path: str) -> _Sheet:
        if path in self._sheets:
            return self._sheets[path]
        node = self._view.get(path)
        if node is None:
            sheet = _Sheet(path, None, None, None)
        elif node.is_dir or node.size > MAX_FILE_BYTES or (text := self._view.text(node)) is None:
            sheet = _Sheet(path, node.hash, None, None, taken=True)
        else:
            page = Page(*parted(text))
            sheet = _Sheet(path, node.hash, page, page)
        self._sheets[path] = sheet
        return sheet


def _masked(wish: Wish) -> Wish:
    draft = wish.draft
    return replace(
        wish,
        draft=replace(
            draft, name=masked(draft.name)[0], body=masked(draft.body)[0], category=masked(draft.category)[0],
            topic=masked(draft.topic)[0], quote=masked(draft.quote)[0],
        ),
    )  # fmt: skip
