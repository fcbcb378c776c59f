"""``fairgate submit``: manifests of files and standard input → jobs, one or many."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from fairgate import _errors
from fairgate._cli import forecasts, names, waiting
from fairgate._cli.manifest_files import ManifestDocument, read_documents, read_file
from fairgate._cli.plain import dump, to_plain
from fairgate._cli.report import relocate, report, usage_error, warn
from fairgate._cli.session import OutputFormat, Session, session_of
from fairgate._cli.yaml_nodes import Tree, read_trees
from fairgate._errors import FairgateError, Violation
from fairgate._models import Job, OptionCharge, Submission
from fairgate._options import parse_options

app = typer.Typer()


@dataclass(frozen=True, slots=True)
class OptionFile:
    """Options from a file of their own."""

    options: tuple[Mapping[str, Any], ...]
    tree: Tree | None = None

    def locate(self, violation: Violation) -> Violation:
        """The line of an option that was refused."""
        if self.tree is None or not violation.field.startswith("job.options"):
            return violation
        path = violation.field.removeprefix("job.options")
        return Violation(f"{self.tree.place(path)}: options{path}", violation.message, violation.remedy)


@dataclass(frozen=True, slots=True)
class After:
    """What to do once the jobs are submitted."""

    is_waiting: bool
    is_showing_logs: bool
    timeout: str | None
    output: OutputFormat


@app.command()
def submit(
    context: typer.Context,
    files: Annotated[list[str], typer.Option("--file", "-f", help="A manifest file, a folder of them, or - (stdin).")],
    tenant: Annotated[str | None, typer.Option(help="The tenant, a leaf of the tenant tree.")] = None,
    priority: Annotated[str | None, typer.Option(help="A number, or a configured name.")] = None,
    time_limit: Annotated[str | None, typer.Option(help="How long it may run at speed 1, such as 90m.")] = None,
    no_preempt: Annotated[bool, typer.Option("--no-preempt", help="It may not be evicted.")] = False,
    fallback_after: Annotated[str | None, typer.Option(help="How long it waits for its better options.")] = None,
    option_file: Annotated[Path | None, typer.Option(help="A YAML list of the options to run it.")] = None,
    workload: Annotated[str | None, typer.Option(help="The workload class, for configured speeds.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="KEY=VALUE, to filter by.")] = None,
    name: Annotated[str | None, typer.Option(help="The job's id; else it is made from the manifest's name.")] = None,
    request_id: Annotated[str | None, typer.Option(help="Sent again it makes no second job.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would become of it; submit nothing.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended; exit 1 unless it succeeded.")] = False,
    logs: Annotated[bool, typer.Option("--logs", help="As --wait, with the job's output.")] = False,
    timeout: Annotated[str | None, typer.Option(help="How long to wait at most, such as 2h.")] = None,
    output: Annotated[OutputFormat, typer.Option("--output", "-o")] = OutputFormat.TABLE,
) -> None:
    """Submit RayJob manifests.

    What is not said here is taken from the manifest's annotations fairgate.internal/…
    """
    session = session_of(context)
    option_list = _read_options(option_file)
    given = Submission(
        "",
        tenant=tenant,
        job_id=name,
        request_id=request_id,
        priority=_priority(priority),
        time_limit=time_limit,
        preemptible=False if no_preempt else None,
        fallback_after=fallback_after,
        options=option_list.options,
        workload=workload,
        labels=_labels(label or ()),
        dry_run=dry_run,
    )
    _run(session, files, given, option_list, After(wait or logs, logs, timeout, output))


def _run(session: Session, files: Sequence[str], given: Submission, option_list: OptionFile, after: After) -> None:
    documents = _chosen(session, list(read_documents(files)))
    if len(documents) > 1:
        single = {"--name": given.job_id, "--request-id": given.request_id, "--logs": after.is_showing_logs or None}
        _refuse_for_many(single)
    answers = _submit(session, documents, given, option_list)
    code = _show(session, documents, answers, after.output, given)
    jobs = [answer for answer in answers if isinstance(answer, Job)]
    if after.is_waiting and not given.dry_run:
        ended = waiting.wait_for(session, [job.name for job in jobs], after.timeout, with_logs=after.is_showing_logs)
        code = code or ended.code
        jobs = list(ended.jobs)
    if after.output in (OutputFormat.JSON, OutputFormat.YAML):
        errors = [answer for answer in answers if not isinstance(answer, Job)]
        value: object = jobs[0] if len(answers) == 1 and jobs else _bulk(jobs, errors)
        if jobs or len(answers) > 1:
            sys.stdout.write(dump(value, after.output))
    if code:
        raise typer.Exit(code)


def _submit(
    session: Session, documents: Sequence[ManifestDocument], given: Submission, option_list: OptionFile
) -> list[Job | FairgateError]:
    items = [replace(given, manifest=document.text) for document in documents]
    if len(items) > 1:
        answers = session.client.submit_many(items)
    else:
        fields = {each: getattr(given, each) for each in Submission.__dataclass_fields__ if each != "manifest"}
        try:
            answers = [session.client.submit(items[0].manifest, **fields)]
        except (_errors.Unavailable, _errors.DeadlineExceeded, _errors.Unauthenticated):
            raise
        except FairgateError as error:
            answers = [error]
    used = {field for field, value in _given_fields(given).items() if value is not None}

    def moved(document: ManifestDocument, error: FairgateError) -> FairgateError:
        return relocate(error, lambda violation: _locate(violation, document, option_list, used))

    return [
        answer if isinstance(answer, Job) else moved(document, answer)
        for document, answer in zip(documents, answers, strict=True)
    ]


def _locate(violation: Violation, document: ManifestDocument, option_list: OptionFile, used: set[str]) -> Violation:
    """The option of the command line, the line of the option file or of the manifest that a violation is about."""
    if violation.field in used:
        return violation
    found = option_list.locate(violation)
    return document.locate(violation) if found is violation else found


def _given_fields(given: Submission) -> dict[str, object]:
    priority = given.priority
    return {
        "parent": given.tenant,
        "tenant": given.tenant,
        "job_id": given.job_id,
        "request_id": given.request_id,
        "job.priority": priority,
        "job.priority_class": priority,
        "job.time_limit": given.time_limit,
        "job.fallback_after": given.fallback_after,
        "job.workload": given.workload,
    }


def _show(
    session: Session,
    documents: Sequence[ManifestDocument],
    answers: Sequence[Job | FairgateError],
    output: OutputFormat,
    given: Submission,
) -> int:
    """Print what became of each; the exit code of the first that was refused."""
    code, dry_run = 0, given.dry_run
    for document, answer in zip(documents, answers, strict=True):
        if isinstance(answer, FairgateError):
            refused = report(session, answer)
            code = code or refused
            continue
        for text in answer.warnings:
            warn(session, f"{document.file}: {text}")
        if given.job_id is None and document.name not in ("", answer.id):
            verb = "would be named like" if dry_run else "is named"
            session.say(f"the name {document.name} is taken; this one {verb} {answer.id}")
        if output is OutputFormat.NAME:
            session.out.print(answer.name, markup=False)
        elif output in (OutputFormat.TABLE, OutputFormat.WIDE):
            verb = "would be submitted" if dry_run else "submitted"
            session.out.print(f"{names.short_job(answer.name)} {verb}", markup=False)
            for charge in answer.charges if dry_run else ():
                session.out.print(f"  {charge_line(charge)}", markup=False)
            _show_prospect(session, answer, dry_run=dry_run)
    return code


def _show_prospect(session: Session, job: Job, *, dry_run: bool) -> None:
    """What would become of a job that was only looked at."""
    if not dry_run or job.forecast is None:
        return
    if job.hold is not None:
        session.out.print(f"  {job.hold.reason}: {job.hold.message}", markup=False)
    for line in forecasts.lines(job.forecast):
        session.out.print(f"  {line}", markup=False)


def charge_line(charge: OptionCharge) -> str:
    """What one option of a job is charged, in a line."""
    rows = ", ".join(f"{row.flavor}/{row.resource} {row.amount}" for row in charge.rows)
    return f"option {charge.option} on {charge.flavor} at speed {charge.speed}: {rows}"


def _chosen(session: Session, documents: list[ManifestDocument]) -> list[ManifestDocument]:
    """Without what is not Ray's, if something of Ray's is left. Raises InvalidArgument if nothing is."""
    chosen = [each for each in documents if not each.is_of_kubernetes]
    if documents and not chosen:
        remedy = "write a RayJob of ray.io/v1, or bring it there with kubectl"
        message = "only RayJobs are submitted"
        raise _errors.InvalidArgument(
            [
                Violation(f"{each.tree.place('kind')}: kind", f"is {each.kind!r}; {message}", remedy)
                for each in documents
            ]
        )
    for each in documents:
        if each.is_of_kubernetes:
            warn(session, f"{each.tree.place('kind')}: a {each.kind} is not submitted; bring it there with kubectl")
    return chosen


def _refuse_for_many(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value is not None:
            raise usage_error(f"{name} is for one manifest", "leave it out, or submit them one by one", name)


def _priority(text: str | None) -> int | str | None:
    if text is None:
        return None
    return int(text) if text.lstrip("-").isdigit() and text.isascii() and len(text) < 12 else text


def _labels(pairs: Sequence[str]) -> dict[str, str]:
    labels = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise usage_error(f"{pair!r} is not a label", "write KEY=VALUE", "--label")
        labels[key] = value
    return labels


def _read_options(file: Path | None) -> OptionFile:
    if file is None:
        return OptionFile(())
    text = read_file(file)
    trees = read_trees(text, str(file))
    if len(trees) != 1:
        raise usage_error(f"has {len(trees)} documents", "write one list of options", str(file))
    data = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - a safe loader that takes every value as it is written
    found = OptionFile((), trees[0])
    try:
        parse_options(data, "job.options")
    except FairgateError as error:
        raise relocate(error, found.locate) from None
    return OptionFile(tuple(data), trees[0])


def _bulk(jobs: Sequence[Job], errors: Sequence[FairgateError]) -> dict[str, Any]:
    return {
        "jobs": to_plain(jobs),
        "errors": [
            {"error": type(error).__name__, "reason": error.reason, "violations": to_plain(error.violations)}
            for error in errors
        ],
    }
