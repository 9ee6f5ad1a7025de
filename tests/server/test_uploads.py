"""Files that are sent ahead: whose they are, how large they may be, how often they can be used, what is left of them."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from openviking.clock import now_ms
from openviking.config.settings import EmbeddingSettings, Settings, UploadSettings
from openviking.errors import InvalidArgumentError, PermissionDeniedError, ResourceExhaustedError
from openviking.model.identity import Identity
from openviking.model.task import NewTask
from openviking.server.app import create_app
from openviking.service.authentication import Rules
from openviking.service.services import Services
from openviking.service.task_run import with_task
from openviking.service.uploads import Uploads
from openviking.store.jobs import NewJob

EXPIRY_MS = 12 * 3_600_000
WHO = Identity(account="default", user="default", role="root")


def files(place: Path) -> list[Path]:
    return sorted(place.glob("accounts/*/uploads/*"))


def test_an_id_has_the_form_of_its_mode_and_the_extension_of_the_file(api: Any) -> None:
    assert re.fullmatch(r"upload_[0-9a-f]{32}\.md", api.upload(b"x", "notes.md"))
    assert re.fullmatch(r"upload_[0-9a-f]{32}\.gz", api.upload(b"x", "a.tar.gz", upload_mode="local"))
    assert re.fullmatch(r"upload_[0-9a-f]{32}", api.upload(b"x", "Makefile"))
    assert re.fullmatch(r"upload_[0-9a-f]{32}", api.upload(b"x", "a.b c/d"))
    shared = api.upload(b"shared words", "s.txt", upload_mode="shared")
    assert re.fullmatch(r"shared_[0-9]{13}-[0-9a-f]{32}\.txt", shared)
    assert api.post("resources", temp_file_id=shared, wait=True)["root_uri"] == "viking://resources/s"


def test_the_envelope_is_lean_and_telemetry_is_there_when_asked_for(api: Any) -> None:
    plain = api.call("POST", "resources/temp_upload", files={"file": ("a.md", b"x")}).json()
    assert set(plain) == {"status", "result"}
    told = api.call("POST", "resources/temp_upload", files={"file": ("a.md", b"x")}, data={"telemetry": "true"}).json()
    assert told["telemetry"]["summary"]["operation"] == "resources.temp_upload"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"data": {"telemetry": "false"}, "files": {"other": ("a", b"x")}}, "no part named file"),
        ({"json": {"file": "x"}}, "multipart/form-data"),
        ({"files": {"file": ("a", b"x")}, "data": {"upload_mode": "cloud"}}, "upload_mode"),
        ({"files": {"file": ("a", b"x")}, "data": {"telemetry": "maybe"}}, "telemetry"),
        ({"files": [("file", ("a", b"x")), ("file", ("b", b"y"))]}, "more than one"),
        ({"files": {"file": ("a", b"x")}, "data": {f"f{n}": "x" for n in range(20)}}, "parts"),
        ({"files": {"file": ("a", b"x")}, "data": {"reason": "x" * 100_000}}, "bytes"),
        ({"content": b"--b\r\nnonsense", "headers": {"Content-Type": "multipart/form-data; boundary=b"}}, "form"),
        ({"content": b"", "headers": {"Content-Type": "multipart/form-data"}}, "multipart"),
    ],
)
def test_what_is_no_upload_is_refused_and_leaves_nothing(api: Any, place: Path, sent: Any, said: str) -> None:
    answer = api.call("POST", "resources/temp_upload", **sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_ARGUMENT")
    assert said in answer.json()["error"]["message"]
    assert files(place) == []


def test_a_form_that_ends_early_leaves_nothing(api: Any, place: Path) -> None:
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\nhalf of it'
    answer = api.call(
        "POST", "resources/temp_upload", content=body, headers={"Content-Type": "multipart/form-data; boundary=b"}
    )
    assert answer.status_code == 400
    assert "closing boundary" in answer.json()["error"]["message"]
    assert files(place) == []


def test_a_token_that_nobody_gave_is_refused(api: Any) -> None:
    answer = api.call("POST", "resources/temp_upload?token=x", files={"file": ("a.md", b"x")})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "PERMISSION_DENIED")


def test_a_file_over_the_limit_is_refused_and_leaves_nothing(
    api: Any, services: Services, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services.uploads, "settings", UploadSettings(max_bytes=3_000_000))
    api.upload(b"x" * 3_000_000)
    there = files(place)
    answer = api.call("POST", "resources/temp_upload", files={"file": ("a.md", b"x" * 3_000_001)})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_ARGUMENT")
    assert files(place) == there


def test_a_body_announced_over_the_limit_is_refused_before_it_is_read(api: Any) -> None:
    answer = api.call(
        "POST", "resources/temp_upload", content=b"x",
        headers={"Content-Type": "multipart/form-data; boundary=b", "Content-Length": str(600 * 1024 * 1024)},
    )  # fmt: skip
    assert answer.status_code == 400
    assert "536,870,912" in answer.json()["error"]["message"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_large_upload_is_never_in_memory(serve: Callable[[], Any], place: Path) -> None:
    server, size = serve(), 101 * 1024 * 1024
    large = place.parent / "large.bin"
    with large.open("wb") as file:
        file.truncate(size)
    server.caller.upload(b"warm", "a.md")
    before = server.peak_bytes
    with large.open("rb") as file:
        answer = server.caller.call("POST", "resources/temp_upload", files={"file": ("large.bin", file)})
    assert answer.status_code == 200
    assert max(path.stat().st_size for path in files(place)) == size
    assert server.peak_bytes - before < size / 4


@pytest.mark.parametrize(
    "wrong",
    ["", "x", "../../x", "upload_" + "0" * 32, "upload_" + "0" * 31, "shared_" + "0" * 32, "upload_" + "0" * 32 + "/..",
     "upload_" + "0" * 32 + ".md\n", "upload_" + "A" * 32],
)  # fmt: skip
def test_unknown_and_malformed_ids_are_denied(api: Any, wrong: str) -> None:
    assert api.refused("resources", temp_file_id=wrong, wait=True) == (403, "PERMISSION_DENIED")


def test_an_upload_is_used_once(api: Any, place: Path) -> None:
    upload = api.upload(b"words", "a.md")
    assert api.refused("resources", temp_file_id=upload[:-3] + ".txt") == (403, "PERMISSION_DENIED")
    api.post("resources", temp_file_id=upload, wait=True)
    assert api.refused("resources", temp_file_id=upload, wait=True) == (403, "PERMISSION_DENIED")
    assert files(place) == []


def test_a_refused_request_does_not_use_it_up(api: Any) -> None:
    upload = api.upload(b"words", "a.md")
    missing = {"temp_file_id": upload, "parent": "viking://resources/none"}
    assert api.refused("resources", **missing) == (404, "NOT_FOUND")
    assert api.refused("resources", temp_file_id=upload, to="viking://resources/a", parent="viking://resources") == (
        400,
        "INVALID_ARGUMENT",
    )
    assert api.post("resources", **missing, create_parent=True, wait=True)["status"] == "success"


def test_of_two_calls_with_one_upload_one_gets_it(api: Any) -> None:
    upload = api.upload(b"words", "a.md")
    statuses: list[int] = []
    both = [
        threading.Thread(
            target=lambda: statuses.append(
                api.call("POST", "resources", json={"temp_file_id": upload, "wait": True}).status_code
            )
        )
        for _ in range(2)
    ]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert sorted(statuses) == [200, 403]
    assert [entry["uri"] for entry in api.get("fs/ls", uri="viking://resources")] == ["viking://resources/a"]


def test_several_at_once_stay_apart(api: Any) -> None:
    ids: dict[int, str] = {}

    def send(number: int) -> None:
        ids[number] = api.upload(f"words of {number}\n".encode() * 100_000, f"f{number}.txt")

    threads = [threading.Thread(target=send, args=(number,)) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(set(ids.values())) == 6
    api.post("resources", temp_file_id=ids[4], wait=True)
    assert api.get("content/read", uri="viking://resources/f4/f4.txt").startswith("words of 4\n")


def test_nobody_else_can_use_it(tenants: Callable[[str, str], Any]) -> None:
    alice, bob, eve = tenants("acme", "alice"), tenants("acme", "bob"), tenants("evil", "alice")
    upload = alice.upload(b"words", "a.md")
    for other in (bob, eve):
        assert other.refused("resources", temp_file_id=upload, wait=True) == (403, "PERMISSION_DENIED")
    assert alice.post("resources", temp_file_id=upload, wait=True)["status"] == "success"


@pytest.mark.usefixtures("api")
def test_a_new_user_of_the_same_name_does_not_inherit_it(services: Services, place: Path) -> None:
    uploads, old = services.uploads, Identity("default", "ann", "user", registration=None)
    incoming = uploads.begin(old, "a.md")
    incoming.write(b"x")
    upload = incoming.finish()
    assert uploads.find(old, upload.id).name == "a.md"
    record = next(place.glob("accounts/*/uploads/*.json"))
    record.write_text(json.dumps({**json.loads(record.read_text()), "registration": 7}))
    with pytest.raises(PermissionDeniedError):
        uploads.find(old, upload.id)


def test_it_expires_and_is_swept_away_with_what_a_killed_process_left(
    services: Services, api: Any, place: Path
) -> None:
    accounts = services.tenancy.accounts
    store = accounts.store(WHO)
    past = Uploads(accounts, clock=lambda: 1_000)
    old = past.begin(WHO, "old.md")
    old.write(b"x")
    expired = old.finish().id
    half = services.uploads.begin(WHO, "half.md")
    half.write(b"x" * 10)
    half._file.close()  # As its process ends.
    fresh = api.upload(b"fresh", "f.md")
    with pytest.raises(PermissionDeniedError):
        services.uploads.find(WHO, expired)
    ahead = Uploads(accounts, clock=lambda: now_ms() + EXPIRY_MS - 60_000)
    assert ahead.sweep(store, accounts.place(WHO)) == 5
    assert services.uploads.find(WHO, fresh).size == 5
    later = Uploads(accounts, clock=lambda: now_ms() + EXPIRY_MS + 60_000)
    assert later.sweep(store, accounts.place(WHO)) == 0
    assert files(place) == []
    assert store.jobs.next_due(("uploads",)) is not None
    assert store.jobs.waiting().get("uploads") is None


def test_a_sweep_leaves_what_a_task_is_to_import(services: Services, api: Any) -> None:
    accounts = services.tenancy.accounts
    upload = services.uploads.find(WHO, api.upload(b"fresh", "f.md"))
    services.uploads.take(WHO, upload.id, "0" * 32)
    later = Uploads(accounts, clock=lambda: now_ms() + 2 * EXPIRY_MS)
    store = accounts.store(WHO)
    assert later.sweep(store, accounts.place(WHO)) == 0  # Of a task that nobody knows.
    upload = services.uploads.find(WHO, api.upload(b"fresh", "f.md"))
    task = NewTask("add_resource", "default")
    store.jobs.enqueue(with_task(NewJob("kind of a later release", task.id, {}), task))
    services.uploads.take(WHO, upload.id, task.id)
    assert later.sweep(store, accounts.place(WHO)) == 1
    store.tasks.cancel(task.id)
    assert later.sweep(store, accounts.place(WHO)) == 0


@pytest.mark.usefixtures("api")
def test_the_service_refuses_too_much_piece_by_piece(services: Services, place: Path) -> None:
    incoming = services.uploads.begin(WHO, None)
    incoming._size = services.uploads.settings.max_bytes
    with pytest.raises(InvalidArgumentError):
        incoming.write(b"x")
    incoming.abandon()
    assert files(place) == []


@pytest.mark.usefixtures("api")
def test_what_a_removed_user_sent_is_removed(services: Services, place: Path) -> None:
    ann = Identity("default", "ann", "user")
    for who in (ann, WHO):
        incoming = services.uploads.begin(who, "a.md")
        incoming.write(b"x")
        upload = incoming.finish()
    assert services.uploads.forget("default", "ann") == 1
    assert len(files(place)) == 2
    assert services.uploads.find(WHO, upload.id).size == 1


@pytest.mark.usefixtures("api")
def test_only_so_many_of_a_user_wait(services: Services, place: Path) -> None:
    def send(user: str, size: int = 10) -> str:
        incoming = uploads.begin(Identity("default", user, "user"), "a.md")
        incoming.write(b"x" * size)
        return incoming.finish().id

    accounts = services.tenancy.accounts
    uploads = Uploads(accounts, settings=UploadSettings(max_waiting=3, max_waiting_bytes=1000))
    sent = [send("ann") for _ in range(3)]
    with pytest.raises(ResourceExhaustedError, match="3 uploads of yours with 30 bytes wait"):
        send("ann")
    assert len(files(place)) == 6
    send("bob", 999)
    send("bob", 10)
    with pytest.raises(ResourceExhaustedError, match="1,009 bytes"):
        send("bob")
    uploads.remove(uploads.take(Identity("default", "ann", "user"), sent[0], "task"))
    send("ann")
    later = Uploads(accounts, lambda: now_ms() + EXPIRY_MS + 1, settings=uploads.settings)
    later.begin(Identity("default", "ann", "user"), "a.md").abandon()


@pytest.mark.usefixtures("api")
def test_a_disk_that_is_nearly_full_takes_no_more(
    services: Services, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openviking.service.uploads.RESERVE_BYTES", 1 << 60)
    incoming = services.uploads.begin(WHO, "a.md")
    with pytest.raises(ResourceExhaustedError, match="no room"):
        incoming.write(b"x")
    incoming.abandon()
    assert files(place) == []


def test_limits_are_configured(place: Path) -> None:
    settings = Settings(
        path=place,
        workers=0,
        embedding=EmbeddingSettings(provider="none"),
        uploads=UploadSettings(default_mode="shared", max_bytes=100, ttl_seconds=60),
    )
    services = Services(settings, Rules.of(None, None, "127.0.0.1"))
    with TestClient(create_app(services)) as client:
        files = {"file": ("a.md", b"x" * 100)}
        sent = client.post("/api/v1/resources/temp_upload", files=files).json()["result"]["temp_file_id"]
        assert sent.startswith("shared_")
        refused = client.post("/api/v1/resources/temp_upload", files={"file": ("a.md", b"x" * 101)})
        assert (refused.status_code, "100 bytes" in refused.text) == (400, True)
        assert services.uploads.find(WHO, sent).size == 100
        later = Uploads(services.tenancy.accounts, lambda: now_ms() + 61_000, settings=settings.uploads)
        with pytest.raises(PermissionDeniedError):
            later.find(WHO, sent)
