"""Writes kuberay.json from the CRDs that a release of KubeRay publishes.

usage: python -m fairgate_scheduler.adapters.kube.schema.generate v1.5.0.zip [OUT]

The zip is that of the Go module, from https://proxy.golang.org/github.com/ray-project/kuberay/ray-operator/@v/v1.5.0.zip.
`make test-cluster` compares what is committed with the CRDs of the cluster.
"""

import json
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from fairgate_scheduler.adapters.kube.schema.compact import compact

OUT: Final = Path(__file__).with_name("kuberay.json")
VERSION: Final = "v1"
_FILES: Final = ("ray.io_rayclusters.yaml", "ray.io_rayjobs.yaml")


def main(arguments: list[str]) -> None:
    """Read the module's zip and write the file."""
    with zipfile.ZipFile(arguments[0]) as module:
        names = {Path(name).name: name for name in module.namelist() if "/config/crd/bases/" in name}
        crds = [yaml.load(module.read(names[file]), Loader=yaml.CSafeLoader) for file in _FILES]
    out = Path(arguments[1]) if len(arguments) > 1 else OUT
    out.write_text(encode(compact(crds, VERSION)))


def encode(document: Mapping[str, Mapping[str, Any]]) -> str:
    """The document with one line for each schema, so that a new release shows what it changes."""
    parts = [
        f'"{part}":{{\n' + ",\n".join(f"{json.dumps(name)}:{_line(found[name])}" for name in sorted(found)) + "\n}"
        for part, found in sorted(document.items())
    ]
    return "{" + ",\n".join(parts) + "}\n"


def _line(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, sort_keys=True, separators=(",", ":"))


if __name__ == "__main__":
    main(sys.argv[1:])
