"""What the tidy tests look at: the hand-written modules of every package that the wheel ships."""

import ast
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One Python file, read and parsed."""

    name: str  # fairgate_scheduler.core.plan
    path: str  # as tracked, from the root
    text: str
    tree: ast.Module

    def functions(self) -> Iterator[tuple[str, Function]]:
        """Every function and method with its qualified name, nested ones included."""
        yield from _functions(self.tree, "")


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child
            yield from _functions(child, f"{name}.")
        else:
            yield from _functions(child, prefix)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="session")
def packages(project: dict[str, Any]) -> list[Path]:
    """The folders of the packages that the wheel ships."""
    return [ROOT / folder for folder in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]


@pytest.fixture(scope="session")
def modules(packages: list[Path]) -> list[Module]:
    """Every hand-written module of every shipped package."""
    found = []
    for package in packages:
        for file in sorted(package.rglob("*.py")):
            if "_pb2" in file.stem:
                continue
            name = ".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
            text = file.read_text()
            found.append(Module(name, str(file.relative_to(ROOT)), text, ast.parse(text)))
    return found


@pytest.fixture(scope="session")
def project_files() -> list[Path]:
    """Every file that is tracked, or would be by `git add`."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a Git checkout")
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return sorted({path for name in listed.split("\0") if name and (path := ROOT / name).is_file()})


@pytest.fixture(scope="session")
def report() -> Callable[[list[str]], None]:
    """Fail with one line a finding, so that all of them can be mended at once."""

    def fail_if_any(findings: list[str]) -> None:
        if findings:
            pytest.fail("\n".join(findings), pytrace=False)

    return fail_if_any
