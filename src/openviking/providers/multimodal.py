"""How services are asked for vectors of pictures, alone or with a text, and of texts in the same space."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_DASHSCOPE: Final = "/api/v1/services/embeddings/multimodal-embedding/multimodal-embedding"


@dataclass(frozen=True, slots=True)
class Form:
    """One protocol: the address for a base, what a request has beside the model, and where its answer has the vectors.

    ``texts`` and ``parts`` give the body for several texts, a vector each, and for a text (perhaps "") with pictures as
    ``data:`` URIs. ``found`` gives the entries of an answer, of which each has ``embedding``. ``each`` says that of parts,
    too, each gets a vector, ``most`` how many texts one request may have (0: no limit).
    """

    address: Callable[[str], str]
    texts: Callable[[Sequence[str]], dict[str, Any]]
    parts: Callable[[str, Sequence[str]], dict[str, Any]]
    found: Callable[[Mapping[str, Any]], Any]
    each: bool = False
    most: int = 0


def _contents(text: str, pictures: Sequence[str]) -> list[dict[str, Any]]:
    """The text first, then the pictures in their order."""
    said: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    return said + [{"type": "image_url", "image_url": {"url": one}} for one in pictures]


def _named(text: str, pictures: Sequence[str], *, bare: bool = False) -> list[dict[str, str]]:
    said = [{"text": text}] if text else []
    return said + [{"image": one.partition(",")[2] if bare else one} for one in pictures]


def _single(told: Mapping[str, Any]) -> Any:
    data = told.get("data")
    return [data] if isinstance(data, dict) else data


def _output(told: Mapping[str, Any]) -> Any:
    output = told.get("output")
    return output.get("embeddings") if isinstance(output, dict) else None


def _dashscope_address(base: str) -> str:
    if "/api/v1/services/" in base:
        return base
    return base.removesuffix("/compatible-mode/v1").removesuffix("/api/v1") + _DASHSCOPE


def _voyage(text: str, pictures: Sequence[str]) -> dict[str, Any]:
    said: list[dict[str, str]] = [{"type": "text", "text": text}] if text else []
    return {"inputs": [{"content": said + [{"type": "image_base64", "image_base64": one} for one in pictures]}]}


TEXT: Final = Form(
    lambda base: f"{base}/embeddings",
    lambda texts: {"input": list(texts)},
    lambda text, pictures: {"messages": [{"role": "user", "content": _contents(text, pictures)}]},
    lambda told: told.get("data"),
)
"""OpenAI's protocol, with pictures as vLLM takes them."""

FORMS: Final[Mapping[str, Form]] = {
    "volcengine": Form(
        lambda base: f"{base}/embeddings/multimodal",
        lambda texts: {"input": [{"type": "text", "text": one} for one in texts]},
        lambda text, pictures: {"input": _contents(text, pictures)},
        _single,
        most=1,
    ),
    "jina": Form(
        lambda base: f"{base}/embeddings",
        lambda texts: {"input": [{"text": one} for one in texts]},
        lambda text, pictures: {"input": _named(text, pictures, bare=True)},
        lambda told: told.get("data"),
        each=True,
    ),
    "dashscope": Form(
        _dashscope_address,
        lambda texts: {"input": {"contents": [{"text": one} for one in texts]}},
        lambda text, pictures: {"input": {"contents": _named(text, pictures)}},
        _output,
        each=True,
        most=10,
    ),
    "voyage": Form(
        lambda base: f"{base}/multimodalembeddings",
        lambda texts: {"inputs": [{"content": [{"type": "text", "text": one}]} for one in texts]},
        _voyage,
        lambda told: told.get("data"),
    ),
}
"""By the name of the provider, where it is not `TEXT`."""


def form_of(provider: str, *, multimodal: bool) -> Form:
    """How ``provider`` is asked."""
    return FORMS.get(provider, TEXT) if multimodal else TEXT
