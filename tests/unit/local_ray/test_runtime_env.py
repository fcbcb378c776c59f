"""Which runtime envs the local runner can give, and what it makes of them."""

import http.server
import os
import subprocess
import threading
import zipfile
from functools import partial
from pathlib import Path

import pytest
from fairgate_scheduler.adapters.local_ray import prepare
from fairgate_scheduler.adapters.local_ray.prepare import PreparationError, make_workplace
from fairgate_scheduler.adapters.local_ray.runtime_env import RuntimeEnv, read_runtime_env


@pytest.fixture
def base(tmp_path):
    folder = tmp_path / "base"
    (folder / "code" / "__pycache__").mkdir(parents=True)
    (folder / "code" / "train.py").write_text("print('train')")
    (folder / "code" / "__pycache__" / "train.pyc").write_text("")
    (folder / "lib" / "helpers").mkdir(parents=True)
    (folder / "lib" / "helpers" / "__init__.py").write_text("")
    (folder / "requirements.txt").write_text("tiny==1.0\n")
    return folder


def zip_of(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, name)
    return path


def test_everything_that_is_supported_is_understood(base):
    text = """
    working_dir: ./code
    py_modules: [lib/helpers]
    env_vars: {A: "1"}
    pip: {packages: [tiny==1.0], pip_install_options: [--no-index]}
    excludes: ["*.bin"]
    config: {setup_timeout_seconds: 5}
    """
    env, problems = read_runtime_env(text, base)
    assert problems == []
    assert env == RuntimeEnv(
        working_dir=str(base / "code"),
        py_modules=(str(base / "lib" / "helpers"),),
        env_vars={"A": "1"},
        pip=("--no-index", "tiny==1.0"),
        passed_on={"excludes": ["*.bin"], "config": {"setup_timeout_seconds": 5}},
    )
    assert RuntimeEnv.from_plain(env.plain()) == env


@pytest.mark.parametrize(
    ("text", "env"),
    [
        ("", RuntimeEnv()),
        ("pip: [a, b>=2]", RuntimeEnv(pip=("a", "b>=2"))),
        ("working_dir: https://example.com/code.zip", RuntimeEnv(working_dir="https://example.com/code.zip")),
    ],
)
def test_short_forms(base, text, env):
    assert read_runtime_env(text, base) == (env, [])


def test_a_requirements_file_counts_from_the_base_directory(base):
    assert read_runtime_env("pip: requirements.txt", base)[0].pip == ("-r", str(base / "requirements.txt"))


def test_a_file_url_is_a_path(base):
    assert read_runtime_env(f"working_dir: file://{base}/code", base)[0].working_dir == str(base / "code")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[", "runtimeEnvYAML: is not YAML"),
        ("- a", "runtimeEnvYAML: must be a map"),
        ("conda: x", "runtimeEnvYAML.conda: the local runner does not support this; list the packages under pip"),
        ("image_uri: x", "runtimeEnvYAML.image_uri: the local runner does not support this; images need Kubernetes"),
        (
            "workingdir: x",
            "runtimeEnvYAML.workingdir: the local runner does not support this; it knows config, env_vars",
        ),
        ("working_dir: nowhere", "runtimeEnvYAML.working_dir: no directory or zip file"),
        ("working_dir: requirements.txt", "runtimeEnvYAML.working_dir: no directory or zip file"),
        ("working_dir: s3://b/c.zip", "runtimeEnvYAML.working_dir: the local runner can not fetch 's3://b/c.zip'"),
        ("working_dir: [code]", "runtimeEnvYAML.working_dir: must be a directory or a zip file"),
        ("py_modules: lib", "runtimeEnvYAML.py_modules: must be a list"),
        ("py_modules: [lib/nothing]", "runtimeEnvYAML.py_modules[0]: no directory 'lib/nothing'"),
        ("env_vars: {A: 1}", "runtimeEnvYAML.env_vars: must be a map of texts to texts"),
        ("env_vars: {FAIRGATE_JOB: x}", "runtimeEnvYAML.env_vars.FAIRGATE_JOB: Fairgate sets FAIRGATE_* itself"),
        ("pip: nothing.txt", "runtimeEnvYAML.pip: no requirements file"),
        ("pip: 3", "runtimeEnvYAML.pip: must be a list of requirements"),
        ("pip: {pakages: [a]}", "runtimeEnvYAML.pip.pakages: unknown; pip has packages, pip_check"),
        ("pip: {packages: [1]}", "runtimeEnvYAML.pip.packages: must be a list of requirements"),
    ],
)
def test_what_can_not_be_given_is_named_by_field(base, text, problem):
    problems = read_runtime_env(text, base)[1]
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_every_problem_is_told(base):
    assert len(read_runtime_env("{conda: x, uv: y, working_dir: nowhere}", base)[1]) == 3


def test_the_code_is_copied_so_that_an_attempt_can_not_change_it(base, tmp_path):
    env = RuntimeEnv(working_dir=str(base / "code"), py_modules=(str(base / "lib" / "helpers"),), env_vars={"A": "1"})
    place = make_workplace(env, tmp_path / "attempt")
    (place.cwd / "train.py").write_text("changed")
    assert (base / "code" / "train.py").read_text() == "print('train')"
    assert sorted(path.name for path in place.cwd.iterdir()) == ["train.py"]
    modules = tmp_path / "attempt" / "py_modules"
    assert place.python_path == (place.cwd, modules)
    assert place.for_ray == {
        "working_dir": str(place.cwd),
        "py_modules": [str(modules / "helpers")],
        "env_vars": {"A": "1"},
    }


def test_without_a_working_dir_it_starts_in_an_empty_directory(tmp_path):
    place = make_workplace(RuntimeEnv(), tmp_path / "attempt")
    assert list(place.cwd.iterdir()) == []
    assert place.for_ray == {}


def test_a_zip_file_is_unpacked_as_it_is(tmp_path):
    archive = zip_of(tmp_path / "code.zip", "top/train.py")
    place = make_workplace(RuntimeEnv(working_dir=str(archive)), tmp_path / "attempt")
    assert (place.cwd / "top" / "train.py").exists()


@pytest.mark.parametrize(
    ("names", "found"), [(("top/train.py", "top/a/b.py"), "train.py"), (("a.py", "b/c.py"), "a.py")]
)
def test_a_zip_file_from_the_web_loses_its_single_top_folder(tmp_path, names, found):
    zip_of(tmp_path / "code.zip", *names)
    handler = partial(_Silent, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/code.zip"
        place = make_workplace(RuntimeEnv(working_dir=url), tmp_path / "attempt")
        with pytest.raises(PreparationError, match="404"):
            make_workplace(RuntimeEnv(working_dir=f"{url}.zip"), tmp_path / "other")
        server.shutdown()
    assert (place.cwd / found).exists()


def test_what_has_vanished_since_the_submit_is_an_error_of_the_job(tmp_path):
    with pytest.raises(PreparationError, match="No such file"):
        make_workplace(RuntimeEnv(working_dir=str(tmp_path / "gone")), tmp_path / "attempt")


def test_variables_are_put_in_as_ray_does_it():
    env = {"PATH": "/bin", "A": "1"}
    assert prepare.expand({"P": "/x:${PATH}", "Q": "$A-$B", "R": "5$"}, env) == {"P": "/x:/bin", "Q": "1-", "R": "5$"}


def test_the_interpreter_of_an_attempt_sees_our_packages_and_its_own_first(tmp_path):
    python = prepare.make_python(tmp_path / "venv")
    site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    (site / "psutil.py").write_text("ORIGIN = 'mine'")
    code = "import psutil, yaml; print(psutil.ORIGIN, bool(yaml.__version__))"
    env = {"PATH": os.environ["PATH"]}
    assert subprocess.run([python, "-c", code], capture_output=True, env=env, check=True).stdout == b"mine True\n"


def test_packages_can_lie_in_the_working_dir(tmp_path):
    command = prepare.pip_command(
        Path("/v/bin/python"), "/p/python", ("${RAY_RUNTIME_ENV_CREATE_WORKING_DIR}/tiny",), tmp_path
    )
    assert command[:6] == ["/p/python", "-m", "pip", "--python", "/v/bin/python", "install"]
    assert command[-1] == f"{tmp_path}/tiny"


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass
