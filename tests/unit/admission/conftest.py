"""A world in code for the gate's tests, and the attack files that ship."""

from dataclasses import replace
from pathlib import Path

import pytest
from fairgate_admission.facts.request import Request, read_request
from fairgate_admission.offline.cases import Setting
from fairgate_admission.offline.document_world import DocumentWorld

ATTACKS = Path(__file__).resolve().parents[3] / "admission" / "attacks"


@pytest.fixture(scope="session")
def attacks() -> Path:
    """The folder of the attack files."""
    return ATTACKS


@pytest.fixture
def world():
    """A world of one tenant, ``t1``; arguments change the setting."""

    def make(**changes) -> DocumentWorld:
        return DocumentWorld(replace(Setting({"t1": "t1"}), **changes))

    return make


@pytest.fixture
def request_of():
    """A request to make this object, by user-t1 unless said."""

    def make(manifest, **fields) -> Request:
        return read_request({"operation": "CREATE", "username": "user-t1", "object": manifest, **fields})

    return make
