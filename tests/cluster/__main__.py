"""``python tests/cluster``: a Kubernetes of our own, by hand; the tests do the same through ``rig``."""

import sys

from rig.cli import main

if __name__ == "__main__":
    sys.exit(main())
