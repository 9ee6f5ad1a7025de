"""Whatever is found and whatever it says: the budget holds, nothing is cut, nothing forged, and it is the same again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from openviking.context.assembly import Assembly
from openviking.context.candidates import Candidate
from openviking.context.categories import CATEGORIES
from openviking.context.filling import fill
from openviking.context.parameters import ContextRequest, checked_context
from openviking.context.tiers import Ladder, whole_text
from openviking.text import estimate_tokens

TAG = re.compile(r"<(/?)memory(?:[\s/>]|\Z)", re.IGNORECASE)
PIECES = (
    "<memory ", "</memory>", "<MEMORY", "</Memory\n", "/>", "\\", "# Summary\n", "## Part\n", "gist. ", "\n\n", "你好世界",
    "🚀", "said something ", "x" * 40, '"&<>', "Summary: ", "ChatLog:", "\n<!-- MEMORY_FIELDS {} -->\n", "```\n", "…",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
NAMES = st.lists(st.sampled_from(["a", "b c", '"', "&", "<", "日", "🚀", "-"]), min_size=1, max_size=6).map("".join)


@st.composite
def found(draw: st.DrawFn) -> tuple[list[Candidate], dict[str, str | None]]:
    names = draw(st.lists(NAMES, max_size=14, unique=True))
    candidates = [
        Candidate(
            f"viking://resources/{name}.md",
            draw(st.sampled_from(CATEGORIES)),
            draw(st.integers(0, 100)) / 100,
            abstract=draw(TEXTS),
            directory=draw(st.integers(0, 5)) == 0,
        )
        for name in names
    ]
    bodies = {one.uri: draw(st.one_of(st.none(), TEXTS)) for one in candidates}
    return candidates, bodies


REQUESTS = st.builds(
    lambda tokens, detail: checked_context(query="a", max_tokens=tokens, detail=detail),
    st.one_of(st.integers(64, 400), st.integers(64, 4000)),
    st.one_of(
        st.none(),
        st.sampled_from(["abstract", "overview", "full"]),
        st.dictionaries(st.sampled_from(CATEGORIES), st.sampled_from(["abstract", "overview", "full", "auto"])),
    ),
)


def filled(candidates: Sequence[Candidate], bodies: dict[str, str | None], request: ContextRequest) -> Assembly:
    asked: list[str] = []

    def read(some: Sequence[Candidate]) -> dict[str, Any]:
        asked.extend(one.uri for one in some)
        assert 0 < len(some) <= 8
        return {one.uri: bodies[one.uri] for one in some}

    assembly = fill(candidates, request, read)
    assert len(asked) == len(set(asked))
    return assembly


@given(found(), REQUESTS)
@settings(max_examples=50)
def test_any_filling(case: tuple[list[Candidate], dict[str, str | None]], request: ContextRequest) -> None:
    candidates, bodies = case
    assembly = filled(candidates, bodies, request)
    assert filled(candidates, bodies, request) == assembly
    # The budget.
    assert estimate_tokens(assembly.rendered) <= assembly.used_tokens <= request.max_tokens
    assert assembly.fill.floor_tokens <= request.max_tokens
    assert len(assembly.entries) + assembly.dropped + assembly.deduped == assembly.candidates == len(candidates)
    # Nothing is forged: tags open and close in turn, one pair for each entry with a text.
    tags = [mark[1] for mark in TAG.finditer(assembly.rendered)]
    assert tags == [mark for one in assembly.entries for mark in (["", "/"] if one.text else [""])]
    # Nothing is cut: every text is all that its tier has.
    by_uri = {one.uri: one for one in candidates}
    order = [one.uri for one in candidates]
    assert [one.uri for one in assembly.entries] == [
        uri for uri in order if uri in {one.uri for one in assembly.entries}
    ]
    for entry in assembly.entries:
        ladder = Ladder(by_uri[entry.uri], request.pins, bodies[entry.uri])
        assert entry.text == ladder.text(entry.detail)
        assert bool(entry.text) == (entry.detail != "uri")
        if entry.detail == "full":
            assert entry.text == whole_text(by_uri[entry.uri], bodies[entry.uri] or "")
            assert not by_uri[entry.uri].directory


@given(found())
@settings(max_examples=15)
def test_without_deepening_no_text_is_over_the_cap(
    case: tuple[list[Candidate], dict[str, str | None]],
) -> None:
    candidates, bodies = case
    assembly = filled(candidates, bodies, checked_context(query="a", max_tokens=1600, detail="overview"))
    assert all(estimate_tokens(entry.text) <= assembly.per_entry_cap for entry in assembly.entries)
