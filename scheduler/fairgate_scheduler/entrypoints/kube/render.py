"""``fairgate kube render``: all objects of a configuration, one YAML document each."""

import sys
from pathlib import Path

import yaml

from fairgate_scheduler.adapters.kube.mapping import Site, Wanted, installation, remarks_on_mapping, wanted_objects
from fairgate_scheduler.entrypoints.kube.sources import OK, guarded, read_config


def run(file: Path) -> int:
    """Print them in the order of making. 0: done; 2: the configuration is not valid."""
    return guarded(lambda: _run(file))


def _run(file: Path) -> int:
    config, site = read_config(file), Site()
    for remark in remarks_on_mapping(config):
        sys.stderr.write(f"warning: {remark}\n")
    wanted = (*installation(site), *wanted_objects(config, site))
    sys.stdout.write("---\n".join(_document(each) for each in wanted))
    return OK


def _document(wanted: Wanted) -> str:
    manifest = wanted.first or {}
    if manifest:
        labels = {**manifest["metadata"]["labels"], **wanted.manifest["metadata"]["labels"]}
        manifest = {**wanted.manifest, "metadata": {**wanted.manifest["metadata"], "labels": labels}}
    return yaml.dump(dict(manifest or wanted.manifest), Dumper=yaml.CSafeDumper, sort_keys=False, width=120)
