"""Skills over HTTP: uploads with one or several, and the shapes of answers."""

from __future__ import annotations

from typing import Any

SKILL = "---\nname: {}\ndescription: {}\n---\n\n# Body\n"


def told(answer: Any) -> tuple[int, Any]:
    body = answer.json()
    return answer.status_code, body.get("result", body.get("error", {}).get("code"))


def test_a_skill_is_added_found_shown_changed_and_removed(api: Any) -> None:
    data = {"name": "greet", "description": "Greets people politely", "content": "# Greet\nsay hello"}
    added = api.post("skills", data=data, temp_file_id=None, timeout=None, source_metadata=None, wait=True)
    assert (added["status"], added["uri"]) == ("success", "viking://user/default/skills/greet")
    found = api.post("skills/find", query="greets people politely", limit=1)
    assert [one["name"] for one in found["skills"]] == ["greet"]
    assert "say hello" in api.get("skills/greet", include_content=True)["content"]
    assert api.get("skills", node_limit=1)["total"] == 1
    changed = api.call("PUT", "skills/greet", json={"data": {**data, "description": "Greets all"}, "telemetry": True})
    assert (changed.json()["result"]["action"], changed.json()["telemetry"]["summary"]["operation"]) == (
        "update",
        "skills.update",
    )
    assert told(api.call("PUT", "skills/greet", json={"data": {**data, "name": "other"}})) == (400, "INVALID_ARGUMENT")
    assert told(api.call("PUT", "skills/none", json={"data": {**data, "name": "none"}})) == (404, "NOT_FOUND")
    assert api.post("skills/validate", data={"description": "d"})["valid"] is False
    assert told(api.call("GET", "skills/greet", params={"level": 3})) == (400, "INVALID_ARGUMENT")
    assert api.result(api.call("DELETE", "skills/greet"))["name"] == "greet"
    assert told(api.call("DELETE", "skills/greet")) == (404, "NOT_FOUND")


def test_bodies_are_strict(api: Any) -> None:
    body: Any
    for body in ({}, {"data": {}}, {"data": 5}, {"data": SKILL.format("x", "d"), "nonsense": 1}, {"data": ["x"]}):
        assert api.refused("skills", **body) == (400, "INVALID_ARGUMENT"), body
    assert api.refused("skills", data="/etc/passwd") == (403, "PERMISSION_DENIED")
    assert api.refused("skills", temp_file_id="upload_none") == (403, "PERMISSION_DENIED")
    assert api.refused("skills/find", query=" ") == (400, "INVALID_ARGUMENT")


def test_an_upload_of_one_file_is_a_skill_and_used_up(api: Any) -> None:
    upload = api.upload(SKILL.format("file", "From a file").encode(), "SKILL.md")
    assert api.post("skills", temp_file_id=upload)["name"] == "file"
    assert api.refused("skills", temp_file_id=upload) == (403, "PERMISSION_DENIED")
    for bad in (b"\xff\xfe\xfa", b"no skill"):
        assert api.refused("skills", temp_file_id=api.upload(bad, "SKILL.md")) == (400, "INVALID_ARGUMENT")


def test_a_zip_may_hold_several_skills_and_what_is_refused_is_listed(api: Any, zipped: Any) -> None:
    files = {
        "pack/one/SKILL.md": SKILL.format("one", "first"),
        "pack/one/bin/run.sh": "echo hi",
        "pack/one/inner/SKILL.md": SKILL.format("inner", "belongs to one"),
        "pack/two/deep/SKILL.md": SKILL.format("two", "second"),
        "pack/nameless/SKILL.md": "---\ndescription: d\n---\n",
        "pack/evil/SKILL.md": SKILL.format("../x", "d"),
        "pack/zwilling/SKILL.md": SKILL.format("two", "another"),
        "../escaped/SKILL.md": SKILL.format("escaped", "d"),
        "README.md": "of no skill",
    }
    added = api.post("skills", temp_file_id=api.upload(zipped(files), "pack.zip"))
    assert [(one["name"], one["auxiliary_files"]) for one in added["skills"]] == [("one", 2), ("two", 0)]
    assert sorted(one["path"] for one in added["refused"]) == [
        "pack/evil/SKILL.md", "pack/nameless/SKILL.md", "pack/zwilling/SKILL.md",
    ]  # fmt: skip
    assert any("README.md" in warning for warning in added["warnings"])
    assert any("escaped" in warning for warning in added["warnings"])
    listed = {one["path"]: one["kind"] for one in api.get("skills/one")["files"]}
    assert listed == {
        ".abstract.md": "summary", ".overview.md": "summary", "SKILL.md": "definition", "bin": "directory", "bin/run.sh": "auxiliary", "inner": "directory",
        "inner/SKILL.md": "auxiliary",
    }  # fmt: skip
    assert [one["name"] for one in api.get("skills")["skills"]] == ["one", "two"]
    chosen = api.post("skills", temp_file_id=api.upload(zipped(files), "pack.zip"), skills=["two"])
    assert (chosen["name"], chosen["uri"]) == ("two", "viking://user/default/skills/two")


def test_a_zip_replaces_all_files_and_one_without_a_skill_is_refused(api: Any, zipped: Any) -> None:
    first = {"SKILL.md": SKILL.format("s", "d"), "old.md": "quokka"}
    api.post("skills", temp_file_id=api.upload(zipped(first), "s.zip"))
    second = {"s/SKILL.md": SKILL.format("s", "d"), "s/new.md": "numbat"}
    upload = api.upload(zipped(second), "s.zip")
    assert api.result(api.call("PUT", "skills/s", json={"temp_file_id": upload}))["auxiliary_files"] == 1
    listed = {one["path"] for one in api.get("skills/s")["files"] if one["kind"] != "summary"}
    assert listed == {"SKILL.md", "new.md"}
    for bad in (zipped({"a.md": "x"}), b"no zip", zipped({"SKILL.md": "---\nname: ../x\n---\n"})):
        status, _ = api.refused("skills", temp_file_id=api.upload(bad, "s.zip"))
        assert status == 400
    assert [one["name"] for one in api.get("skills")["skills"]] == ["s"]


def test_users_see_their_own_and_the_shared_ones(tenants: Any) -> None:
    alice, bob, eve = tenants("acme", "alice"), tenants("acme", "bob"), tenants("other", "alice")
    alice.post("skills", data=SKILL.format("private", "zorblax"))
    alice.post("skills", data=SKILL.format("shared", "zorblax"), target_uri="viking://agent/skills")
    assert [one["name"] for one in bob.get("skills")["skills"]] == ["shared"]
    assert [one["name"] for one in bob.post("skills/find", query="zorblax")["skills"]] == ["shared"]
    assert bob.call("GET", "skills/private").status_code == 404
    assert bob.refused("skills", data=SKILL.format("x", "d"), target_uri="viking://user/alice/skills")[0] == 403
    assert eve.get("skills")["total"] == 0


def test_an_upload_is_listed_without_being_used_up(api: Any, zipped: Any) -> None:
    files = {"pack/one/SKILL.md": SKILL.format("one", "d"), "pack/two/SKILL.md": SKILL.format("two", "d")}
    upload = api.upload(zipped(files), "pack.zip")
    for _ in range(2):
        listed = api.post("skills", temp_file_id=upload, list_only=True)
        assert [one["name"] for one in listed["skills"]] == ["one", "two"]
    assert api.get("skills")["total"] == 0
    chosen = api.post("skills", temp_file_id=upload, list_only=True, skills=["two"])
    assert [one["name"] for one in chosen["skills"]] == ["two"]
    assert api.post("skills", temp_file_id=upload)["total"] == 2
    # Now it is used up.
    assert api.refused("skills", temp_file_id=upload, list_only=True)[0] == 403
    assert api.refused("skills", temp_file_id=api.upload(b"no zip", "s.zip"), list_only=True)[0] == 400
