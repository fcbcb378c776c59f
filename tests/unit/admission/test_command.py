"""``fairgate-admission``: output and exit codes, and attack files that are not valid."""

import json
import re
from pathlib import Path

import pytest
from fairgate_admission.cli import app
from fairgate_admission.offline.reading import read_attack_file
from fairgate_scheduler.documents.problems import DocumentError
from typer.testing import CliRunner

FILE = """\
version: 1
world:
  tenants:
    t1: {namespace: t1, users: [user-t1]}
  admitted:
    - {tenant: t1, rayjob: train, uid: u, pods: {gpu: {count: 1, requests: {nvidia.com/gpu: 1}}}}
cases:
  - name: a pod
    as: {username: user-t1}
    operation: CREATE
    object: {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: t1}, spec: {containers: [{name: c, \
resources: {limits: {nvidia.com/gpu: 1}}}]}}
    want: WANT
"""


@pytest.fixture
def check(tmp_path):
    def run(text, *options, name="a.attack.yaml"):
        path = tmp_path / name
        path.write_text(text)
        result = CliRunner().invoke(app, ["check", str(path), *options])
        return result.exit_code, result.stdout.replace(f"{tmp_path}/", "")

    return run


def test_all_as_wanted(check):
    assert check(FILE.replace("WANT", "deny")) == (
        0,
        "a.attack.yaml\n  ok     deny   FG-POD-001      a pod\n1 cases, 1 as wanted\n",
    )


def test_another_verdict_than_wanted(check):
    code, out = check(FILE.replace("WANT", "allow"))
    assert code == 1
    assert out.splitlines()[:4] == [
        "a.attack.yaml",
        "  FAILED deny   FG-POD-001      a pod",
        "         a.attack.yaml:8: wanted allow (webhook), got deny",
        '         Pod "p" is refused by Fairgate:',
    ]
    assert out.endswith("1 cases, 0 as wanted, 1 not\n")


def test_another_rule_than_wanted(check):
    code, out = check(FILE.replace("WANT", "deny\n    rule: FG-POD-002"))
    assert (code, "wanted deny by FG-POD-002 (webhook), got deny" in out) == (1, True)


def test_the_example_of_the_reference_is_right(check):
    page = Path(__file__).resolve().parents[3] / "docs" / "reference" / "attack-files.md"
    (example,) = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    assert check(example) == (
        0,
        "a.attack.yaml: A pod of one's own\n  ok     deny   FG-POD-001      one GPU\n1 cases, 1 as wanted\n",
    )


def test_an_update_without_old_changes_the_live_object(check):
    live = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: t1}, spec: {containers: [{name: c, resources: "
    update = FILE.replace("operation: CREATE", "operation: UPDATE")
    same = update.replace("cases:", "  objects:\n    - " + live + "{limits: {nvidia.com/gpu: 1}}}]}}\ncases:")
    assert check(same.replace("WANT", "allow"))[0] == 0
    assert check(update.replace("WANT", "deny\n    rule: FG-POD-005"))[0] == 0


def test_json(check):
    code, out = check(FILE.replace("WANT", "deny"), "--json")
    (file,) = json.loads(out)["files"]
    (case,) = file["cases"]
    assert (code, file["ok"]) == (0, True)
    assert case.pop("message").startswith('Pod "p" is refused')
    assert case == {
        "name": "a pod", "line": 8, "outcome": "ok", "wanted": "deny", "got": "deny", "layer": "webhook",
        "rule": "FG-POD-001", "rules": ["FG-POD-001"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("version: 1", "version: 2", "1: version: version 2 is not known (write version: 1)"),
        ("want: WANT", "wants: deny", "12: cases[0].wants: unknown key 'wants' (did you mean 'want'?)"),
        ("want: WANT", "want: no", "12: cases[0].want: unknown word 'no'"),
        ("want: WANT", "want: deny\n    layer: wall", "13: cases[0].layer: unknown word 'wall'"),
        ("operation: CREATE", "operation: PATCH", "10: cases[0].operation: unknown word 'PATCH'"),
        ("as: {username: user-t1}", "as: user-t1", "9: cases[0].as: is not a mapping"),
        ("count: 1", "count: -1", "6: world.admitted[0].pods.gpu.count: -1 is not a number of pods"),
        ("nvidia.com/gpu: 1}}}}\ncases", "nvidia.com/gpu: half}}}}\ncases", "6: world.admitted[0].pods.gpu.requests"),
        ("tenant: t1, rayjob", "tenant: t9, rayjob", "6: world.admitted[0].tenant: no tenant 't9'"),
        ("apiVersion: v1, kind: Pod, ", "", "11: cases[0].object: is no object of Kubernetes"),
        ("cases:", "cases: {}\nmore:", "unknown key 'more'"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(check, before, after, said):
    assert before in FILE
    code, out = check(FILE.replace(before, after).replace("WANT", "deny"))
    assert (code, said in out) == (2, True), out
    assert out.startswith("INVALID a.attack.yaml\n  a.attack.yaml:")


def test_files_that_can_not_be_read(check, tmp_path):
    missing = CliRunner().invoke(app, ["check", str(tmp_path / "none.yaml")])
    assert (missing.exit_code, "it cannot be read" in missing.stdout) == (2, True)
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00")
    assert CliRunner().invoke(app, ["check", str(tmp_path / "b.yaml")]).exit_code == 2
    assert CliRunner().invoke(app, ["matrix", str(tmp_path / "b.yaml")]).exit_code == 2
    with pytest.raises(DocumentError):
        read_attack_file("version: 1\ncases: [\n", "x")


def test_what_only_roles_can_refuse_is_left_to_the_cluster(check):
    text = FILE.replace("WANT", "deny\n    layer: rbac").replace("nvidia.com/gpu: 1}}}]", "cpu: 1}}}]")
    code, out = check(text)
    assert (code, "only the cluster's roles can refuse it" in out) == (0, True)
    assert out.endswith("1 cases, 0 as wanted, 1 left to the cluster\n")
