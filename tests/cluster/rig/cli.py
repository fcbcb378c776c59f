"""The rig by hand: ``python tests/cluster build|prepare|up|down|status|logs``."""

import argparse
import sys

from rig import host
from rig.build import PROGRAMS, build
from rig.cluster import Rig, every_rig, logs, prepare
from rig.errors import RigError
from rig.paths import lock

BY_HAND = "hand"
"""The name of the cluster that a person starts; tests use it if it is up."""


def main() -> int:
    """0: done; 1: it could not be, and the message says why."""
    options = _parser().parse_args()
    try:
        return int(options.run(options))
    except RigError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1


def _build(options: argparse.Namespace) -> int:
    for path in build(*options.name).values():
        print(path)
    return 0


def _prepare(_: argparse.Namespace) -> int:
    problem = host.node_problem()
    if problem:
        sys.stderr.write(f"rig: {problem}\n")
    prepare(has_node=problem is None)
    return 0


def _up(options: argparse.Namespace) -> int:
    with lock("cluster", "somebody else's cluster is running; waiting"):
        rig = Rig(BY_HAND)
        rig.up(has_node=not options.no_node)
    print(f"export KUBECONFIG={rig.site.kubeconfig('admin')}")
    return 0


def _down(_: argparse.Namespace) -> int:
    for rig in every_rig():
        if rig.name == BY_HAND or rig.is_abandoned():
            rig.down()
    return 0


def _status(_: argparse.Namespace) -> int:
    rig = Rig(BY_HAND)
    if not rig.is_up():
        print("no cluster is up")
        return 1
    print(f"export KUBECONFIG={rig.site.kubeconfig('admin')}")
    for name, is_running in rig.components().items():
        print(f"{name:<26} {'runs' if is_running else 'stopped'}")
    return 0


def _logs(options: argparse.Namespace) -> int:
    rig = Rig(BY_HAND)
    folder = rig.log("any").parent if rig.is_up() else logs(BY_HAND)
    for file in sorted(folder.glob("*.log")):
        if not options.name or file.stem in options.name:
            for line in file.read_text(errors="replace").splitlines():
                print(f"{file.stem}: {line}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python tests/cluster", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("build", help="build the programs (all of them without a name), and print where they lie")
    one.add_argument("name", nargs="*", metavar="NAME", help=", ".join(PROGRAMS))
    one.set_defaults(run=_build)
    one = commands.add_parser("prepare", help="make all that can be made before a cluster is started")
    one.set_defaults(run=_prepare)
    one = commands.add_parser("up", help="start a cluster and print its KUBECONFIG")
    one.add_argument("--no-node", action="store_true", help="control plane and fake nodes only: needs no root")
    one.set_defaults(run=_up)
    commands.add_parser("down", help="take it down, and what a test run that was killed left").set_defaults(run=_down)
    commands.add_parser("status", help="which components run").set_defaults(run=_status)
    one = commands.add_parser("logs", help="what the components said, also after the end")
    one.add_argument("name", nargs="*", metavar="COMPONENT")
    one.set_defaults(run=_logs)
    return parser
