"""Documents of a set put into folders, as a person might keep them: by the path in their title, else by what they are about.

What they are about is found by the vectors of their titles (spherical k-means with fixed starts), and a folder is named
after the two words that its titles have more often than others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sets import EvalSet, Item

from openviking.index.analyse import analyse_query
from openviking.names import root_name

OF_FOLDER: Final = 30
"""Documents that a folder has on average."""

ROUNDS: Final = 20


def in_folders(one: EvalSet, vector: Callable[[str], NDArray[np.float32]]) -> EvalSet:
    """``one`` with its documents in folders; grouped sets stay as they are, for their groups are folders already."""
    if any(item.group for item in one.documents):
        return one
    by_path = 2 * sum(1 for item in one.documents if "/" in item.title or item.title.endswith(".py")) > len(
        one.documents
    )
    places = [_path(item.title) for item in one.documents] if by_path else _topics(one.documents, vector)
    return replace(one, folders={item.id: place for item, place in zip(one.documents, places, strict=True)})


def _path(title: str) -> str:
    return "/".join(root_name(part) for part in title.removesuffix(".py").split("/"))


def _topics(documents: Sequence[Item], vector: Callable[[str], NDArray[np.float32]]) -> list[str]:
    heads = [item.title or item.text.strip().partition("\n")[0][:200] for item in documents]
    vectors = np.stack([vector(head) for head in heads])
    count = max(len(documents) // OF_FOLDER, 1)
    centres = vectors[:: max(len(vectors) // count, 1)][:count]
    for _ in range(ROUNDS):
        nearest = np.argmax(vectors @ centres.T, axis=1)
        sums = np.stack(
            [
                vectors[nearest == one].sum(axis=0) if (nearest == one).any() else centres[one]
                for one in range(len(centres))
            ]
        )
        centres = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    terms = [set(analyse_query(head)) for head in heads]
    everywhere = Counter(term for some in terms for term in some)
    names: list[str] = []
    for topic in range(len(centres)):
        inside = Counter(term for number in np.flatnonzero(nearest == topic) for term in terms[number])
        best = sorted(inside, key=lambda term: (-(inside[term] ** 2) / everywhere[term], term))[:2]
        name = root_name("-".join(best) or f"topic-{topic}")
        names.append(name if name not in names else f"{name}-{topic}")
    return [names[topic] for topic in nearest]
