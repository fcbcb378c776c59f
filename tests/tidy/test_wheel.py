"""What `pip install fairgate` puts on a team's machine: five packages with types, and a client that is light."""

import subprocess
import sys
import zipfile

import pytest

SERVER_ONLY = {
    "alembic",
    "fairgate_admission",
    "fairgate_kueue",
    "fairgate_scheduler",
    "psutil",
    "pydantic",
    "ray",
    "sqlalchemy",
    "sqlmodel",
}


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(root)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (file,) = folder.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        return archive.namelist()


def test_wheel_has_exactly_our_packages(wheel, packages):
    names = {name.partition("/")[0] for name in wheel}
    assert {name for name in names if not name.endswith(".dist-info")} == {package.name for package in packages}
    assert {package.name for package in packages} == {
        "fairgate",
        "fairgate_admission",
        "fairgate_api",
        "fairgate_kueue",
        "fairgate_scheduler",
    }


def test_wheel_has_every_file_that_is_tracked_and_no_other(wheel, packages, project_files):
    shipped = {name for name in wheel if ".dist-info/" not in name}
    ours = {
        str(file.relative_to(package.parent))
        for package in packages
        for file in project_files
        if package in file.parents
    }
    assert shipped == ours


def test_every_package_is_typed(wheel, packages):
    assert {f"{package.name}/py.typed" for package in packages} <= set(wheel)


def test_the_client_and_its_command_line_load_nothing_of_the_server():
    program = "import sys, fairgate, fairgate._cli.main; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert not SERVER_ONLY & set(loaded.split())
