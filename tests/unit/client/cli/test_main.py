"""The command as a process: help, usage errors, bugs, other packages' commands, and a client without the server."""

import json
import os
import subprocess
import sys

import fairgate
import pytest
from fairgate import _errors
from fairgate._cli import main, other_words, plugins, report
from fairgate._cli.main import app
from typer.main import get_command
from typer.testing import CliRunner

BLOCKED = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"fairgate_scheduler", "ray", "sqlmodel", "alembic", "psutil"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Nothing())
from fairgate._cli.main import run
run()
"""


@pytest.fixture
def without_server(service):
    """Run the command in a process in which the server can not be imported."""
    environment = {**os.environ, "FAIRGATE_STATE_DIR": str(service.settings.folder), "COLUMNS": "100"}

    def run(*arguments, stdin=None):
        command = [sys.executable, "-c", BLOCKED, *arguments]
        return subprocess.run(command, capture_output=True, text=True, input=stdin, env=environment, check=False)

    return run


def test_the_client_works_without_the_server(without_server, manifest):
    result = without_server("submit", "-f", "-", "--tenant", "a", "--time-limit", "1h", stdin=manifest("train"))
    assert (result.returncode, result.stdout, result.stderr) == (0, "a/train submitted\n", "")
    result = without_server("get", "jobs", "-o", "json")
    assert json.loads(result.stdout)["jobs"][0]["name"] == "tenants/a/jobs/train"


@pytest.mark.parametrize("command", ["up", "simulate", "demo"])
def test_the_servers_commands_say_how_to_get_them(without_server, command):
    result = without_server(command, "file.yaml", "--json")
    assert (result.returncode, result.stdout) == (2, "")
    assert f"error: `fairgate {command}` needs the server, which can not be loaded" in result.stderr
    assert "fix: install it: pip install 'fairgate[server]'" in result.stderr
    assert "Traceback" not in result.stderr


def test_help_without_the_server(without_server):
    result = without_server("--help")
    assert result.returncode == 0
    for command in ("submit", "quota", "simulate", "demo"):
        assert f" {command} " in result.stdout


def test_the_servers_commands_join_by_their_entry_point():
    assert {"up", "simulate", "demo"} <= set(plugins.load())


def test_simulate(tmp_path):
    result = CliRunner().invoke(app, ["simulate", str(tmp_path / "none.yaml")])
    assert result.exit_code == 2
    assert result.stdout.startswith("INVALID ")


@pytest.mark.parametrize("arguments", [["sumbit"], ["get", "jbos"], ["get", "jobs", "--colour"], ["submit"]])
def test_usage_errors(arguments):
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Usage: " in result.stderr


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("delete", "job", "a/x"), "error: there is no `fairgate delete`\n  fix: use `fairgate cancel JOB`\n"),
        (("get", "events"), "error: there is no `fairgate get events`\n  fix: use `fairgate watch --after 0`\n"),
        (("apply", "-f", "x"), f"error: there is no `fairgate apply`\n  fix: use {other_words.COMMANDS['apply']}\n"),
    ],
)
def test_words_of_other_tools_are_answered_with_ours(arguments, error):
    result = CliRunner().invoke(app, arguments, prog_name="fairgate")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", error)


def test_every_command_has_help():
    runner = CliRunner()
    for command in ("submit", "get jobs", "describe job", "explain", "watch", "logs", "cancel", "update", "top",
                    "quota diff", "quota apply", "version"):  # fmt: skip
        result = runner.invoke(app, [*command.split(), "--help"])
        assert (result.exit_code, result.stderr) == (0, "")
        assert "Usage: " in result.stdout


def test_completion_can_be_printed():
    result = subprocess.run(
        [sys.executable, "-m", "fairgate", "--show-completion", "bash"], capture_output=True, text=True, check=False
    )
    assert "_FAIRGATE_COMPLETE" in result.stdout


def test_up_checks_its_options():
    result = CliRunner().invoke(app, ["up", "--grace-period", "soon"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'soon' is not a duration" in result.stderr


def test_version():
    assert CliRunner().invoke(app, ["version"]).stdout.startswith("fairgate ")
    assert set(json.loads(CliRunner().invoke(app, ["version", "-o", "json"]).stdout)) == {
        "fairgate",
        "grpcio",
        "python",
    }


def test_a_bug_is_told_without_a_traceback_and_with_one_to_those_who_ask(fg, monkeypatch):
    def broken(*_, **__):
        raise LookupError("nobody expected this")

    monkeypatch.setattr(fairgate.Client, "list", broken)
    result = fg("get", "jobs")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: this is a bug in fairgate: LookupError: nobody expected this\n  fix: ")
    assert "Traceback" not in result.stderr
    assert "Traceback" in fg("--debug", "get", "jobs").stderr


@pytest.fixture
def broken_server(monkeypatch):
    """The commands of a server package that can not be loaded because of a bug in it."""

    class Broken:
        name, value = "server", "server.cli:register"

        def load(self):
            raise NameError("name 'nothing' is not defined")

    monkeypatch.setattr(plugins, "entry_points", lambda group: [Broken()])
    monkeypatch.setattr(main.Commands, "_extra", None)


@pytest.mark.parametrize("arguments", [("--help",), (), ("version",), ("get", "jobs")])
def test_a_bug_in_the_server_leaves_the_client_alone(fg, broken_server, arguments):
    result = fg(*arguments)
    assert result.exit_code in (0, 2)  # 2: no arguments at all
    assert "Traceback" not in result.stderr + result.stdout
    assert "error" not in result.stderr


@pytest.mark.parametrize("command", ["up", "demo"])
def test_a_bug_in_the_server_is_told_by_its_commands(fg, broken_server, command):
    result = fg(command)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(
        "error: this is a bug in fairgate: NameError: name 'nothing' is not defined\n  fix: "
    )
    assert "Traceback" not in result.stderr
    assert "in load" in fg("--debug", command).stderr


@pytest.mark.parametrize("arguments", [("--help",), ("up",)])
def test_a_bug_before_a_command_is_found_is_told_without_a_traceback(fg, monkeypatch, arguments):
    def broken():
        raise NameError("name 'nothing' is not defined")

    monkeypatch.setattr(plugins, "load", broken)
    monkeypatch.setattr(main.Commands, "_extra", None)
    result = fg(*arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: this is a bug in fairgate: NameError")
    assert "Traceback" in fg("--debug", *arguments).stderr


def test_every_error_has_an_exit_code():
    kinds = {kind for kind in vars(_errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert kinds - {fairgate.FairgateError} == set(report.CODES)


@pytest.mark.parametrize(
    "arguments",
    [
        ("get", "jobs", "--call-timeout", "3s"),
        ("get", "--call-timeout=3", "jobs"),
        ("--call-timeout", "0.5", "get", "jobs"),
        ("get", "jobs", "--debug", "--call-timeout", "0.5s"),
    ],
)
def test_the_root_options_may_stand_anywhere(fg, arguments):
    result = fg(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no jobs\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("get", "jobs", "--address", "nowhere"), "error: --address: 'nowhere' is not an address"),
        (("get", "jobs", "--address"), "error: --address: needs a value\n  fix: write --address VALUE\n"),
        (("get", "jobs", "--call-timeout", "3 s"), "error: --call-timeout: '3 s' is not a duration"),
        (("get", "jobs", "--call-timeout", "0"), "error: --call-timeout: 0 is too short\n  fix: write 0.1s or more"),
    ],
)
def test_the_root_options_after_the_command_are_checked(fg, arguments, error):
    result = fg(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(error)


def test_no_command_has_an_option_of_the_name_of_a_root_option():
    found = []

    def walk(command):
        for child in [command.get_command(None, name) for name in command.list_commands(None)]:
            found.append(child.name)
            assert not main.ROOT_OPTIONS.keys() & {word for each in child.params for word in each.opts}
            if hasattr(child, "list_commands"):
                walk(child)

    root = get_command(app)
    assert main.ROOT_OPTIONS.keys() <= {word for each in root.params for word in each.opts}
    walk(root)
    assert {"submit", "jobs", "apply", "simulate"} <= set(found)


@pytest.mark.parametrize("arguments", [("--address", "nowhere", "get", "jobs"), ("--token-file", "/", "get", "jobs")])
def test_the_root_options_are_checked(fg, arguments):
    result = fg(*arguments)
    assert result.exit_code in (2, 4)
    assert result.stderr.startswith("error: ")
    assert "  fix: " in result.stderr


def test_data_on_standard_output_has_no_color_even_where_a_person_looks(fg, client, manifest, monkeypatch):
    client.submit(manifest("train"), tenant="a")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert json.loads(fg("get", "jobs", "-o", "json").stdout)
    assert "\x1b" in fg("get", "jobs").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR")
    assert "\x1b" not in fg("get", "jobs").stdout
