"""One loaded encoder with its tokenizer: text in, vectors of length 1 out, in whichever thread asks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openviking.errors import UnavailableError
from openviking.providers.embedder import Refused
from openviking.providers.windows import pieces, windows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

OVERLAP: Final = 48
"""Tokens that neighbouring windows share at least: a sentence or two, so that one at a seam stands whole in a window."""

MAX_TOKENS: Final = 50_000
"""A text of more tokens is refused: it would hold up all others for 20 seconds."""

# The tokenizer holds the interpreter's lock: 8,192 characters are 6 ms.
_PIECE: Final = 8_192
# The tokenizer makes one token of a word of more than 100 characters. So no window needs a longer text than this many
# characters a token, runs of white space apart.
_CHARACTERS_PER_TOKEN: Final = 101


class Encoder:
    """An encoder of the BERT family whose first token's vector, at length 1, stands for the text.

    Safe to use from several threads at once, and none waits for another. The same text gives the same bits whatever
    runs beside it: a call has one text, for dynamic quantisation scales a batch by its largest value.
    """

    def __init__(self, folder: Path, digests: Mapping[str, str], *, window: int) -> None:
        """Load ``model.onnx`` and ``tokenizer.json`` of ``folder``, whose SHA-256 are ``digests``.

        Raises `UnavailableError` if a file is missing or damaged, or a package that runs the model is.
        """
        for name, digest in digests.items():
            _verify(folder / name, digest)
        try:
            import numpy as np  # noqa: PLC0415 - who finds by words alone loads none of these
            import onnxruntime  # noqa: PLC0415
            from tokenizers import Tokenizer  # noqa: PLC0415
        except ImportError as error:
            message = f"The built-in embedding model needs a package that cannot be loaded: {error}"
            raise unavailable(message, reason=str(error), permanent=True) from error
        self._np = np
        self._room = window - 2
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            # A text about models may say "[SEP]"; that is text and not its end.
            self._tokenizer.encode_special_tokens = True
            self._first = self._tokenizer.token_to_id("[CLS]")
            self._last = self._tokenizer.token_to_id("[SEP]")
            onnxruntime.disable_telemetry_events()
            options = onnxruntime.SessionOptions()
            # Texts run side by side, which divides better than one text between cores, and always sums in one order.
            options.intra_op_num_threads = 1
            options.inter_op_num_threads = 1
            # A plan of memory for each length of text that ever came: 20 MB more, and no quicker.
            options.enable_mem_pattern = False
            # What goes wrong is raised; nobody's terminal needs it as well.
            options.log_severity_level = 4
            # By its path: a session keeps the bytes that it is given, another 34 MB.
            self._session = onnxruntime.InferenceSession(
                str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
            self._running = onnxruntime.RunOptions()
            self._running.log_severity_level = 4
        except Exception as error:  # both libraries raise classes of their own that share no parent
            message = f"The built-in embedding model cannot be loaded from {folder}: {error}"
            raise unavailable(message, reason=str(error)) from error

    def passage(self, text: str, go_on: Callable[[], None]) -> Vector | Refused:
        """The vectors of all windows of ``text``, of shape (windows, dimension).

        ``go_on`` is called before each step of some milliseconds, and may raise to end the work. Raises
        `UnavailableError` if the model fails.
        """
        tokens: list[int] = []
        for piece in pieces(text, _PIECE):
            go_on()
            tokens += self._tokens(piece)
            if len(tokens) > MAX_TOKENS:
                return Refused(f"the text has more than {MAX_TOKENS:,} tokens")
        made = []
        for window in windows(tokens, self._room, OVERLAP):
            go_on()
            made.append(self._vector(window))
        vectors: Vector = self._np.stack(made)
        if not self._np.isfinite(vectors).all():
            return Refused("the model's numbers are not finite")
        return vectors

    def query(self, text: str) -> Vector:
        """The vector of the first window of ``text``, of shape (dimension,). Raises `UnavailableError` if it fails."""
        tokens: list[int] = []
        for piece in pieces(text[: self._room * _CHARACTERS_PER_TOKEN], _PIECE):
            tokens += self._tokens(piece)
            if len(tokens) >= self._room:
                break
        vector = self._vector(tokens[: self._room])
        if not self._np.isfinite(vector).all():
            message = "The built-in embedding model gave numbers that are not finite"
            raise unavailable(message, reason="numbers that are not finite")
        return vector

    def token_vectors(self, text: str) -> tuple[list[int], Vector]:
        """The tokens of the first window of ``text`` with the vector of each, of shape (tokens, dimension) and length 1.

        What late interaction compares (Khattab and Zaharia, 2020). Raises `UnavailableError` if the model fails.
        """
        np = self._np
        tokens: list[int] = []
        for piece in pieces(text[: self._room * _CHARACTERS_PER_TOKEN], _PIECE):
            tokens += self._tokens(piece)
            if len(tokens) >= self._room:
                break
        hidden: Vector = self._hidden(tokens[: self._room])[1:-1]
        lengths = np.linalg.norm(hidden, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not (lengths > 0).all():
            message = "The built-in embedding model gave numbers that are not finite"
            raise unavailable(message, reason="numbers that are not finite")
        vectors: Vector = hidden / lengths
        return tokens[: self._room], vectors

    def stop(self) -> None:
        """Break off every call under way and to come: they raise `UnavailableError`."""
        self._running.terminate = True

    def _tokens(self, text: str) -> list[int]:
        # Half of a surrogate pair is no text, and the tokenizer would raise.
        valid = text.encode("utf-8", "replace").decode("utf-8")
        ids: list[int] = self._tokenizer.encode(valid, add_special_tokens=False).ids
        return ids

    def _vector(self, tokens: Any) -> Vector:
        first: Vector = self._hidden(tokens)[0]
        vector: Vector = first / self._np.linalg.norm(first)
        return vector

    def _hidden(self, tokens: Any) -> Vector:
        """The vector of each token between the two that stand around all texts, and of these."""
        np = self._np
        ids = np.array([[self._first, *tokens, self._last]], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        try:
            hidden: Any = self._session.run(["last_hidden_state"], inputs, self._running)[0]
        except Exception as error:  # the runtime's classes share no parent; want of memory is one of them
            if self._running.terminate:
                raise closed() from error
            message = f"The built-in embedding model failed: {error}"
            raise unavailable(message, reason=str(error)) from error
        vectors: Vector = hidden[0]
        return vectors


def unavailable(message: str, *, reason: str, permanent: bool = False) -> UnavailableError:
    """The error of a model in this process; ``permanent`` if waiting does not help."""
    error = UnavailableError(message, service="embedding", reason=reason)
    if permanent:
        error.details["permanent"] = True
    return error


def closed() -> UnavailableError:
    """The error of a model that is not there any more."""
    return unavailable("The built-in embedding model is closed", reason="closed", permanent=True)


def _verify(file: Path, digest: str) -> None:
    try:
        with file.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        message = f"A file of the built-in embedding model cannot be read: {error}"
        raise unavailable(message, reason=str(error), permanent=True) from error
    if found != digest:
        message = (
            f"A file of the built-in embedding model is damaged: {file} has the SHA-256 {found} instead of {digest}; "
            "installing OpenViking again brings it back"
        )
        raise unavailable(message, reason=f"{file.name} is damaged", permanent=True)
