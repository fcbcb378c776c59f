"""Every test that takes ``store`` runs on every Store that there is."""

import pytest
from fairgate_scheduler.adapters.sql import SqlStore
from fairgate_scheduler.testing.memory_store import MemoryStore


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    opened = MemoryStore() if request.param == "memory" else SqlStore.open(tmp_path / "fairgate.db")
    yield opened
    opened.close()
