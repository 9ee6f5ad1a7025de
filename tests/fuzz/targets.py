"""What must hold for names, URIs, archives, texts, forms, bodies and filters, whatever comes in.

A target is a function and the strategies of its arguments; `run` feeds them until time is over.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable
from datetime import date
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.fuzz.filters import TREES, filters
from tests.fuzz.forging import BREAKS, ENTRIES, NAMES, NASTY, Entry, broken, forged

from openviking.errors import InvalidArgumentError, OpenVikingError, ProcessingError
from openviking.ingest.archive import ZipDelivery
from openviking.ingest.decode import codec, decode
from openviking.ingest.delivery import Scan, UnreadableError
from openviking.ingest.ignore import SkipRules
from openviking.ingest.plan import keys, targets
from openviking.ingest.zip_names import names_codec
from openviking.model.imports import ImportOptions
from openviking.names import fit_name, kept_name, root_name
from openviking.server.failures import invalid
from openviking.server.multipart import FormReader
from openviking.service.uploads import plain_name
from openviking.uri import URI, check_new_name, from_path, parse, parse_new, split_citation

TODAY: Final = date(2026, 2, 28)
LIMIT: Final = 1024 * 1024
PIECES: Final = (
    "viking://", "viking:", "resources", "user", "ann", "bob", "agent", "session", "~", "temp", "/", "//", "..", ".", "\\",
    "%2e", "%252e", "%00", "\0", "#L1-L2", "#", "?", "{calendar:today}", "{", "}", ":", "peers", "memories", "skills",
    "\ud800", "\uff0e", "\u2024", "\u2025", "\u202e", " ", "a", "é", "e\u0301", "C:", ".abstract.md", "_system", "x" * 300,
)  # fmt: skip
ANY_TEXT: Final = st.one_of(
    st.text(st.characters(), max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=10).map("".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(st.characters(), max_size=3)), max_size=8).map(
        lambda parts: "viking://" + "/".join(parts)
    ),
)
ANY_NAME: Final = st.one_of(
    st.sampled_from(NASTY), ANY_TEXT, NAMES.map(lambda raw: raw.decode("utf-8", "surrogateescape"))
)


def uris(text: str, user: str) -> None:
    """A text is refused as documented, or names one place in one spelling that no parser could take for another."""
    for read in (parse, parse_new):
        try:
            uri = read(text, user=user, today=TODAY)
        except OpenVikingError as error:
            _sayable(error)
            continue
        again = parse(str(uri), user=user, today=TODAY)
        assert again == uri, (uri, again)
        assert from_path(uri.path) == uri
        assert not {"", ".", ".."} & set(uri.parts), uri
        assert not any(char in part for part in uri.parts for char in "/\\\0"), uri
        str(uri).encode()
        if read is parse_new:
            check_new_name(uri)
    try:
        base, lines = split_citation(text)
    except OpenVikingError as error:
        _sayable(error)
    else:
        assert "#" not in base
        assert lines is None or 1 <= lines[0] <= lines[1]


def names(name: str) -> None:
    """A name that was made is one that may be given, and making it once more changes nothing."""
    for made in (root_name(name), kept_name(name)):
        check_new_name(URI(("resources", made)) if made != ".watch_tasks.json" else URI(("resources", "x", made)))
    assert kept_name(kept_name(name)) == kept_name(name)
    assert root_name(root_name(name)) == root_name(name)
    assert len(fit_name(name).encode("utf-8", "surrogatepass")) <= 255
    plain = plain_name(name)
    plain.encode()
    assert plain
    assert not set(plain) & set("/\\\0")


def encodings(names: list[bytes]) -> None:
    """An encoding is found for every name, and it exists."""
    found = names_codec(names)
    b"".join(names).decode(found, "replace")


def texts(data: bytes, breaks: list[tuple[float, str, int]]) -> None:
    """Bytes are binary, or a text that can be stored; UTF-8 comes back as it was."""
    data = broken(data, breaks)
    found = decode(data)
    if found is None:
        return
    text, encoding = found
    assert "\0" not in text
    stored = text.encode()
    if encoding in {"utf-8", "utf-8-sig"} and "\ufffd" not in text:
        assert stored == data
    data.decode(codec(encoding), "replace")


def archives(entries: list[Entry], comment: bytes, wide: bool, breaks: list[tuple[float, str, int]]) -> None:
    """An archive is refused as a whole, or every entry is delivered, left out or failed; each name stays inside."""
    with tempfile.NamedTemporaryFile(suffix=".zip") as file:
        file.write(broken(forged(entries, comment, wide=wide), breaks))
        file.flush()
        try:
            delivery = ZipDelivery(Path(file.name), "pack", name="pack.zip", max_total_bytes=8 * LIMIT)
        except ProcessingError as error:
            _sayable(error)
            if "pack.zip" not in error.message:
                raise
            return
        try:
            _delivered(delivery)
        finally:
            delivery.close()


def _delivered(delivery: ZipDelivery) -> None:
    scan: Scan = delivery.scan(SkipRules(ImportOptions()), lambda: False)
    for told in (*(one.name for one in scan.skipped), *(one.name for one in scan.failed)):
        told.encode()
    found, doubles = keys(scan.files)
    assert not doubles
    paths, refused = targets("resources/pack", found)
    assert paths.keys() | refused.keys() == found.keys()
    assert len(set(paths.values())) == len(paths)
    for path in paths.values():
        assert path.startswith("resources/pack/")
        check_new_name(from_path(path))
    for name in scan.files:
        try:
            assert len(delivery.read(name, LIMIT)) <= LIMIT
        except UnreadableError as error:
            str(error).encode()


_HEADERS: Final = (
    b'Content-Disposition: form-data; name="file"; filename="a.md"', b"content-disposition: form-data; name=file",
    b'Content-Disposition: form-data; name="upload_mode"', b"Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''%ff",
    b'Content-Disposition: form-data; name="file"; filename="..\\\\..\\\\x"', b"X: " + b"y" * 20_000, b"", b": x", b"Content-Disposition",
)  # fmt: skip


def forms(parts: list[bytes], step: int, content_type: str) -> None:
    """A body is a form with one file, or refused as one that is not."""
    body = b"".join(parts)

    async def stream() -> AsyncIterator[bytes]:
        for at in range(0, len(body), step):
            yield body[at : at + step]

    taken = bytearray()

    class Kept:
        def write(self, piece: bytes) -> None:
            taken.extend(piece)

    async def read() -> None:
        form = FormReader(content_type, lambda _: Kept())
        await form.read(stream())
        json.dumps(form.fields).encode()

    try:
        asyncio.run(read())
    except InvalidArgumentError as error:
        _sayable(error)
    assert bytes(taken) in body


def refusals(value: Any) -> None:
    """What a refusal tells of a value can be sent, and is not longer than a message should be."""
    error = invalid([{"loc": ("body", "x"), "msg": "it is wrong", "type": "y", "input": value}] * 30)
    _sayable(error)
    assert len(error.message) < 20_000


def _sayable(error: OpenVikingError) -> None:
    json.dumps(error.to_dict(), ensure_ascii=False, allow_nan=False).encode()


_BYTES: Final = st.one_of(
    st.binary(max_size=400),
    st.builds(
        lambda text, name: text.encode(name, "replace"),
        st.text(max_size=120),
        st.sampled_from(["utf-8", "utf-16", "utf-16-le", "utf-32", "gb18030", "cp932", "cp1251", "cp1252"]),
    ),
)
_FORM: Final = st.lists(
    st.one_of(
        st.sampled_from(
            [b"--b", b"--b--", b"\r\n", b"\n", b"--", b"\0", b"\r\n\r\n", b"--b\r\n", b"\r\n--b--\r\n", *_HEADERS]
        ),
        st.binary(max_size=20),
    ),
    max_size=20,
)
_TYPES: Final = (
    "multipart/form-data; boundary=b", "multipart/form-data", 'multipart/form-data; boundary=""', "a/b", "é", "",
)  # fmt: skip
_JSON: Final = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters(), max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)

Target = tuple[Callable[..., None], tuple[SearchStrategy[Any], ...]]

TARGETS: Final[dict[str, Target]] = {
    "uris": (uris, (ANY_TEXT, st.sampled_from(["ann", "a.b@c", "-"]))),
    "names": (names, (ANY_NAME,)),
    "encodings": (encodings, (st.lists(NAMES.filter(lambda name: not name.isascii()), min_size=1, max_size=6),)),
    "texts": (texts, (_BYTES, BREAKS)),
    "archives": (archives, (st.lists(ENTRIES, max_size=6), st.binary(max_size=30), st.booleans(), BREAKS)),
    "forms": (forms, (_FORM, st.integers(1, 64), st.sampled_from(_TYPES))),
    "refusals": (refusals, (_JSON,)),
    "filters": (filters, (TREES,)),
}
