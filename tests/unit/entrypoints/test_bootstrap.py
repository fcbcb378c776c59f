"""A server is put together whole, and no two share a state directory."""

import os
import stat

import pytest
from fairgate_scheduler.entrypoints.bootstrap import StartError, serve
from fairgate_scheduler.entrypoints.settings import Settings
from fairgate_scheduler.service.errors import InvalidArgument
from fairgate_scheduler.service.query import get_job
from fairgate_scheduler.service.quota import apply_config, get_config
from fairgate_scheduler.service.submit import JobSpec, SubmitRequest, submit
from fairgate_scheduler.testing.builders import ray_job

CONFIG = """
version: 1
flavors: {h100: {resource: nvidia.com/gpu}, cpu: {default_for_cpu_pods: true}}
tenants: [{id: a, quota: {h100: {nvidia.com/gpu: {nominal: 1}}}}]
"""


@pytest.fixture
def settings(tmp_path):
    return Settings(tmp_path / "state", "127.0.0.1:0", tmp_path)


def test_it_serves_with_the_configuration_that_it_was_given(settings):
    with serve(settings, CONFIG) as running:
        assert running.address.startswith("127.0.0.1:")
        assert get_config(running.app).source == CONFIG
    assert stat.S_IMODE(settings.state_dir.stat().st_mode) == 0o700
    assert stat.S_IMODE(settings.token_file.stat().st_mode) == 0o600


def test_what_has_no_effect_here_is_said(settings, caplog):
    with serve(settings, CONFIG.replace("id: a,", "id: a, namespace: lab,")):
        pass
    assert "namespace (tenant a): kept, but has no effect with the local runner" in caplog.text


def test_what_was_kept_is_there_after_a_restart(settings):
    with serve(settings, CONFIG) as running:
        request = SubmitRequest("a", None, ray_job(), JobSpec(time_limit_ms=60_000))
        apply_config(running.app, CONFIG.replace("quota", "max_running_jobs: 0, quota"))
        name = submit(running.app, request).job.id
        first = get_config(running.app)
    with serve(settings) as running:
        assert get_config(running.app) == first
        assert get_job(running.app, name).job.id == name


def test_two_servers_never_share_a_state_directory(settings):
    with serve(settings), pytest.raises(StartError) as caught, serve(settings):
        pass
    assert f"process {os.getpid()}" in str(caught.value)
    assert "--state-dir" in str(caught.value)
    with serve(settings):
        pass  # the first one is gone


def test_a_state_directory_that_can_not_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    settings = Settings(tmp_path / "file" / "state", "127.0.0.1:0")
    with pytest.raises(StartError) as caught, serve(settings):
        pass
    assert str(settings.state_dir) in str(caught.value)


def test_a_server_that_can_not_start_leaves_the_directory_free(settings):
    with pytest.raises(InvalidArgument), serve(settings, "version: 2"):
        pass
    with serve(settings, CONFIG):
        pass
