import pytest
from fairgate_scheduler.ports import Submission
from fairgate_scheduler.service.errors import InvalidArgument
from fairgate_scheduler.service.filters import parse_filter
from fairgate_scheduler.testing.builders import job

LABELLED = Submission("{}", {"labels": {"project": "x", "a b": "two words"}})


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True),
        ("   ", True),
        ("state = PENDING", True),
        ("state=RUNNING", False),
        ("state != RUNNING", True),
        ("tenant = a", True),
        ("tenant = b", False),
        ("job_id = train", True),
        ("priority >= 5", True),
        ("priority > 5", False),
        ("priority < 6 AND priority <= 5 AND priority = 5", True),
        ("priority > -10", True),
        ("labels.project = x", True),
        ('labels.project = "x"', True),
        ("labels.project = y", False),
        ("labels.missing = x", False),
        ("labels.missing != x", True),
        ("state = PENDING AND labels.project = y", False),
        ('tenant = "AND"', False),
    ],
)
def test_what_a_filter_means(text, holds):
    record = job("train", "a", priority=5)
    assert all(each.holds(record, LABELLED) for each in parse_filter(text)) is holds


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("state = BUSY", "column 9: no state 'BUSY'"),
        ("stat = RUNNING", "column 1: no field 'stat'"),
        ("state > RUNNING", "column 7: state can be compared by = and != only"),
        ("priority = high", "column 12: priority 'high' is not a whole number"),
        ("state", "column 6: the end where one of"),
        ("state =", "column 8: no value after '='"),
        ("= RUNNING", "column 1: '=' where a field was expected"),
        ("state = RUNNING tenant = a", "column 17: 'tenant' where AND was expected"),
        ("state = RUNNING AND", "column 20: nothing follows AND"),
        ("state = RUNNING OR tenant = a", "column 17: 'OR' where AND was expected"),
        ('tenant = "a', "column 10: "),
        ("labels. = x", "column 1: no field 'labels.'"),
    ],
)
def test_a_wrong_filter_names_the_place(text, says):
    with pytest.raises(InvalidArgument) as caught:
        parse_filter(text)
    assert caught.value.field == "filter"
    assert says in caught.value.message
    assert caught.value.remedy
