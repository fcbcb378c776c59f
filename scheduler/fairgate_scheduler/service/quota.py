"""The configuration: read it, and change it with a preview of what that does to the jobs of now."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from fairgate_scheduler.core.config_checks import check_config
from fairgate_scheduler.core.jobs import Job
from fairgate_scheduler.core.outlook import Outlook
from fairgate_scheduler.core.snapshot import Snapshot
from fairgate_scheduler.core.tenancy import Config
from fairgate_scheduler.documents.config_file import Check, read_config
from fairgate_scheduler.documents.problems import DocumentError
from fairgate_scheduler.documents.render import ConfigChange, diff_configs
from fairgate_scheduler.ports import ConfigVersion
from fairgate_scheduler.service.app import App
from fairgate_scheduler.service.errors import Aborted, FailedPrecondition, InvalidArgument, NotFound, Violation
from fairgate_scheduler.service.past import Past
from fairgate_scheduler.service.preview import Moved, Preview, preview


@dataclass(frozen=True, slots=True)
class ApplyResult:
    """The version that is in force now (with ``validate_only``: that would be), what differs, and what comes of it.

    ``warnings``: what of it has no effect where the jobs run.
    """

    version: ConfigVersion
    changes: tuple[ConfigChange, ...]
    preview: Preview
    warnings: tuple[str, ...] = ()


def get_config(app: App) -> ConfigVersion:
    """The configuration in force. Raises NotFound before the first one is applied."""
    version = app.config_version()
    if version is None:
        raise NotFound("no configuration is applied yet", remedy="apply one: fairgate quota apply -f config.yaml")
    return version


def apply_config(
    app: App, source: str, etag: str | None = None, validate_only: bool = False, by: str = "", comment: str = ""
) -> ApplyResult:
    """Make a document the configuration in force, as a new version, unless it changes nothing.

    ``etag``: only if the version in force is still this one.

    Raises:
        InvalidArgument: something in the document is wrong; all of it, with lines.
        Aborted: the etag is stale.
        FailedPrecondition: a tenant with jobs that have not ended would be gone or have tenants below it.
    """
    config = read_source(source, app.runner.objections)
    now_ms = app.clock.now_ms()
    before = app.config_version()
    if etag is not None and etag != (before.etag if before else ""):
        raise _stale()
    _check_tenants_in_use(config, app.snapshot())
    result = _result(app, ConfigVersion(_etag(source, before), source, config, now_ms, by, comment), before)
    if validate_only:
        return replace(result, preview=_with_starts(app, result.preview, now_ms))
    if before is not None and before.source == source:
        return result
    with app.write() as writing:
        stored = writing.transaction.get_config()
        if (stored.etag if stored else None) != (before.etag if before else None):
            raise _stale()
        _check_tenants_in_use(config, app.snapshot())
        writing.put_config(result.version)
    return result


def read_source(source: str, *more: Check) -> Config:
    """The configuration of a document. Raises InvalidArgument with every problem and its line."""
    try:
        config = read_config(source, checks=(check_config, *more))
    except DocumentError as error:
        raise InvalidArgument(
            Violation(
                f"config.{each.path}" if each.path else "config", f"line {each.line}: {each.message}", each.remedy
            )
            for each in error.problems
        ) from error
    return config


def parse(source: str, name: str = "config.yaml") -> Config:
    """The configuration of a document that lies in a file of this name.

    Raises:
        DocumentError: with everything in it that is wrong.
    """
    return read_config(source, name)


def _result(app: App, version: ConfigVersion, before: ConfigVersion | None) -> ApplyResult:
    if before is not None and before.source == version.source:
        version = before
    changes = tuple(diff_configs(before.config if before else Config(), version.config))
    outlook = preview(_with_past_under(app, version.config), version.config, app.clock.now_ms())
    return ApplyResult(version, changes, outlook, tuple(app.runner.remarks(version.config)))


def _with_past_under(app: App, config: Config) -> Snapshot:
    """The jobs of now, with the past as it counts under this configuration: its budgets have periods of their own."""
    snapshot, now_ms = app.snapshot(), app.clock.now_ms()
    with app.read() as transaction:
        past = Past.load(transaction, config, now_ms)
    return replace(snapshot, history=past.history(snapshot.running, now_ms), spent=past.spent(now_ms))


def _with_starts(app: App, outlook: Preview, now_ms: int) -> Preview:
    """With when those that would wait start, and when they start as it is."""
    if not outlook.reasons:
        return outlook
    before = app.prospects.of_these(app.snapshot(), now_ms)
    after = app.prospects.of_these(outlook.after, now_ms)
    moved = {job: Moved(_latest_ms(before, job), _latest_ms(after, job)) for job in outlook.reasons}
    return replace(outlook, latest_starts=moved)


def _latest_ms(outlooks: Mapping[str, Outlook], job: str) -> int | None:
    return outlooks[job].latest_start_ms if job in outlooks else None


def _check_tenants_in_use(config: Config, snapshot: Snapshot) -> None:
    live = Counter(job.tenant for job in _live(snapshot))
    for tenant, count in sorted(live.items()):
        jobs = f"{count} job{'s' if count > 1 else ''} of {tenant!r} ha{'ve' if count > 1 else 's'} not ended"
        if tenant not in config.tenants:
            raise FailedPrecondition(
                jobs, field=f"tenants[{tenant}]", remedy="keep the tenant, or cancel its jobs first"
            )
        if not config.is_leaf(tenant):
            remedy = "give it no tenants below it, or cancel its jobs first"
            raise FailedPrecondition(jobs, field=f"tenants[{tenant}]", remedy=remedy)


def _live(snapshot: Snapshot) -> list[Job]:
    return [entry.job for entry in snapshot.running] + list(snapshot.pending)


def _etag(source: str, before: ConfigVersion | None) -> str:
    """Differs from version to version, also when an old document is applied again."""
    text = f"{before.etag if before else ''}\n{source}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _stale() -> Aborted:
    message = "the configuration was changed since it was read"
    return Aborted(message, field="etag", remedy="read it again (fairgate quota diff), then apply")
