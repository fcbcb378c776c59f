"""The reference pages name every key that is read, and their examples are valid."""

import re
from pathlib import Path

import pytest
from fairgate_scheduler.core.snapshot import HoldReason
from fairgate_scheduler.documents import config_file, tenancy_fields
from fairgate_scheduler.documents.config_file import read_config
from fairgate_scheduler.scenario import event_fields, expectation_fields, job_fields, reader
from fairgate_scheduler.scenario.simulation import simulate

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference"
CONFIG = (REFERENCE / "config-format.md").read_text()
SCENARIO = (REFERENCE / "scenario-format.md").read_text()
COMMON = (*tenancy_fields.QUOTA_KEYS, *tenancy_fields.BUDGET_KEYS, *tenancy_fields.POLICY_KEYS)


@pytest.mark.parametrize(
    ("page", "keys"),
    [
        (CONFIG, (*COMMON, *config_file.SECTIONS, *config_file.FLAVOR_KEYS, *config_file.TENANT_KEYS)),
        (CONFIG, (*config_file.TOLERATION_KEYS, *config_file.ROLES)),
        (SCENARIO, (*COMMON, *reader.SECTIONS, *reader.TENANT_KEYS, *job_fields.JOB_KEYS, *HoldReason)),
        (SCENARIO, (*event_fields.VERBS, *expectation_fields.AT_FORMS, *expectation_fields.WHOLE_FORMS)),
    ],
)
def test_every_key_is_explained(page, keys):
    code = " ".join(re.findall(r"`([^`\n]+)`", page))
    assert [key for key in keys if not re.search(rf"\b{key}\b", code)] == []


def test_examples_are_valid():
    (config,) = re.findall(r"```yaml\n(.*?)```", CONFIG, re.DOTALL)
    (scenario,) = re.findall(r"```yaml\n(.*?)```", SCENARIO, re.DOTALL)
    assert read_config(config).tenants["vision"].parent == "org"
    assert simulate(scenario, "example.yaml").ok
