"""``fairgate up`` where it can not start, and what it finds again where it can."""

import shutil
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import fairgate
import pytest
from fairgate_scheduler.adapters.local_ray.plan import unusable_python
from fairgate_scheduler.testing.builders import ray_job

MANY = 50


@pytest.fixture
def up(server):
    """Run ``fairgate up`` with options that it can not start with; returns its exit code and its errors."""

    if problem := unusable_python(sys.executable, sys.prefix):
        pytest.skip(problem)

    def run(*options, **env):
        done = server.run("up", *options, **env)
        assert done.stdout == ""
        return done.returncode, done.stderr

    return run


def test_one_server_a_state_directory(server, up):
    server.start()
    server.await_ready()
    other = server.folder / "other"
    pid = server.process.pid
    remedy = "stop it, or choose another directory with --state-dir"
    assert up() == (1, f"error: another server (process {pid}) uses {server.state_dir}; {remedy}\n")
    remedy = "stop it, or choose another path"
    said = f"error: another server listens on {server.state_dir}/fairgate.sock; {remedy}\n"
    assert up("--state-dir", other, "--listen", server.address) == (1, said)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        said = f"error: can not listen on {address}: it is taken, or not allowed; choose another\n"
        assert up("--state-dir", other, "--listen", address) == (1, said)
    assert server.run("get", "jobs").returncode == 0, "the first one does not mind"


def test_what_can_not_be_used(server, up):
    broken = server.folder / "broken"
    broken.mkdir()
    (broken / "fairgate.db").write_bytes(b"no database " * 1000)
    inside = server.config / "state"
    said = f"error: the state directory {inside} can not be used: Not a directory; choose another with --state-dir\n"
    assert up("--state-dir", inside) == (1, said)
    remedy = "It was left as it is: move it away, or name another file."
    said = f"error: {broken}/fairgate.db can not be opened: file is not a database. {remedy}\n"
    assert up("--state-dir", broken) == (1, said)
    assert (broken / "fairgate.db").read_bytes() == b"no database " * 1000


def test_a_configuration_with_mistakes(server, up):
    server.config.write_text("version: 1\nflavours: {}\ntenants: [{id: a}, {weight: 2}]\n")
    code, said = up("--config", "fairgate.yaml")
    assert code == 2
    assert said.splitlines() == [
        "error: fairgate.yaml:2: flavours: unknown key 'flavours' (did you mean 'flavors'?)",
        "error: fairgate.yaml:3: tenants[1]: id is missing (add id: …)",
    ]
    why = "it can not be read: No such file or directory (name a configuration file with --config)"
    assert up("--config", "none.yaml") == (2, f"error: none.yaml:1: {why}\n")
    assert not server.state_dir.exists()


def test_without_a_server(server):
    (server.folder / "train.yaml").write_text(ray_job())
    done = server.run("submit", "-f", "train.yaml", "--tenant", "a")
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr == (
        f"error: no service has been started here: there is no token file {server.token_file}\n"
        "  fix: start the service with `fairgate up`, or name another one with FAIRGATE_ADDRESS and"
        " FAIRGATE_TOKEN_FILE\n"
    )
    assert not server.state_dir.exists()
    server.start()
    server.await_ready()
    server.kill()
    done = server.run("--call-timeout", "1", "submit", "-f", "train.yaml", "--tenant", "a")
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.startswith(f"error: no service answers at {server.address}")
    assert "fix: start it with `fairgate up`" in done.stderr


def test_jobs_go_on_while_it_is_stopped_and_are_found_again(server, client_of):
    """One ends meanwhile, one goes on, one waits; the next start finds all three."""
    server.start()

    def entrypoint(name):
        return f"echo {name}; while [ ! -e {server.folder / name} ]; do sleep 0.1; done"

    with client_of(server) as client:
        short = client.submit(ray_job("short", entrypoint=entrypoint("short")), tenant="a")
        long = client.submit(ray_job("long", gpus=3, entrypoint=entrypoint("long")), tenant="b")
        queued = client.submit(ray_job("queued", gpus=2, entrypoint="echo queued"), tenant="c")
        _await(lambda: {client.get(job.name).state for job in (short, long)} == {fairgate.JobState.RUNNING})
    assert server.stop() == 0
    assert server.log.read_text().endswith("Stopping; running jobs go on, start again to find them.\n")
    assert len(server.supervisors()) == 2
    (server.folder / "short").touch()
    _await(lambda: len(server.supervisors()) == 1)
    server.start()
    with client_of(server) as client:
        assert client.wait(short.name, 30).state is fairgate.JobState.SUCCEEDED
        assert client.get(long.name).state is fairgate.JobState.RUNNING
        (server.folder / "long").touch()
        ended = [client.get(client.wait(job.name, 60).name) for job in (short, long, queued)]
        said = [[line.text for line in client.logs(job.name, follow=False)] for job in ended]
    assert [(job.state, job.attempt_count) for job in ended] == [(fairgate.JobState.SUCCEEDED, 1)] * 3
    assert said == [["short"], ["long"], ["queued"]]
    assert server.stop() == 0


def test_one_request_makes_one_job_however_often_it_comes(server, client_of):
    server.start()
    with client_of(server) as client, ThreadPoolExecutor(MANY) as pool:
        client.get_config()

        def submit(_number):
            with client_of(server) as own:
                return own.submit(ray_job(entrypoint="true"), tenant="a", request_id="the-same").name

        names = list(pool.map(submit, range(MANY)))
        assert set(names) == {"tenants/a/jobs/train"}
        assert [job.name for job in client.list()] == ["tenants/a/jobs/train"]
        with pytest.raises(fairgate.AlreadyExists):
            client.submit(ray_job(entrypoint="false"), tenant="a", request_id="the-same")
        assert client.wait("a/train", 30).attempt_count == 1
    assert server.stop() == 0


def _await(holds):
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_server_that_loses_its_state_directory_says_so_and_ends(server, is_replaced):
    server.start()
    server.await_ready()
    if is_replaced:
        (server.state_dir / "lock").unlink()
        (server.state_dir / "lock").touch()
    else:
        shutil.rmtree(server.state_dir)
    assert server.process.wait(30) == 1
    log = server.log.read_text()
    assert log.count("was removed or replaced while the server ran") == 1
    assert "Traceback" not in log
