"""Names that are made rather than given: roots of imports and names of files that a source brings along."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final
from urllib.parse import unquote

MAX_ROOT_CHARS: Final = 50
MAX_NAME_BYTES: Final = 255

_MAX_DECODINGS: Final = 8
_UNSTORABLE = re.compile("[#?\\\\/\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_VARIABLE = re.compile(r"\{([^{}:]*):([^{}]*)\}")
_DRIVE = re.compile(r"([A-Za-z]):")
_RESERVED = re.compile(
    r"\.(?=(?:abstract\.md|overview\.md|relations\.json|path\.ovlock|redirect\.json|sync_log\.json"
    r"|watch_tasks\.json(?:\.bak|\.tmp)?)\Z|exact\.ovlock\.)"
)
_SEPARATORS = re.compile(r"[/\\]")


def root_name(stem: str) -> str:
    """The name of an import's root directory made from a file or folder name (contract/core.md §2.4).

    Everything but letters of any script with their marks, digits, ``_``, ``-`` and ``.`` becomes ``_``; runs of
    ``_`` collapse; at most 50 characters; never empty.
    """
    clean = "".join(char if char in "_-." or char.isalnum() or _is_mark(char) else "_" for char in stem)
    clean = re.sub("_+", "_", clean).strip("_.")
    return clean[:MAX_ROOT_CHARS].rstrip("_.") or "unnamed"


def kept_name(name: str) -> str:
    """``name`` as an import may store it: unchanged wherever it can be, always fit for a new node.

    ``#``, ``?``, slashes, backslashes, control characters and lone surrogates (undecodable bytes of a file system)
    become ``_``; so do the ``%`` of percent-encoded traversal, the colon of a drive prefix or of ``{a:b}`` (a URI
    variable), a name that is only dots for a file system, and the dot of a reserved name. A name over 255 bytes is
    shortened as `fit_name` does. Two names may become one: the caller tells them apart.
    """
    kept = _UNSTORABLE.sub("_", name)
    if ":" in kept:
        kept = _DRIVE.sub(r"\1_", kept) if _DRIVE.match(kept) else kept
        while _VARIABLE.search(kept):
            kept = _VARIABLE.sub(r"{\1_\2}", kept)
    if "%" in kept and _is_encoded_traversal(kept):
        kept = kept.replace("%", "_")
    if _is_traversal(kept):
        kept = "".join("_" if char == "." or not char.isascii() else char for char in kept)
    if not kept:
        kept = "_"
    return fit_name(_RESERVED.sub("_", kept) if _RESERVED.match(kept) else kept)


def fit_name(name: str) -> str:
    """``name`` cut to 255 bytes of UTF-8: where it was cut stand ``_`` and 8 hexadecimal digits of its hash.

    An extension of up to 10 characters is kept behind them.
    """
    encoded = name.encode("utf-8", "surrogatepass")
    if len(encoded) <= MAX_NAME_BYTES:
        return name
    stem, dot, extension = name.rpartition(".")
    suffix = f".{extension}" if dot and stem and len(extension) <= 10 else ""
    mark = "_" + hashlib.sha256(encoded).hexdigest()[:8]
    room = MAX_NAME_BYTES - len((mark + suffix).encode("utf-8", "surrogatepass"))
    return encoded[:room].decode("utf-8", "ignore") + mark + suffix


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def _is_traversal(name: str) -> bool:
    folded = name if name.isascii() else unicodedata.normalize("NFKC", name)
    return any(piece in {".", ".."} for piece in _SEPARATORS.split(folded))


def _is_encoded_traversal(name: str) -> bool:
    for _ in range(_MAX_DECODINGS):
        decoded = unquote(name)
        if decoded == name:
            return "\0" in name or _is_traversal(name)
        name = decoded
    return True
