"""Reading on from a hit: abstract, overview and text by every form of address that an answer can carry (§7)."""

from __future__ import annotations

import pytest
from tests.contract.conftest import Door

DOCS = "viking://resources/docs"
AUTH = f"{DOCS}/auth"
OAUTH = f"{AUTH}/oauth.md"
TEXT = "# OAuth\n\nThe oauth login flow issues a token.\n\n## Refresh\n\nA refresh token lasts long.\n"

READ: dict[str, tuple[str, int, str]] = {
    "a file": (OAUTH, 200, TEXT),
    "lines of it": (f"{OAUTH}#L5-L7", 200, "## Refresh\n\nA refresh token lasts long.\n"),
    "one line": (f"{OAUTH}#L1", 200, "# OAuth\n"),
    "lines behind its end": (f"{OAUTH}#L7-L99", 200, "A refresh token lasts long.\n"),
    "a directory": (AUTH, 400, "is a directory"),
    "what is not there": (f"{AUTH}/none.md", 404, "none.md"),
    "lines of nothing": (f"{AUTH}/none.md#L1-L2", 404, "none.md"),
    "a fragment that is none": (f"{OAUTH}#top", 400, "#L3-L9"),
    "an id of nothing": ("f" * 32, 404, "f" * 32),
}


@pytest.mark.parametrize(("uri", "status", "told"), READ.values(), ids=READ)
def test_what_read_gives(door: Door, uri: str, status: int, told: str) -> None:
    answer = door.read(uri)
    assert answer.status == status
    assert (answer.result == told) if status == 200 else (told in answer.message)


def test_every_form_leads_on(door: Door) -> None:
    """A file, lines of it, both sidecars, the directory, and the ids of file and directory."""
    ids = {one["uri"]: one["id"] for one in door.glob("**", DOCS, extra_fields=["id"]).result["matches"]}
    forms = (
        OAUTH,
        f"{OAUTH}#L1-L3",
        f"{AUTH}/.abstract.md",
        f"{AUTH}/.overview.md",
        AUTH,
        f"{AUTH}/",
        ids[OAUTH],
        ids[AUTH],
    )
    abstract, overview = door.read(AUTH, "abstract").result, door.read(AUTH, "overview").result
    assert "OAuth" in overview
    for uri in forms:
        assert door.read(uri, "abstract").result == abstract, uri
        assert door.read(uri, "overview").result == overview, uri
    for name, text in (("abstract", abstract), ("overview", overview)):
        stored = door.read(f"{AUTH}/.{name}.md").result
        assert stored.startswith("---\n")
        assert stored.endswith(f"{text}\n")
        assert door.read(f"{AUTH}/.{name}.md#L1").result == "---\n"
    assert door.read(ids[OAUTH]).result == TEXT


def test_hits_lead_to_what_they_show(door: Door) -> None:
    for hit in [*door.find("oauth token", limit=20).hits, *door.find(tags=["env=prod"]).hits]:
        if hit["level"] == 2:
            whole = door.read(hit["uri"]).result
            first, last = hit["lines"] or (1, 1)
            cited = door.read(f"{hit['uri']}#L{first}-L{last}").result
            assert cited in whole
            assert hit["snippet"].split(" ")[0] in cited
        else:
            directory = hit["uri"].rpartition("/")[0]
            way = "abstract" if hit["level"] == 0 else "overview"
            assert door.read(directory, way).result == hit["abstract"]
    for hit in door.find(filter={"op": "must", "field": "level", "conds": [0, 1]}, limit=50).hits:
        assert door.read(hit["uri"], "overview").status == 200
        assert not hit["uri"].endswith(".md")


def test_a_memory_without_its_hidden_fields(door: Door) -> None:
    launch = "viking://user/default/memories/events/launch.md"
    shown = "# Summary\nThe zeppelin launch.\n"
    (hit,) = door.find("zeppelin launch", launch, read_content=True, level=2).hits
    assert (hit["content"], hit["abstract"]) == (shown, shown)
    assert "MEMORY_FIELDS" not in hit["snippet"]
    assert door.read(launch).result == shown
    assert door.read(f"{launch}#L1-L9").result == shown
    assert "vesuvius" in door.read(launch, raw=True).result
    for way in ("abstract", "overview"):
        assert "vesuvius" not in door.read(launch, way).result
