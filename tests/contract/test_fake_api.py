"""The twin of an API server keeps the contract that the real one is held to in tests/cluster."""

import pytest
from fairgate_scheduler.adapters.kube.api.kinds import CONFIG_MAP, NAMESPACE
from fairgate_scheduler.testing.api_contract import FullApiContract
from fairgate_scheduler.testing.api_rig import config_map
from fairgate_scheduler.testing.fake_api import FakeApi


class FakeRig:
    def __init__(self):
        self.namespace = "contract"
        self.api = FakeApi()
        self.other = self.api.acting_as("someone")
        self.api.create(NAMESPACE, {"metadata": {"name": self.namespace}})

    def wait_until(self, holds):
        self.api.collect_garbage()
        assert holds()

    def expired_version(self):
        version = self.api.list(CONFIG_MAP).resource_version
        self.api.create(CONFIG_MAP, config_map(self))
        self.api.objects.compact()
        return version


class TestFakeApi(FullApiContract):
    @pytest.fixture
    def rig(self):
        return FakeRig()
