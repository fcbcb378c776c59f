"""A real API server keeps the contract that its twin in memory is held to."""

import itertools
import time

import pytest
from fairgate_scheduler.adapters.kube.api.connection import Connection
from fairgate_scheduler.adapters.kube.api.http import HttpApi
from fairgate_scheduler.adapters.kube.api.kinds import NAMESPACE
from fairgate_scheduler.testing.api_contract import FullApiContract

PATIENCE_S = 60
NUMBERS = itertools.count(1)

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning"),
]


class HttpRig:
    def __init__(self, kubeconfig):
        self._connection = Connection.load(kubeconfig)
        self.api = HttpApi(self._connection, page=2)
        self.other = HttpApi(self._connection, manager="someone")
        self.namespace = f"contract-{time.time_ns():x}"
        self.api.create(NAMESPACE, {"metadata": {"name": self.namespace}})

    def wait_until(self, holds):
        ends_at = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < ends_at, f"not true after {PATIENCE_S} s"
            time.sleep(0.2)

    def expired_version(self):
        """From before there were RayJobs."""
        return "1"

    def close(self):
        self.api.delete(NAMESPACE, self.namespace)
        self._connection.close()


@pytest.fixture(scope="module")
def http_rig(kubeconfig):
    rig = HttpRig(kubeconfig)
    yield rig
    rig.close()


class TestHttpApi(FullApiContract):
    @pytest.fixture
    def rig(self, http_rig):
        return http_rig
