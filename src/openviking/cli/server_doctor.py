"""``openviking-server doctor``: looks at what a server needs, and says what to do about what is wrong."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from openviking.config.file import find_file, load_settings
from openviking.config.settings import ChatSettings, RerankSettings, Settings
from openviking.errors import OpenVikingError

PROBE = "Where does the ferry to the island leave?"

Finding = tuple[str, str, str]
"""``ok``, ``warning`` or ``wrong``; what was found; what to do."""


def doctor(config: str | None, host: str | None, port: int | None, home: Path, *, env: Mapping[str, str]) -> int:
    """Print what was found; 1 if anything is wrong, else 0."""
    wrong = 0
    for state, found, advice in findings(config, host, port, home, env):
        print(f"{ {'ok': '✓', 'warning': '!', 'wrong': '✗'}[state] } {found}")
        if advice:
            print(f"    {advice}")
        wrong += state == "wrong"
    print("All is well." if not wrong else f"{wrong} to be mended.")
    return 1 if wrong else 0


def findings(
    config: str | None, host: str | None, port: int | None, home: Path, env: Mapping[str, str]
) -> Iterator[Finding]:
    """What there is to be said, one after the other; without readable settings nothing else is looked at."""
    file = find_file(config, env=env, home=home)
    try:
        settings = load_settings(config, env=env, home=home)
    except OpenVikingError as error:
        yield "wrong", f"configuration: {error.message}", "Mend the file; docs/configuration.md has every key."
        return
    server = settings.server
    server = replace(server, host=host or server.host, port=server.port if port is None else port)
    settings = replace(settings, server=server)
    yield "ok", f"configuration: {file or 'none, everything has its default'}", ""
    if file is not None and file.stat().st_mode & 0o077 and _keys(settings):
        yield "warning", f"configuration: others of this machine can read the keys in {file}", f"chmod 600 {file}"
    for look in (_address, _disk, _index, _model, _chat, _rerank):
        yield from look(settings)


def _keys(settings: Settings) -> bool:
    rerank, models = settings.rerank, (settings.embedding, settings.vlm, settings.query_planner, settings.rerank)
    return bool(settings.server.root_api_key or rerank.sk or rerank.api_secret or any(one.api_key for one in models))


def _address(settings: Settings) -> Iterator[Finding]:
    from openviking.server.main import bound, rules_of

    try:
        mode = rules_of(settings).mode
    except OpenVikingError as error:
        yield "wrong", f"address: {error.message}", ""
        return
    try:
        bound(settings.server.host, settings.server.port).close()
    except OpenVikingError as error:
        yield "warning", f"address: {error.message}", "If that is your server, all is well."
        return
    yield "ok", f"address: {settings.server.host} port {settings.server.port} is free ({mode} mode)", ""


def _disk(settings: Settings) -> Iterator[Finding]:
    from openviking.service.observer import disk_trouble

    path = settings.path
    there = next(one for one in (path, *path.parents) if one.exists())
    trouble = disk_trouble(there) if there.is_dir() else "is no directory"
    if trouble is None:
        with contextlib.suppress(OSError):
            # Rights alone do not tell of a disk that is mounted for reading only.
            handle, name = tempfile.mkstemp(dir=there, prefix=".openviking-doctor-")
            os.close(handle)
            Path(name).unlink()
            yield "ok", f"disk: {path} can be written to, {_free(there)} free", ""
            return
        trouble = "nothing can be written there"
    yield "wrong", f"disk: {path}: {trouble}", "Make room, or name another place in storage.workspace."


def _free(path: Path) -> str:
    import shutil

    return f"{shutil.disk_usage(path).free / 1e9:.1f} GB"


def _index(settings: Settings) -> Iterator[Finding]:
    if not (settings.path / "accounts").is_dir():
        yield "ok", "index: nothing is stored yet", ""
        return
    from openviking.service.authentication import Rules
    from openviking.service.services import Services
    from openviking.store.system import Page

    quiet = replace(settings, workers=0, embedding=replace(settings.embedding, provider="none"))
    quiet = replace(quiet, vlm=ChatSettings(), query_planner=ChatSettings(), rerank=RerankSettings())
    with contextlib.closing(Services(quiet, Rules.of("dev", None, "127.0.0.1"))) as services:
        try:
            registered = [one.id for one in services.tenancy.system.accounts(Page())[0]]
            names = registered or [settings.server.default_account]
            for name in names:
                store = services.tenancy.accounts.of(name)
                with store.read() as view:
                    stats = view.stats(0)
                problems = store.check()
                failed = len(store.jobs.failed())
                if problems:
                    yield (
                        "wrong",
                        f"index of {name}: {problems[0]} ({len(problems)} in all)",
                        "Restore a backup, or report it.",
                    )
                elif failed:
                    yield "warning", f"index of {name}: {failed} jobs were given up", "Add what is missing again."
                else:
                    yield "ok", f"index of {name}: {stats.files} files, {stats.records} records, sound", ""
        except OpenVikingError as error:
            yield "wrong", f"index: {error.message}", "Is another program holding the data directory?"


def _model(settings: Settings) -> Iterator[Finding]:
    if settings.embedding.provider == "none":
        yield "ok", "embedding model: none, words answer alone", ""
        return
    from openviking.providers.selection import embedder_of

    def call() -> int:
        embedder = embedder_of(settings.embedding)
        if embedder is None:
            return 0
        with contextlib.closing(embedder):
            return len(embedder.query(PROBE, timeout=max(settings.embedding.timeout, 10.0)))

    yield from _called(call, settings)


def _called(call: Callable[[], int], settings: Settings) -> Iterator[Finding]:
    import time

    name = settings.embedding.model or settings.embedding.provider
    began = time.monotonic()
    try:
        numbers = call()
    except OpenVikingError as error:
        advice = "Look at embedding.dense in the configuration: address, key, model. Until then words answer alone."
        yield "wrong", f"embedding model {name}: {error.message}", advice
        return
    taken = time.monotonic() - began
    yield "ok", f"embedding model {name}: answers with {numbers} numbers in {taken:.2f} s", ""


def _chat(settings: Settings) -> Iterator[Finding]:
    """The models that plan queries, called with the prompt of a plan."""
    if (settings.vlm, settings.query_planner) == (ChatSettings(), ChatSettings()):
        yield "ok", "chat model: none, queries are not planned", ""
        return
    from openviking.providers.chat_selection import chat_of
    from openviking.retrieve.intent import Conversation, messages_for
    from openviking.retrieve.intent_answer import NoPlan, read_plan

    prompt = messages_for(Conversation("", (("user", "We want to see the island."),)), PROBE)
    for section, told in (("vlm", settings.vlm), ("query_planner", settings.query_planner)):
        if told == ChatSettings():
            continue

        def call(section: str = section, told: ChatSettings = told) -> str:
            chat = chat_of(told, section)
            if chat is None:
                return ""
            with contextlib.closing(chat):
                answer = chat.complete(prompt, timeout=min(max(told.timeout, 10.0), 60.0))
            try:
                return f"plans {len(read_plan(answer.text).queries)} queries"
            except NoPlan as error:
                return f"answers, but with no plan ({error}); queries stay as they are asked"

        advice = f"Look at {section} in the configuration: address, key, model. Until then queries are not planned."
        yield from _timed(f"chat model {told.model} ({section})", call, advice)


def _rerank(settings: Settings) -> Iterator[Finding]:
    """The model that orders hits anew, called with two documents."""
    from openviking.providers.rerank.selection import provider_of, reranker_of

    def call() -> str:
        reranker = reranker_of(settings.rerank)
        if reranker is None:
            return ""
        with contextlib.closing(reranker):
            scores = reranker.scores(
                PROBE,
                ["The ferry leaves at pier two.", "Bread and butter."],
                timeout=max(settings.rerank.timeout, 10.0),
            )
        return f"gives scores such as {', '.join('none' if one is None else f'{one:.3g}' for one in scores)}"

    try:
        provider = provider_of(settings.rerank)
    except OpenVikingError as error:
        yield "wrong", f"rerank model: {error.message}", ""
        return
    if provider == "none":
        yield "ok", "rerank model: none", ""
        return
    advice = "Look at rerank in the configuration: address, key, model. Until then hits keep the order of the search."
    yield from _timed(f"rerank model ({provider})", call, advice)


def _timed(name: str, call: Callable[[], str], advice: str) -> Iterator[Finding]:
    import time

    began = time.monotonic()
    try:
        found = call()
    except OpenVikingError as error:
        yield "wrong", f"{name}: {error.message}", advice
        return
    yield "ok", f"{name}: {found}, in {time.monotonic() - began:.2f} s", ""
