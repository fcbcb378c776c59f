import pytest
from fairgate_scheduler.service.alarms import Alarms
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture
def alarms():
    made = Alarms()
    for name, at_ms in {"b": 20, "a": 20, "c": 30}.items():
        made.set(name, at_ms)
    return made


@pytest.mark.parametrize(
    ("now_ms", "over", "next_ms"),
    [(19, [], 20), (20, ["a", "b"], 30), (29, ["a", "b"], 30), (30, ["a", "b", "c"], None)],
)
def test_what_is_over_and_what_comes_next(alarms, now_ms, over, next_ms):
    assert (alarms.over(now_ms), alarms.next_ms(now_ms)) == (over, next_ms)


def test_what_is_over_stays_so_until_it_is_unset_or_set_anew(alarms):
    assert alarms.over(25) == ["a", "b"]
    alarms.set("a", None)
    alarms.set("b", 40)
    assert (alarms.over(25), alarms.next_ms(25), alarms.over(40)) == ([], 30, ["b", "c"])


def test_a_clock_that_is_set_back_makes_it_due_again(alarms):
    assert alarms.over(30) == ["a", "b", "c"]
    assert (alarms.over(10), alarms.next_ms(10)) == ([], 20)


names, instants = st.sampled_from("abc"), st.integers(0, 5)


@given(st.lists(st.tuples(names, st.none() | instants, instants)))
def test_it_answers_as_a_plain_mapping_would(steps):
    alarms, plain = Alarms(), {}
    for name, at_ms, now_ms in steps:
        alarms.set(name, at_ms)
        plain.pop(name, None)
        if at_ms is not None:
            plain[name] = at_ms
        assert alarms.over(now_ms) == sorted(each for each, instant in plain.items() if instant <= now_ms)
        assert alarms.next_ms(now_ms) == min((each for each in plain.values() if each > now_ms), default=None)
