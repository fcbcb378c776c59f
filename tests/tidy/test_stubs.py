"""What is committed of generated code is exactly what `make gen` writes, and runs on what it may be installed with."""

import os
import re
import subprocess


def test_stubs_are_fresh(root, tmp_path, report):
    _make(root, "gen-proto", f"OUT={tmp_path}")
    committed, fresh = _stubs(root / "proto"), _stubs(tmp_path)
    assert fresh, "no .proto file was found"
    report([f"proto/{name}: {finding}: run `make gen`" for name, finding in _differences(committed, fresh)])


def test_models_of_kueue_are_fresh(root, tmp_path, report):
    _make(root, "gen-kueue", f"KUEUE_OUT={tmp_path}")
    committed, fresh = (_texts(folder / "fairgate_kueue") for folder in (root / "clients" / "kueue", tmp_path))
    assert len(fresh) > 60
    report([f"fairgate_kueue/{name}: {finding}: run `make gen`" for name, finding in _differences(committed, fresh)])


def test_the_floors_of_the_client_are_those_of_the_stubs(root, project):
    floors = dict(re.match(r"([\w-]+)>=([\d.]+)", line).groups() for line in project["project"]["dependencies"])
    text = "".join(_stubs(root / "proto").values())
    assert set(re.findall(r"^# Protobuf Python Version: (.+)$", text, re.MULTILINE)) == {floors["protobuf"]}
    assert set(re.findall(r"^GRPC_GENERATED_VERSION = '(.+)'$", text, re.MULTILINE)) == {floors["grpcio"]}


def _make(root, *arguments):
    environment = {
        name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    }
    subprocess.run(["make", "--silent", *arguments], cwd=root, env=environment, check=True)


def _differences(committed, fresh):
    findings = {
        **dict.fromkeys(fresh.keys() - committed.keys(), "missing"),
        **dict.fromkeys(committed.keys() - fresh.keys(), "without its source"),
        **{name: "stale" for name in committed.keys() & fresh.keys() if committed[name] != fresh[name]},
    }
    return sorted(findings.items())


def _stubs(folder):
    return {name: text for name, text in _texts(folder).items() if "_pb2" in name}


def _texts(folder):
    files = (file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {str(file.relative_to(folder)): file.read_text() for file in files}
