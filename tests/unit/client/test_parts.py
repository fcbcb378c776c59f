"""The small parts: durations, addresses, tokens, options, retries."""

from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import fairgate
import pytest
from fairgate._config import find_endpoint, find_token, state_folder
from fairgate._durations import format_duration, parse_duration
from fairgate._options import GROUP_FIELDS, parse_options
from fairgate._retry import Backoff, Stream
from fairgate_scheduler.core.manifests.options import _GROUP_FIELDS
from fairgate_scheduler.documents import scalars


@pytest.mark.parametrize("text", ["0s", "500s", "90s", "1.5s", "0.001s", "10m", "1h30m", "7d", "1d2h3m4.25s"])
def test_durations_mean_the_same_here_and_there(text):
    here = parse_duration(text, "f")
    assert here == timedelta(milliseconds=scalars.parse_duration(text))
    assert format_duration(here) == scalars.format_duration(scalars.parse_duration(text))


@pytest.mark.parametrize("text", ["", "10", "m", "1h 30m", "-5s", "1.0005s", "5 minutes", "99999d"])
def test_what_is_no_duration_there_is_none_here(text):
    with pytest.raises(fairgate.InvalidArgument, match="is not a duration") as caught:
        parse_duration(text, "job.time_limit")
    assert caught.value.field == "job.time_limit"
    with pytest.raises(ValueError, match=r".+"):
        scalars.parse_duration(text)


@pytest.mark.parametrize("given", [timedelta(seconds=-1), timedelta(microseconds=1), timedelta(days=40_000)])
def test_a_timedelta_is_checked_too(given):
    with pytest.raises(fairgate.InvalidArgument):
        parse_duration(given, "f")


@pytest.mark.parametrize(
    ("address", "target", "is_tls"),
    [
        ("unix:/run/fairgate.sock", "unix:/run/fairgate.sock", False),
        ("unix:///run/fairgate.sock", "unix:/run/fairgate.sock", False),
        ("localhost:50051", "localhost:50051", False),
        ("127.0.0.1:50051", "127.0.0.1:50051", False),
        ("[::1]:50051", "[::1]:50051", False),
        ("fairgate.example:443", "fairgate.example:443", True),
        ("https://fairgate.example:443", "fairgate.example:443", True),
        ("http://fairgate.example:80/", "fairgate.example:80", False),
        (None, "unix:/state/fairgate.sock", False),
    ],
)
def test_addresses(address, target, is_tls):
    found = find_endpoint(address, environment={"FAIRGATE_STATE_DIR": "/state"})
    assert (found.target, found.is_tls) == (target, is_tls)


@pytest.mark.parametrize(
    "address", ["fairgate", "host:", ":50051", "host:http", "host:70000", "ftp://host:1", "::1:80", "a/b:80"]
)
def test_what_is_no_address(address):
    with pytest.raises(fairgate.InvalidArgument, match="is not an address") as caught:
        find_endpoint(address, environment={})
    assert caught.value.remedy


def test_a_socket_path_that_is_too_long():
    with pytest.raises(fairgate.InvalidArgument, match="longer than the 107 bytes"):
        find_endpoint("unix:/" + "x" * 110, environment={})


def test_the_environment_says_where_and_who(tmp_path):
    environment = {"FAIRGATE_ADDRESS": "localhost:1", "FAIRGATE_TOKEN_FILE": str(tmp_path / "t")}
    (tmp_path / "t").write_text("secret\n")
    assert find_endpoint(None, environment=environment).target == "localhost:1"
    assert find_token(None, None, environment).read() == "secret"
    assert find_token(None, None, {**environment, "FAIRGATE_TOKEN": "mine"}).read() == "mine"
    assert find_token("given", None, environment).read() == "given"
    assert state_folder({}) == Path.home() / ".fairgate"


def test_a_token_that_is_not_there(tmp_path):
    with pytest.raises(fairgate.Unauthenticated, match="no token in"):
        find_token(None, tmp_path, {}).read()
    with pytest.raises(fairgate.Unavailable, match="no service has been started here"):
        find_token(None, None, {"FAIRGATE_STATE_DIR": str(tmp_path)}).read()


def test_all_that_is_wrong_with_options_is_said_at_once():
    with pytest.raises(fairgate.InvalidArgument) as caught:
        parse_options(
            [
                {"flavour": "h100"},
                {"flavor": "v5e", "speed": "-1", "groups": {"w": {"replicas": "two", "env": {"A": True}, "cpus": 1}}},
                "v5e",
                {"flavor": "a", "groups": {"w": {"minReplicas": 1, "min_replicas": 2}}},
            ],
            "job.options",
        )
    assert [str(each) for each in caught.value.violations] == [
        "job.options[0].flavour: is not known; did you mean flavor?",
        "job.options[0].flavor: is missing; name the flavor of the workers",
        "job.options[1].speed: '-1' is not a speed; write 0 or more, such as 2, 0.45 or 1/3",
        "job.options[1].groups.w.cpus: is not known; known: " + ", ".join(sorted(GROUP_FIELDS)),
        "job.options[1].groups.w.replicas: 'two' is not a count; write a whole number, 0 or more",
        "job.options[1].groups.w.env.A: True where a text belongs; write it in quotes",
        "job.options[2]: 'v5e' where a mapping belongs; write name: value",
        "job.options[2].flavor: is missing; name the flavor of the workers",
        "job.options[3].groups.w.min_replicas: is there twice, in two spellings; leave one out",
    ]


@pytest.mark.parametrize(("text", "speed"), [("2", 2), ("0.45", Fraction(9, 20)), ("1/3", Fraction(1, 3)), (0, 0)])
def test_speeds_are_exact(text, speed):
    (option,) = parse_options([{"flavor": "a", "speed": text}], "options")
    assert option.speed == speed


def test_the_fields_of_a_group_are_those_of_the_service():
    assert set(_GROUP_FIELDS) == GROUP_FIELDS


class World:
    """A clock that moves when somebody sleeps."""

    def __init__(self):
        self.now = 0.0
        self.pauses = []
        self.backoff = Backoff(self.sleep, lambda: self.now, lambda: 1.0)

    def sleep(self, seconds):
        self.pauses.append(round(seconds, 3))
        self.now += seconds


def test_retries_wait_longer_each_time_and_stop_at_the_deadline():
    world = World()

    def call(left_s):
        raise fairgate.Unavailable("gone")

    with pytest.raises(fairgate.Unavailable):
        world.backoff.retry(call, timeout_s=10, patience_s=10)
    assert world.pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.0, 3.0]


def test_a_call_gets_the_time_that_is_left_and_may_succeed_late():
    world = World()
    given = []

    def call(left_s):
        given.append(round(left_s, 3))
        if len(given) < 3:
            raise fairgate.Unavailable("gone")
        return "answer"

    assert world.backoff.retry(call, timeout_s=10, patience_s=5) == "answer"
    assert given == [10, 9.9, 9.7]


@pytest.mark.parametrize("kind", [fairgate.DeadlineExceeded, fairgate.Aborted, fairgate.Internal, fairgate.NotFound])
def test_only_unavailable_is_tried_again(kind):
    world = World()

    def call(left_s):
        raise kind("no")

    with pytest.raises(kind):
        world.backoff.retry(call, timeout_s=10, patience_s=10)
    assert world.pauses == []


def test_without_patience_a_call_is_made_once():
    world = World()
    calls = []

    def call(left_s):
        calls.append(left_s)
        raise fairgate.Unavailable("gone")

    with pytest.raises(fairgate.Unavailable):
        world.backoff.retry(call, timeout_s=10, patience_s=0)
    assert len(calls) == 1


def test_jitter_is_at_most_half_of_the_pause():
    assert [Backoff(chance=lambda: 0.0).pause_s(count) for count in (1, 2, 3, 50)] == [0.05, 0.1, 0.2, 1.5]


def test_a_stream_is_taken_up_again_and_again():
    world = World()
    parts = iter([[1, 2, fairgate.Unavailable("x")], [3, fairgate.DeadlineExceeded("own limit")], [4]])

    def open_stream(longest_s):
        for item in next(parts):
            if isinstance(item, Exception):
                raise item
            yield item

    assert list(world.backoff.resume(Stream(open_stream, patience_s=1), None)) == [1, 2, 3, 4]
    assert world.pauses == [0.1]


def test_an_endless_stream_that_ends_is_broken():
    world = World()
    parts = iter([[1], [2], [3]])
    items = world.backoff.resume(Stream(lambda _: iter(next(parts)), patience_s=1, is_endless=True), None)
    assert [next(items) for _ in range(3)] == [1, 2, 3]


def test_a_stream_has_more_patience_once_it_was_there():
    world = World()
    opened = []

    def open_stream(longest_s):
        opened.append(world.now)
        if len(opened) == 1:
            yield 1
        raise fairgate.Unavailable("gone")

    items = world.backoff.resume(Stream(open_stream, patience_s=1, again_s=20), None)
    assert next(items) == 1
    with pytest.raises(fairgate.Unavailable):
        next(items)
    assert 15 < opened[-1] < 20


def test_a_stream_ends_at_its_deadline():
    world = World()

    def open_stream(longest_s):
        world.now += longest_s
        raise fairgate.DeadlineExceeded("limit")
        yield

    with pytest.raises(fairgate.DeadlineExceeded, match="the time that was given is over"):
        list(world.backoff.resume(Stream(open_stream, patience_s=1), 1000.0))
    assert world.now == 1000.0
