"""The committed protobuf stubs are exactly what `make gen` writes, and run on what the client may be installed with."""

import os
import re
import subprocess


def test_stubs_are_fresh(root, tmp_path, report):
    environment = {
        name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    }
    subprocess.run(["make", "--silent", "gen", f"OUT={tmp_path}"], cwd=root, env=environment, check=True)
    committed, fresh = _stubs(root / "proto"), _stubs(tmp_path)
    assert fresh, "no .proto file was found"
    findings = {
        **dict.fromkeys(fresh.keys() - committed.keys(), "missing"),
        **dict.fromkeys(committed.keys() - fresh.keys(), "without its .proto"),
        **{name: "stale" for name in committed.keys() & fresh.keys() if committed[name] != fresh[name]},
    }
    report([f"proto/{name}: {finding}: run `make gen`" for name, finding in sorted(findings.items())])


def test_the_floors_of_the_client_are_those_of_the_stubs(root, project):
    floors = dict(re.match(r"([\w-]+)>=([\d.]+)", line).groups() for line in project["project"]["dependencies"])
    text = "".join(_stubs(root / "proto").values())
    assert set(re.findall(r"^# Protobuf Python Version: (.+)$", text, re.MULTILINE)) == {floors["protobuf"]}
    assert set(re.findall(r"^GRPC_GENERATED_VERSION = '(.+)'$", text, re.MULTILINE)) == {floors["grpcio"]}


def _stubs(folder):
    return {
        str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*_pb2*.py*") if file.suffix != ".pyc"
    }
