"""Adding what was uploaded: trees, names, collisions, tags, tasks, failures, and whose they are."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from openviking.model.identity import Identity
from openviking.service.imports import names
from openviking.service.services import Services

WHO = Identity(account="default", user="default", role="root")
Zip = Callable[[Mapping[str, str | bytes]], bytes]


def tree(api: Any, uri: str) -> list[str]:
    return [str(one).removeprefix(f"{uri}/") for one in api.get("fs/tree", uri=uri, simple=True)]


def test_a_document_becomes_a_directory_with_it(api: Any) -> None:
    done = api.add(b"# Penguins\n\nThey eat krill.\n", "guide.md", reason="conformance")
    assert (done["status"], done["root_uri"], done["errors"]) == ("success", "viking://resources/guide", [])
    assert set(done["queue_status"]) == {"Semantic", "Embedding"}
    assert set(done["queue_status"]["Semantic"]) == {"processed", "requeue_count", "error_count", "errors"}
    assert "task_id" not in done
    assert tree(api, "viking://resources/guide") == ["guide.md"]
    assert api.post("search/find", query="krill", target_uri="viking://resources/guide", level=2)["total"] == 1


def test_a_zip_becomes_its_tree(api: Any, zipped: Zip) -> None:
    data = zipped({"x.md": "# X\n", "sub/y.txt": "yodel", ".hidden/z.txt": "z", "node_modules/m.js": "m"})
    done = api.add(data, "tmp8s7d.zip", source_name="folder")
    assert done["root_uri"] == "viking://resources/folder"
    assert tree(api, "viking://resources/folder") == ["sub", "sub/y.txt", "x.md"]
    assert done["meta"]["created"] == 2
    assert {one["path"] for one in done["meta"]["skipped_files"]} == {".hidden/", "node_modules/"}


@pytest.mark.parametrize(
    ("source_name", "filename", "file", "stem"),
    [
        (None, "guide.md", "guide.md", "guide"),
        ("Guide to krill.md", "tmp123.md", "Guide to krill.md", "Guide to krill"),
        ("guide", "tmp123.md", "guide.md", "guide"),
        ("2601.00014", "x.pdf", "2601.00014.pdf", "2601.00014"),
        ("../../etc/passwd", "x.md", "passwd.md", "passwd"),
        ("C:\\docs\\a.md", "x.md", "a.md", "a"),
        ("  ", "x.md", "x.md", "x"),
        ("folder", "tmp.zip", "folder.zip", "folder"),
        ("my.folder.v1", "tmp.ZIP", "my.folder.v1.zip", "my.folder.v1"),
        ("folder.zip", "tmp", "folder.zip", "folder"),
        ("Makefile", "Makefile", "Makefile", "Makefile"),
    ],
)
def test_names(source_name: str | None, filename: str, file: str, stem: str) -> None:
    assert names(source_name, filename) == (file, stem)


def test_the_same_file_twice_gets_another_root(api: Any) -> None:
    roots = [api.add(b"words", "guide.md")["root_uri"] for _ in range(3)]
    assert roots == [f"viking://resources/guide{suffix}" for suffix in ("", "_1", "_2")]


def test_the_same_target_twice_is_brought_up_to_date(api: Any, zipped: Zip) -> None:
    root = "viking://resources/docs"
    files = {f"f{n}.md": f"# File {n}\n\ntext {n}\n" for n in range(5)}
    assert api.add(zipped(files), "docs.zip", to=root)["meta"]["created"] == 5
    api.write(f"{root}/manual-note.md", "mine")
    assert api.add(zipped(files), "docs.zip", to=root)["meta"]["unchanged"] == 5
    del files["f0.md"]
    changed = api.add(zipped({**files, "f1.md": "# File 1\n\nzebra\n"}), "docs.zip", to=root)
    assert changed["root_uri"] == root
    assert [changed["meta"][name] for name in ("created", "updated", "unchanged", "removed")] == [0, 1, 3, 1]
    assert api.add(b"other words", "other.md", to=root)["root_uri"] == root
    assert tree(api, root) == ["f1.md", "f2.md", "f3.md", "f4.md", "manual-note.md", "other.md"]


def test_where_it_goes(api: Any) -> None:
    assert api.add(b"w", "a.md", parent="viking://resources")["root_uri"] == "viking://resources/a"
    assert api.add(b"w", "a.md", to="viking://resources")["root_uri"] == "viking://resources/a_1"
    assert api.add(b"w", "a.md", to="viking://~/resources/x/y")["root_uri"] == "viking://user/default/resources/x/y"
    assert api.add(b"w", "a.md", to="viking://resources/{calendar:year}")["root_uri"].startswith("viking://resources/2")
    made = api.add(b"w", "a.md", parent="viking://resources/new/deep", create_parent=True)
    assert made["root_uri"] == "viking://resources/new/deep/a"
    api.write("viking://resources/file.md", "x")
    for body, answer in (
        ({"parent": "viking://resources/none"}, (404, "NOT_FOUND")),
        ({"parent": "viking://resources/file.md"}, (400, "INVALID_ARGUMENT")),
        ({"to": "viking://resources/file.md"}, (400, "INVALID_ARGUMENT")),
        ({"to": "viking://~/memories/x"}, (400, "INVALID_ARGUMENT")),
        ({"to": "viking://temp/x"}, (400, "INVALID_URI")),
        ({"to": "viking://resources/../x"}, (403, "PERMISSION_DENIED")),
        ({"to": "viking://resources/a", "parent": "viking://resources"}, (400, "INVALID_ARGUMENT")),
    ):
        assert api.refused("resources", temp_file_id=api.upload(b"x"), wait=True, **body) == answer, body


def test_tags_options_and_warnings(api: Any, zipped: Zip) -> None:
    root = "viking://resources/t"
    data = zipped({"a.md": "apple", "b.txt": "banana", "skip/c.md": "cherry", "d.log": "date"})
    done = api.add(
        data, "t.zip", to=root, tags=["Team=Bird", "nonsense"], include="*.md,*.txt", exclude="b*", ignore_dirs="skip",
        preserve_structure=False,
    )  # fmt: skip
    assert tree(api, root) == ["a.md"]
    assert len(done["warnings"]) == 2
    assert api.get("fs/attrs", uri=f"{root}/a.md")["attrs"]["tags"] == ["team=bird"]
    changed = zipped({"a.md": "apple pie"})
    api.add(changed, "t.zip", to=root, tags=["lang=en"], tag_mode="append")
    assert api.get("fs/attrs", uri=f"{root}/a.md")["attrs"]["tags"] == ["lang=en", "team=bird"]
    api.add(zipped({"a.md": "apple tart"}), "t.zip", to=root, tags=["k=v"])
    assert api.get("fs/attrs", uri=f"{root}/a.md")["attrs"]["tags"] == ["k=v"]


def test_strict_refuses_binary_files_and_leaves_nothing(api: Any, zipped: Zip) -> None:
    data = zipped({"a.md": "apple", "b.bin": bytes(range(256))})
    answer = api.call(
        "POST", "resources", json={"temp_file_id": api.upload(data, "s.zip"), "strict": True, "wait": True}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_ARGUMENT")
    assert answer.json()["error"]["details"]["unsupported_files"] == ["b.bin"]
    assert api.get("fs/ls", uri="viking://resources") == []
    assert api.add(data, "s.zip")["meta"]["unsupported_files"][0]["path"] == "b.bin"


def test_what_can_not_be_imported_is_a_processing_error_and_leaves_nothing(api: Any, place: Path) -> None:
    answer = api.call("POST", "resources", json={"temp_file_id": api.upload(b"PK no zip", "bad.zip"), "wait": True})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "PROCESSING_ERROR")
    assert str(place) not in answer.text
    record = api.get(f"tasks/{answer.json()['error']['details']['task_id']}") if has_tasks(api) else {}
    assert record.get("status", "failed") == "failed"
    assert api.get("fs/ls", uri="viking://resources") == []
    assert list(place.glob("accounts/*/uploads/*")) == []


def has_tasks(api: Any) -> bool:
    return bool(api.call("GET", "tasks").status_code == 200)


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({}, (400, "INVALID_ARGUMENT")),
        ({"path": " "}, (400, "INVALID_ARGUMENT")),
        ({"path": "/etc/hostname"}, (403, "PERMISSION_DENIED")),
        ({"path": "C:\\x"}, (403, "PERMISSION_DENIED")),
        ({"path": "./x"}, (403, "PERMISSION_DENIED")),
        ({"path": "file:///etc/passwd"}, (403, "PERMISSION_DENIED")),
        ({"path": "gopher://x/y"}, (400, "INVALID_ARGUMENT")),
        ({"path": "http://10.0.0.1/a.md"}, (403, "PERMISSION_DENIED")),
        ({"path": "http://localhost/repo.git"}, (403, "PERMISSION_DENIED")),
        ({"path": "ssh://git@host:2222/repo"}, (400, "INVALID_ARGUMENT")),
        ({"path": "https://x.org/a", "add_type": "feishu", "to": "viking://resources/a"}, (501, "UNIMPLEMENTED")),
        ({"path": "https://x.org/a", "acl": []}, (501, "UNIMPLEMENTED")),
        ({"path": "https://x.org/a", "args": {"to": "x"}}, (400, "INVALID_ARGUMENT")),
        ({"path": "https://x.org/a", "unknown": 1}, (400, "INVALID_ARGUMENT")),
        ({"path": "https://x.org/a", "tag_mode": "clear"}, (400, "INVALID_ARGUMENT")),
        ({"path": "https://x.org/a", "processing_mode": "fast"}, (400, "INVALID_ARGUMENT")),
        ({"path": "https://x.org/a", "timeout": -1}, (400, "INVALID_ARGUMENT")),
        ({"temp_file_id": 5}, (400, "INVALID_ARGUMENT")),
    ],
)
def test_requests_without_an_upload(api: Any, body: dict[str, Any], answer: tuple[int, str]) -> None:
    assert api.refused("resources", **body) == answer


def test_the_upload_wins_over_a_path_and_can_not_be_watched(api: Any) -> None:
    assert api.add(b"w", "a.md", path="/etc/passwd")["root_uri"] == "viking://resources/a"
    assert api.refused("resources", temp_file_id=api.upload(b"w"), watch_interval=5.0) == (400, "INVALID_ARGUMENT")
    assert api.add(b"w", "b.md", args={"parse_mode": "no_split"}, watch_interval=0.0)["status"] == "success"


def test_without_wait_there_is_a_task_with_stages_and_a_result(
    api: Any, services: Services, until: Callable[[Callable[[], object]], None]
) -> None:
    done = api.post("resources", temp_file_id=api.upload(b"# Words\n\nkrill", "a.md"), to="viking://resources/a")
    assert set(done) == {"status", "task_id", "root_uri"}
    assert done["root_uri"] == "viking://resources/a"
    until(lambda: services.tasks.get(WHO, done["task_id"])["status"] == "completed")
    record = services.tasks.get(WHO, done["task_id"])
    assert (record["task_type"], record["resource_id"], record["stage"]) == (
        "add_resource", "viking://resources/a", "finalizing",
    )  # fmt: skip
    assert record["result"]["created"] == 1
    assert api.get("content/read", uri="viking://resources/a/a.md") == "# Words\n\nkrill"


def test_a_target_that_was_removed_does_not_come_back(idle: tuple[Any, Services], zipped: Zip) -> None:
    api, services = idle
    data = zipped({f"f{n}.md": f"text {n}" for n in range(5)})
    done = api.post("resources", temp_file_id=api.upload(data, "big.zip"))
    api.delete(done["root_uri"], recursive=True)
    services.tenancy.worker.drain(services.tenancy.accounts.of("default"), 30)
    record = services.tasks.get(WHO, done["task_id"])
    assert (record["status"], record["error"]) == ("failed", "The target was removed before the import began")
    assert api.call("GET", "fs/ls", params={"uri": done["root_uri"]}).status_code == 404


def test_a_target_that_was_moved_is_filled_where_it_is(idle: tuple[Any, Services], zipped: Zip) -> None:
    api, services = idle
    done = api.post("resources", temp_file_id=api.upload(zipped({"f.md": "text"}), "big.zip"))
    api.post("fs/mv", from_uri=done["root_uri"], to_uri="viking://resources/moved")
    services.tenancy.worker.drain(services.tenancy.accounts.of("default"), 30)
    assert api.get("content/read", uri="viking://resources/moved/f.md") == "text"


def test_a_cancelled_task_writes_nothing_more(idle: tuple[Any, Services], zipped: Zip) -> None:
    api, services = idle
    done = api.post("resources", temp_file_id=api.upload(zipped({"f.md": "text"}), "c.zip"), to="viking://resources/c")
    assert services.tasks.cancel(WHO, done["task_id"])["status"] == "cancelled"
    services.tenancy.worker.drain(services.tenancy.accounts.of("default"), 30)
    # Nor does the root stay that was reserved for it.
    assert api.call("GET", "fs/ls", params={"uri": "viking://resources/c"}).status_code == 404
    assert api.add(zipped({"g.md": "text"}), "c.zip", to="viking://resources/c")["meta"]["created"] == 1


def test_wait_ends_at_its_deadline_and_the_import_goes_on(
    api: Any, zipped: Zip, until: Callable[[Callable[[], object]], None]
) -> None:
    data = zipped({f"f{n}.md": f"# File {n}\n\ntext {n}\n" for n in range(200)})
    answer = api.call("POST", "resources", json={"temp_file_id": api.upload(data, "d.zip"), "wait": True, "timeout": 0})
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "DEADLINE_EXCEEDED")
    root = answer.json()["error"]["details"]["root_uri"]
    until(lambda: len(api.get("fs/ls", uri=root)) == 200)


def test_imports_of_several_at_once_do_not_wait_for_each_other(api: Any, zipped: Zip) -> None:
    data = zipped({f"f{n}.md": f"# File {n}\n\ntext {n}\n" for n in range(20)})
    done: list[str] = []
    threads = [threading.Thread(target=lambda: done.append(api.add(data, "same.zip")["root_uri"])) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(done) == [f"viking://resources/same{suffix}" for suffix in ("", "_1", "_2", "_3")]
    assert api.post("system/consistency", uri="viking://")["ok"]


def test_another_users_tree_is_no_target(tenants: Callable[[str, str], Any]) -> None:
    alice, bob = tenants("acme", "alice"), tenants("acme", "bob")
    done = alice.add(b"alicesecret", "a.md", to="viking://~/resources/a")
    assert done["root_uri"] == "viking://user/alice/resources/a"
    for to in ("viking://user/alice/resources/b", done["root_uri"]):
        assert bob.refused("resources", temp_file_id=bob.upload(b"x"), to=to) == (403, "PERMISSION_DENIED")
    assert bob.refused("system/consistency", uri=done["root_uri"]) == (403, "PERMISSION_DENIED")
    assert bob.post("search/find", query="alicesecret")["total"] == 0
