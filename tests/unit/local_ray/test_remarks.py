"""What a configuration says in vain to the local runner."""

from fairgate_scheduler.adapters.local_ray.remarks import remarks
from fairgate_scheduler.documents.config_file import read_config

CONFIG = """
version: 1
flavors:
  h100: {resource: nvidia.com/gpu, node_labels: {a: b}, kueue_flavor: gpus}
  cpu: {node_labels: {a: c}}
tenants:
  - {id: org}
  - {id: b, parent: org, namespace: lab, service_accounts: [robot], roles: {viewer: ["user:eve"]}}
  - {id: a, parent: org, roles: {submitter: ["user:ann"]}}
"""


def test_each_field_is_told_once_with_all_who_set_it():
    assert remarks(read_config(CONFIG)) == [
        f"{what}: kept, but has no effect with the local runner"
        for what in (
            "node_labels (flavor cpu, flavor h100)",
            "kueue_flavor (flavor h100)",
            "namespace (tenant b)",
            "service_accounts (tenant b)",
            "roles (tenant a, tenant b)",
        )
    ]


def test_where_nothing_is_set_there_is_nothing_to_say():
    assert remarks(read_config("version: 1\nflavors: {h100: {}}\ntenants: [{id: a}]\n")) == []
