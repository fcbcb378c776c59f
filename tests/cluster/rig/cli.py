"""The rig by hand: ``python tests/cluster build|up|down|status|logs``."""

import argparse
import sys

from rig.build import PROGRAMS, build
from rig.errors import RigError


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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python tests/cluster", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("build", help="build the programs (all of them without a name), and print where they lie")
    one.add_argument("name", nargs="*", metavar="NAME", help=", ".join(PROGRAMS))
    one.set_defaults(run=_build)
    return parser
