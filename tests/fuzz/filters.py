"""Filters of find and search: hostile trees, asked of a real store."""

from __future__ import annotations

import atexit
import functools
import json
import tempfile
from typing import Any, Final

from hypothesis import strategies as st

from openviking import OpenViking
from openviking.errors import InternalError, OpenVikingError

FIELDS: Final = (
    "uri", "context_type", "level", "search_tags", "created_at", "updated_at", "active_count", "name", "owner_user_id",
    "account_id", "tags", "type", "acl_mode", "n.id", "x'--", "", "\0", "\ud800",
)  # fmt: skip
PATTERNS: Final = (
    "(", ")", "[", "[a-", "*", "a**", "(a*)*b", "(?<n>a)(?P=n)", "(?", "(?R)", "\\", "\\p{L}", "\\p{Nope}", "a{1000}{1000}{1000}",
    "(?:" * 300 + ")" * 300, "(" * 2_000 + ")" * 2_000, "[" * 2_000, "(?i)\u0130", "(?<=a*)b", "(?V1)[[a--b]&&c]", "\\N{DASH}", "\\x",
    "(?P<a>x)(?P<a>y)", "(?:a|b){e<=3}", "(?p)x", "\\L<x>", "a{99999999999}", "(?:(?:(?:ab|cd){100}){100}){100}", "(?:(?:a{500}){500}){500}", "(?#", "\\g<1>", "(?1)", "|" * 4_000, "^$", "",
)  # fmt: skip
TEXT: Final = st.one_of(st.sampled_from(PATTERNS), st.text(st.characters(), max_size=12), st.just("x" * 5_000))
SCALAR: Final = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-3, 3), st.floats(), TEXT, st.just(10**30), st.just(-(10**400)),
    st.sampled_from([
        "viking://resources", "viking://resources/../x", "/resources", "/", "viking://user/bob", "2026-01-01", "2026-13-01", "0001-01-01",
        "9999-12-31T23:59:59+14:00", "2h", "resource", "memory", "a=b", "-d=1", "-d=-99", "-d=999999999", "k=" + "v" * 300,
    ]),
)  # fmt: skip
VALUES: Final = st.one_of(SCALAR, st.lists(SCALAR, max_size=4), st.lists(st.text(max_size=4), max_size=3), st.just({}))
LEAF: Final = st.fixed_dictionaries(
    {"op": st.sampled_from([
        "must", "must_not", "label_in", "range", "range_out", "time_range", "prefix", "contains", "regex", "geo_range", "MUST", "x", "",
    ])},
    optional={
        "field": st.one_of(st.sampled_from(FIELDS), st.lists(st.sampled_from(FIELDS), max_size=3), SCALAR),
        "conds": VALUES, "para": SCALAR, "gt": SCALAR, "gte": SCALAR, "lt": SCALAR, "lte": SCALAR, "prefix": TEXT, "substring": TEXT,
        "pattern": TEXT, "center": VALUES, "radius": SCALAR, "other": SCALAR,
    },
)  # fmt: skip
FITTING: Final = st.one_of(
    st.builds(
        lambda op, field, conds: {"op": op, "field": field, "conds": conds},
        st.sampled_from(["must", "must_not"]),
        st.sampled_from(["context_type", "search_tags", "name", "owner_user_id", "account_id"]),
        st.lists(st.text(max_size=6), min_size=1, max_size=4),
    ),
    st.builds(
        lambda field, pattern: {"op": "regex", "field": field, "pattern": pattern},
        st.sampled_from(["uri", "search_tags", "name", "account_id"]),
        TEXT,
    ),
    st.builds(
        lambda op, field, low, high: {"op": op, "field": field, "gte": low, "lt": high},
        st.sampled_from(["range", "range_out"]),
        st.sampled_from(["level", "created_at", "updated_at", "active_count"]),
        st.one_of(st.integers(), st.floats(allow_nan=False)),
        st.one_of(st.none(), st.integers(), st.floats(allow_nan=False)),
    ),
)
"""Leaves that are mostly accepted, so that the store is asked too."""


def _wrapped(inner: dict[str, Any], _: int) -> dict[str, Any]:
    return {"op": "and", "conds": [inner]}


TREES: Final = st.one_of(
    VALUES,
    st.recursive(
        st.one_of(LEAF, FITTING, FITTING),
        lambda inner: st.fixed_dictionaries(
            {"op": st.sampled_from(["and", "or", "not", "must"])}, optional={"conds": st.lists(inner, max_size=4)}
        ),
        max_leaves=8,
    ),
    st.integers(1, 2_000).map(lambda depth: functools.reduce(_wrapped, range(depth), {"op": "x"})),
)


@functools.lru_cache(maxsize=1)
def store() -> OpenViking:
    """A store with a few files, for as long as the process lives."""
    place = tempfile.TemporaryDirectory()
    made = OpenViking(place.name, embedder="none", workers=0)
    atexit.register(place.cleanup)
    atexit.register(made.close)
    for number in range(4):
        made.write(f"viking://resources/docs/{number}.md", f"# Words {number}\n\nSome words.\n", mode="create")
    return made


def filters(tree: Any) -> None:
    """A filter is refused and the message can be sent, or it selects; it never fails, and shows nothing of the host."""
    try:
        store().find("words", filter=tree, limit=3)
    except InternalError:
        raise
    except OpenVikingError as error:
        told = json.dumps(error.to_dict(), ensure_ascii=False, allow_nan=False)
        told.encode()
        if len(told) > 20_000:
            raise
