"""The import of a watched source, once more: the job that fetches it and updates what the watch fills."""

from __future__ import annotations

from openviking.config.settings import FetchSettings
from openviking.index.tags import accepted_tags
from openviking.model.identity import Identity
from openviking.model.imports import ImportOptions
from openviking.model.task import NewTask
from openviking.model.watch import Watch, without_secrets
from openviking.service.accounts import Accounts
from openviking.service.task_run import with_task
from openviking.service.watch_runs import Again
from openviking.store.jobs import TIDY, NewJob


def import_again(accounts: Accounts, fetch: FetchSettings) -> Again:
    """Makes the jobs of looks at sources; ``fetch`` says what may be asked."""
    return lambda identity, watch, internal: _job(accounts, fetch, identity, watch, internal=internal)


def _job(accounts: Accounts, fetch: FetchSettings, identity: Identity, watch: Watch, *, internal: bool) -> NewJob:
    """The job with its task; nothing is fetched or queued by it, only the place is reserved.

    Raises `FailedPreconditionError` where nothing is fetched, `PermissionDeniedError` for an address that may not be
    asked, and what `openviking.ingest.reserve.reserve` raises.
    """
    # The network is nothing that a find should have to load.
    from openviking.ingest.fetch.fetcher import Fetcher  # noqa: PLC0415
    from openviking.ingest.fetch.origin import origin_of  # noqa: PLC0415
    from openviking.service.import_step import OVER  # noqa: PLC0415
    from openviking.service.remote_imports import payload_of, reserved_place  # noqa: PLC0415

    request = watch.request
    args = request.get("args", {})
    origin = origin_of(watch.location, args)
    Fetcher(fetch, accounts.path).check(origin)
    options = ImportOptions.of(
        strict=request.get("strict", False), include=request.get("include"), exclude=request.get("exclude"),
        ignore_dirs=request.get("ignore_dirs"),
    )  # fmt: skip
    store = accounts.store(identity)
    place = reserved_place(identity, store, origin, watch.path, None, request.get("source_name"))
    told = NewTask(
        "add_resource", identity.user, watch.uri,
        {
            "source_name": without_secrets(watch.location), "reason": watch.reason, "instruction": watch.instruction,
            "watch_id": watch.id,
        },
        internal=internal,
    )  # fmt: skip
    tags, _ = accepted_tags(request.get("tags"))
    payload = payload_of(place, origin, args, options, tags, request.get("tag_mode", "append"))
    return with_task(NewJob("import", told.id, {**payload, TIDY: OVER}), told)
