"""skills and add-skill: directories with a SKILL.md that agents can use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from openviking.cli.asking import confirm
from openviking.cli.commands.search import levels
from openviking.cli.door import opened
from openviking.cli.embedded import Embedded
from openviking.cli.options import Command, Group, Invocation
from openviking.cli.output import Output
from openviking.cli.progress import shown_progress
from openviking.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from openviking.cli.remote import Remote
    from openviking.cli.screen import Screen

DEFINITION: Final = "SKILL.md"
ROOT_HELP: Final = "The root of the skills: viking://agent/skills, or the caller's own (default)."


@click.group("skills", cls=Group)
def skills_command() -> None:
    """Look after skills."""


def add_command_of(name: str) -> click.Command:
    """The command that adds a skill; it has two names."""

    @click.command(name, cls=Command)
    @click.argument("source", metavar="PATH|TEXT")
    @click.option("-s", "--skill", "skills", multiple=True, metavar="NAME", help="Only these of the source; * is all.")
    @click.option("-l", "--list", "list_only", is_flag=True, help="Only say which there are.")
    @click.option("-w", "--wait", is_flag=True, help="Return when it can be found.")
    @click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Longest --wait.")
    @click.option("-y", "--yes", is_flag=True, help="Accepted; nothing is asked.")
    @click.option("-p", "--parent-auto-create", "--uri", "root", metavar="URI", help=ROOT_HELP)
    @click.pass_obj
    def add(
        invocation: Invocation, source: str, skills: tuple[str, ...], list_only: bool, wait: bool, timeout: float | None,
        yes: bool, root: str | None,
    ) -> None:  # fmt: skip
        """Add a skill, or replace the one of its name.

        A folder with a SKILL.md, such a file, or its text.
        """
        del yes
        if "\n" not in source and not source.lstrip().startswith("{") and not Path(source).expanduser().exists():
            # The text of a SKILL.md has several lines.
            raise NotFoundError(source, "path")
        fields: dict[str, Any] = {}
        if skills:
            fields["skills"] = list(skills)
        if list_only:
            fields["list_only"] = True
        invocation.interrupted = "it was not complete: nothing was added"
        with opened(invocation, create=True) as store, shown_progress(invocation, "sending") as show:
            given = {"wait": wait, "timeout": timeout, "target_uri": root, "source_metadata": _metadata(source)}
            if isinstance(store, Embedded):
                added = store.add_skill(source, **given, **fields)
            else:
                added = _sent(store, show, source, options=fields or None, **given)
        Output(invocation).rows(added)

    return add


def _sent(server: Remote, show: Any, source: str, **given: Any) -> Any:
    from openviking.cli.transfer import carried_out
    from openviking_sdk.calls import skills

    return carried_out(server, skills.add_skill(server.client.settings.upload, source, **given), show)


def _metadata(source: str) -> dict[str, str] | None:
    """Where a skill came from, by which it is brought up to date later; None for a text."""
    if "\n" in source or not Path(source).expanduser().exists():
        return None
    return {"type": "local", "source": source, "path": str(Path(source).expanduser().resolve())}


add_skill_command = add_command_of("add-skill")
skills_command.add_command(add_command_of("add"))


@skills_command.command("list", cls=Command)
@click.option("-n", "--node-limit", type=int, default=1000, show_default=True, help="Most skills.")
@click.option("-p", "--uri", "root", metavar="URI", help=ROOT_HELP)
@click.pass_obj
def skills_list_command(invocation: Invocation, node_limit: int, root: str | None) -> None:
    """List the skills."""
    with opened(invocation) as store:
        found = store.list_skills(node_limit=node_limit, target_uri=root)
    Output(invocation).result(found, lambda screen: _draw(screen, found))


@skills_command.command("find", cls=Command)
@click.argument("query")
@click.option("-n", "--node-limit", type=int, default=10, show_default=True, help="Most skills.")
@click.option("-t", "--threshold", type=float, help="Only scores above this (0 to 1).")
@click.option("-L", "--level", callback=levels, metavar="0,1,2", help="Abstracts (0), overviews (1), files (2).")
@click.option("-p", "--uri", "root", metavar="URI", help=ROOT_HELP)
@click.pass_obj
def skills_find_command(
    invocation: Invocation,
    query: str,
    node_limit: int,
    threshold: float | None,
    level: list[int] | None,
    root: str | None,
) -> None:
    """Find the skills that answer QUERY, best first."""
    with opened(invocation) as store:
        found = store.find_skills(query, limit=node_limit, score_threshold=threshold, level=level, target_uri=root)
    Output(invocation).result(found, lambda screen: _draw(screen, found))


@skills_command.command("show", cls=Command)
@click.argument("name")
@click.option("-L", "--level", type=click.IntRange(0, 2), help="The abstract (0), the overview (1), SKILL.md (2).")
@click.option("-f", "--files", is_flag=True, help="Its files as well.")
@click.option("--source", is_flag=True, help="Where it came from as well.")
@click.option("--format", "shape", type=click.Choice(["table", "json"]), help="The same as --output.")
@click.option("-p", "--uri", "root", metavar="URI", help=ROOT_HELP)
@click.pass_obj
def skills_show_command(
    invocation: Invocation, name: str, level: int | None, files: bool, source: bool, shape: str | None, root: str | None
) -> None:
    """Show a skill."""
    invocation.output = shape or invocation.output
    with opened(invocation) as store:
        skill = store.get_skill(name, include_files=files, include_source=source, level=level, target_uri=root)
    Output(invocation).result(skill, lambda screen: _draw_one(screen, skill))


@skills_command.command("update", cls=Command)
@click.argument("names", nargs=-1)
@click.option("-w", "--wait", is_flag=True, help="Return when they can be found.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask.")
@click.option("-p", "--parent-auto-create", "--uri", "root", metavar="URI", help=ROOT_HELP)
@click.pass_obj
def skills_update_command(
    invocation: Invocation, names: tuple[str, ...], wait: bool, yes: bool, root: str | None
) -> None:
    """Bring skills up to date from where they came from.

    Without NAMES all of them.
    """
    confirm(yes, f"Update {', '.join(names) or 'all skills'}?")
    with opened(invocation) as store:
        wanted = names or _all(store, root)
        updated = [_updated(store, name, wait=wait, root=root) for name in wanted]
    Output(invocation).rows({"updated": updated, "updated_names": list(wanted), "total": len(updated)})


@skills_command.command("remove", cls=Command)
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All skills.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask.")
@click.option("-p", "--parent-auto-create", "--uri", "root", metavar="URI", help=ROOT_HELP)
@click.pass_obj
def skills_remove_command(
    invocation: Invocation, names: tuple[str, ...], everything: bool, yes: bool, root: str | None
) -> None:
    """Remove skills."""
    if bool(names) == everything:
        raise click.UsageError("Name the skills, or give --all.")
    confirm(yes, f"Remove {', '.join(names) or 'all skills'}?")
    with opened(invocation) as store:
        wanted = names or _all(store, root)
        removed = [store.delete_skill(name, target_uri=root) for name in wanted]
    Output(invocation).rows({"removed": removed, "removed_names": list(wanted), "total": len(removed)})


@skills_command.command("validate", cls=Command)
@click.argument("location", metavar="PATH")
@click.option("--strict", is_flag=True, help="What would be a warning is an error.")
@click.pass_obj
def skills_validate_command(invocation: Invocation, location: str, strict: bool) -> None:
    """Check a SKILL.md of this machine, or the one of a folder."""
    file = Path(location).expanduser()
    if file.is_dir():
        file /= DEFINITION
    if not file.is_file():
        raise NotFoundError(str(file), "file")
    try:
        text = file.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"{file} is not text in UTF-8 (byte {error.start})") from error
    except OSError as error:
        raise InvalidArgumentError(f"{file} can't be read: {error.strerror or error}") from error
    with opened(invocation) as store:
        told = store.validate_skill(text, strict, str(file), skill_dir_name=file.absolute().parent.name)
    word = "succeeded" if told.get("valid") else "failed"
    checked = {**told, "message": f"Skill validation {word}."}
    Output(invocation).rows(checked)
    if not checked.get("valid"):
        errors = [str(one.get("message")) for one in checked.get("errors") or ()]
        raise InvalidArgumentError("; ".join(errors) or "The skill is not valid")


def _all(store: Embedded | Remote, root: str | None) -> tuple[str, ...]:
    return tuple(one["name"] for one in store.list_skills(target_uri=root)["skills"])


def _updated(store: Embedded | Remote, name: str, *, wait: bool, root: str | None) -> Any:
    """The answer of replacing a skill by what its source holds now."""
    skill = store.get_skill(name, include_content=False, include_files=False, include_source=True, target_uri=root)
    source = skill.get("source") or {}
    path = source.get("path")
    if source.get("type") != "local" or not isinstance(path, str):
        raise FailedPreconditionError(f"Where the skill {name} came from is not recorded: add it again", resource=name)
    if not Path(path).exists():
        raise NotFoundError(path, "path")
    return store.update_skill(name, Path(path), wait=wait, target_uri=root, source_metadata=source)


def _draw(screen: Screen, found: dict[str, Any]) -> None:
    skills = found.get("skills") or []
    screen.line((f"{len(skills)} skill{'' if len(skills) == 1 else 's'}", "title"))
    for number, skill in enumerate(skills, 1):
        score = f"  {skill['score']:.3f}" if isinstance(skill.get("score"), float) else ""
        screen.line(
            (f"{number:>2}. ", "dim"), (skill["name"], "strong"), (score, "number"), "  ", (skill["uri"], "uri")
        )
        screen.line(str(skill.get("description") or ""), indent=4, wrap=True)


def _draw_one(screen: Screen, skill: dict[str, Any]) -> None:
    from openviking.cli.views.cells import rows

    long = ("content", "overview", "files")
    rows(screen, {name: value for name, value in skill.items() if name not in long})
    for file in skill.get("files") or ():
        screen.line(("file  ", "label"), (file["uri"], "uri"))
    text = skill.get("content") or skill.get("overview") or ""
    for line in ("", *str(text).splitlines()) if text else ():
        screen.line(line)
