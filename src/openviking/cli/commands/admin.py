"""admin: accounts, users, roles and keys of a server."""

from __future__ import annotations

import json
from typing import Any, Final

import click

from openviking.cli.commands.absent import absent
from openviking.cli.door import served
from openviking.cli.options import Command, Group, Invocation
from openviking.cli.output import Output

ACCOUNT_COLUMNS: Final = ("account_id", "user_count", "created_at")
USER_COLUMNS: Final = ("user_id", "role", "user_key", "api_key", "created_at")
SECRETS: Final = ("user_key", "api_key")
ROLES: Final = click.Choice(["user", "admin"])


@click.group("admin", cls=Group)
def admin_command() -> None:
    """Administer accounts, users and keys (server only)."""


def _config(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"--user-config-json is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise click.UsageError("--user-config-json is a JSON object.")
    return value


@admin_command.command("create-account", cls=Command)
@click.argument("account_id")
@click.option("--admin", "admin_user", required=True, metavar="USER", help="Its first admin.")
@click.option("--seed", metavar="TEXT", help="What the key is made from; without it by chance.")
@click.option("--user-config-json", metavar="JSON", help="Settings of the admin.")
@click.pass_obj
def admin_create_account_command(
    invocation: Invocation, account_id: str, admin_user: str, seed: str | None, user_config_json: str | None
) -> None:
    """Make an account with its first admin.

    Shows the key of the admin.
    """
    config = _config(user_config_json)
    with served(invocation) as server:
        made = server.admin_create_account(account_id, admin_user, config, seed=seed)
    Output(invocation).rows(made)


@admin_command.command("list-accounts", cls=Command)
@click.pass_obj
def admin_list_accounts_command(invocation: Invocation) -> None:
    """List the accounts."""
    with served(invocation) as server:
        accounts = server.admin_list_accounts()
    Output(invocation).table(accounts, ACCOUNT_COLUMNS)


@admin_command.command("delete-account", cls=Command)
@click.argument("account_id")
@click.pass_obj
def admin_delete_account_command(invocation: Invocation, account_id: str) -> None:
    """Remove an account with its users and all their data."""
    with served(invocation) as server:
        gone = server.admin_delete_account(account_id)
    Output(invocation).rows(gone)


@admin_command.command("register-user", cls=Command)
@click.argument("account_id")
@click.argument("user_id")
@click.option("--role", type=ROLES, default="user", show_default=True, help="What the user may do.")
@click.option("--seed", metavar="TEXT", help="What the key is made from; without it by chance.")
@click.option("--user-config-json", metavar="JSON", help="Settings of the user.")
@click.pass_obj
def admin_register_user_command(
    invocation: Invocation, account_id: str, user_id: str, role: str, seed: str | None, user_config_json: str | None
) -> None:
    """Make a user, whose key it shows."""
    config = _config(user_config_json)
    with served(invocation) as server:
        made = server.admin_register_user(account_id, user_id, role, config, seed=seed)
    Output(invocation).rows(made)


@admin_command.command("list-users", cls=Command)
@click.argument("account_id")
@click.option("--limit", type=int, default=100, show_default=True, help="Most users.")
@click.option("--name", metavar="GLOB", help="Only these names.")
@click.option("--role", type=ROLES, help="Only these.")
@click.pass_obj
def admin_list_users_command(
    invocation: Invocation, account_id: str, limit: int, name: str | None, role: str | None
) -> None:
    """List the users of an account.

    A table masks their keys.
    """
    with served(invocation) as server:
        users = server.admin_list_users(account_id, limit, name, role)
    masked = [{key: masked_key(value) if key in SECRETS else value for key, value in one.items()} for one in users]
    output = Output(invocation)
    output.table(users, USER_COLUMNS, masked, has_more=users.has_more)
    if users.has_more:
        output.remark("there are more; use --limit", "warn")


@admin_command.command("remove-user", cls=Command)
@click.argument("account_id")
@click.argument("user_id")
@click.pass_obj
def admin_remove_user_command(invocation: Invocation, account_id: str, user_id: str) -> None:
    """Remove a user.

    The key dies at once, the data with a task.
    """
    with served(invocation) as server:
        gone = server.admin_remove_user(account_id, user_id)
    Output(invocation).rows(gone)


@admin_command.command("set-role", cls=Command)
@click.argument("account_id")
@click.argument("user_id")
@click.argument("role")
@click.pass_obj
def admin_set_role_command(invocation: Invocation, account_id: str, user_id: str, role: str) -> None:
    """Change what a user may do."""
    with served(invocation) as server:
        changed = server.admin_set_role(account_id, user_id, role)
    Output(invocation).rows(changed)


@admin_command.command("regenerate-key", cls=Command)
@click.argument("account_id")
@click.argument("user_id")
@click.option("--seed", metavar="TEXT", help="What the key is made from; without it by chance.")
@click.pass_obj
def admin_regenerate_key_command(invocation: Invocation, account_id: str, user_id: str, seed: str | None) -> None:
    """Give a user another key, and show it.

    The old one is dead at once.
    """
    with served(invocation) as server:
        made = server.admin_regenerate_key(account_id, user_id, seed)
    Output(invocation).rows(made)


def masked_key(key: Any) -> Any:
    """A key as a table may show it: its first characters."""
    return f"{key[:4]}…" if isinstance(key, str) and len(key) > 12 else "…" if key else key


for _name in (
    "migrate", "create-group", "list-groups", "delete-group", "list-group-members", "add-group-member",
    "remove-group-member",
):  # fmt: skip
    admin_command.add_command(absent(_name, "GET", "/api/v1/admin/configuration"))
