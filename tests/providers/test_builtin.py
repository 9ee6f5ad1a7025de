"""The built-in embedding model: what its vectors mean, that they are always the same, and how it fails and ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from openviking.errors import DeadlineExceededError, OpenVikingError, UnavailableError
from openviking.providers.builtin import BUILTIN, DIGESTS, FOLDER, BuiltinEmbedder
from openviking.providers.embedder import Refused, Unmade

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

FERRY = "The ferry carries people and cars over the water every hour."
BONDS = "Government bond yields fell on Tuesday after the central bank kept its rate."
CODE = "def parse(text: str) -> dict[str, int]:\n    return {key: int(value) for key, value in pairs(text)}"
# The first numbers of the vector of FERRY, as this model gave them with onnxruntime 1.32 on x86-64 with VNNI. Other
# processors round int8 products a little differently.
FERRY_VECTOR = [0.0322, -0.0011, -0.0043, -0.0218, 0.0216, -0.0100, 0.0802, -0.0558]


@pytest.fixture(scope="module")
def embedder() -> Generator[BuiltinEmbedder]:
    made = BuiltinEmbedder(threads=4)
    yield made
    made.close()


def vectors(embedder: BuiltinEmbedder, *texts: str) -> list[Vector]:
    found = []
    for one in embedder.passages(texts, timeout=60):
        assert not isinstance(one, Refused | Unmade), one
        found.append(one)
    return found


def embedding_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("openviking-embedding")]


# --- meaning -------------------------------------------------------------------------------------------------------


def test_other_words_for_the_same_are_nearer_than_other_things(embedder: BuiltinEmbedder) -> None:
    ferry, bonds, code = (found[0] for found in vectors(embedder, FERRY, BONDS, CODE))
    for question, right in (
        ("How do I get my automobile across the river?", ferry),
        ("What happened to interest on public debt?", bonds),
        ("function that turns a string into a mapping of integers", code),
    ):
        asked = embedder.query(question, timeout=10)
        nearest = max((ferry, bonds, code), key=lambda vector: float(vector @ asked))
        assert nearest is right, question
        assert BUILTIN.similarity(float(right @ asked)) > 0.3


def test_vectors_are_those_of_this_model(embedder: BuiltinEmbedder) -> None:
    vector = vectors(embedder, FERRY)[0]
    assert vector.shape == (1, 384)
    assert vector.dtype == "float32"
    assert float((vector**2).sum()) == pytest.approx(1, abs=1e-5)
    assert vector[0, : len(FERRY_VECTOR)].tolist() == pytest.approx(FERRY_VECTOR, abs=0.012)


def test_a_question_is_a_passage_with_the_instruction(embedder: BuiltinEmbedder) -> None:
    asked = embedder.query(FERRY, timeout=10)
    instructed, plain = vectors(embedder, BUILTIN.query_prefix + FERRY, FERRY)
    assert asked.shape == (384,)
    assert asked.tobytes() == instructed[0].tobytes()
    assert asked.tobytes() != plain[0].tobytes()


# --- always the same -----------------------------------------------------------------------------------------------


def test_a_text_has_the_same_bits_alone_and_among_others(embedder: BuiltinEmbedder) -> None:
    texts = [FERRY, BONDS, CODE, f"{CODE}\n{BONDS}", FERRY * 3, "", "ferry", BONDS * 2]
    alone = [vectors(embedder, text)[0].tobytes() for text in texts]
    question = embedder.query(FERRY, timeout=10).tobytes()
    with ThreadPoolExecutor(4) as threads:
        together = [threads.submit(vectors, embedder, *texts) for _ in range(2)]
        asked = [threads.submit(embedder.query, FERRY, timeout=30) for _ in range(6)]
        for future in together:
            assert [found.tobytes() for found in future.result()] == alone
        assert {future.result().tobytes() for future in asked} == {question}


def test_another_embedder_gives_the_same_bits(embedder: BuiltinEmbedder) -> None:
    other = BuiltinEmbedder(threads=1)
    try:
        assert vectors(other, BONDS)[0].tobytes() == vectors(embedder, BONDS)[0].tobytes()
    finally:
        other.close()


# --- failures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(DIGESTS))
def test_a_damaged_file_is_named(tmp_path: Path, name: str) -> None:
    shutil.copytree(FOLDER, tmp_path / "copy")
    damaged = tmp_path / "copy" / name
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    broken = BuiltinEmbedder(folder=tmp_path / "copy")
    try:
        for _ in range(2):
            with pytest.raises(UnavailableError, match="damaged") as caught:
                broken.query("ferry", timeout=10)
            assert str(damaged) in caught.value.message
            assert caught.value.details["permanent"] is True
        shutil.copy(FOLDER / name, damaged)
        assert broken.query("ferry", timeout=10).shape == (384,)
    finally:
        broken.close()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    empty = BuiltinEmbedder(folder=tmp_path)
    with pytest.raises(UnavailableError, match=r"model\.onnx"):
        empty.passages([FERRY], timeout=10)
    empty.close()


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers", "numpy"])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    without = BuiltinEmbedder()
    with pytest.raises(UnavailableError, match=package) as caught:
        without.query("ferry", timeout=10)
    assert caught.value.details["permanent"] is True
    without.close()


def test_what_the_runtime_raises_is_translated(embedder: BuiltinEmbedder) -> None:
    vectors(embedder, FERRY)
    assert embedder._encoder is not None
    with pytest.raises(UnavailableError, match="failed"):
        embedder._encoder._vector([10**6])  # no such word piece


def test_time_that_is_over_is_said(embedder: BuiltinEmbedder) -> None:
    with pytest.raises(DeadlineExceededError) as caught:
        embedder.passages([BONDS * 8] * 200, timeout=0.0)
    assert caught.value.details["timeout"] == 0.0
    # A window that is being read takes some tenths of a second; they are not waited for.
    with pytest.raises(DeadlineExceededError):
        embedder.passages([BONDS * 30], timeout=0.03)
    with pytest.raises(DeadlineExceededError):
        embedder.query(FERRY, timeout=0)
    # What was not begun is not done behind the caller's back.
    assert vectors(embedder, FERRY)[0].shape == (1, 384)


def test_what_was_made_before_the_time_was_over_is_given() -> None:
    one = BuiltinEmbedder(threads=1)
    try:
        one.passages([FERRY], timeout=60)
        # The short ones come last: none of them is done while the long one is under way.
        found = one.passages([FERRY, *[BONDS * 8] * 500], timeout=1.5)
    finally:
        one.close()
    left = [each for each in found if isinstance(each, Unmade)]
    assert 0 < len(left) < len(found)
    assert isinstance(found[0], Unmade)
    assert {type(each.error) for each in left} == {DeadlineExceededError}
    assert {each.shape[1] for each in found if not isinstance(each, Unmade | Refused)} == {384}


# --- threads and the end -------------------------------------------------------------------------------------------


def test_closing_ends_work_that_is_under_way() -> None:
    before = set(embedding_threads())
    closing = BuiltinEmbedder(threads=2)
    caught: list[OpenVikingError] = []

    def work() -> None:
        try:
            found = closing.passages([BONDS * 8] * 500, timeout=600)
        except UnavailableError as error:
            caught.append(error)
        else:
            caught.append(next(one.error for one in found if isinstance(one, Unmade)))

    worker = threading.Thread(target=work)
    worker.start()
    deadline = time.monotonic() + 60
    while not set(embedding_threads()) - before and time.monotonic() < deadline:
        worker.join(0.01)
    closing.close()
    worker.join(60)
    assert not worker.is_alive()
    assert [error.details["reason"] for error in caught] == ["closed"]
    assert set(embedding_threads()) <= before


def test_what_is_closed_says_so() -> None:
    closed = BuiltinEmbedder()
    closed.close()
    closed.close()
    with pytest.raises(UnavailableError, match="closed"):
        closed.passages([FERRY], timeout=10)
    with pytest.raises(UnavailableError, match="closed"):
        closed.query(FERRY, timeout=10)
    assert closed.describe()["loaded"] is False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities of threads")
def test_passages_give_way_to_searches(embedder: BuiltinEmbedder) -> None:
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    vectors(embedder, FERRY, BONDS)
    nice = {os.getpriority(os.PRIO_PROCESS, thread.native_id or 0) for thread in embedding_threads()}
    assert nice == {min(own + 10, 19)}
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == own


def test_threads_are_half_of_the_cores_unless_told() -> None:
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    for threads, expected in ((0, max(cores // 2, 1)), (3, 3)):
        made = BuiltinEmbedder(threads=threads)
        assert made.describe()["threads"] == expected
        assert made.batch == 16 * expected
        made.close()


# --- what it takes -------------------------------------------------------------------------------------------------


def test_nothing_is_loaded_before_the_first_text_and_never_a_hub() -> None:
    program = """
import sys
from openviking.providers.builtin import BuiltinEmbedder
heavy = {"numpy", "onnxruntime", "tokenizers"}
embedder = BuiltinEmbedder()
embedder.model.fingerprint, embedder.batch, embedder.describe()
assert not heavy & set(sys.modules), heavy & set(sys.modules)
embedder.query("ferry", timeout=60)
assert heavy <= set(sys.modules)
assert not {"huggingface_hub", "hf_xet", "requests", "httpx", "httpx2"} & set(sys.modules)
embedder.close()
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stdout + done.stderr


def test_the_papers_of_the_model_name_its_files() -> None:
    origin = (FOLDER / "ORIGIN.md").read_text(encoding="utf-8")
    for name, digest in DIGESTS.items():
        assert f"| `{name}` | {(FOLDER / name).stat().st_size:,} | `{digest}` |" in origin
    assert (FOLDER / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert BUILTIN.name.rpartition("@")[2] == DIGESTS["model.onnx"][:12]
