import threading

import pytest
from fairgate_scheduler.service.together import Together


class Desk:
    """Serves numbers. While ``is_open`` is not set whoever serves waits; ``batches`` tells who was served together."""

    def __init__(self):
        self.is_open = threading.Event()
        self.is_serving = threading.Event()
        self.batches = []
        self.answers = {}
        self.errors = {}
        self.together = Together(most=3)

    def serve(self, numbers):
        self.is_serving.set()
        self.is_open.wait()
        self.batches.append(list(numbers))
        if 13 in numbers:
            raise ValueError(f"no {numbers}")
        return [10 * number for number in numbers]

    def call(self, number):
        try:
            self.answers[number] = self.together.call(number, self.serve)
        except ValueError as error:
            self.errors[number] = str(error)

    def call_at_once(self, first, *others):
        """The first one is being served when the others come."""
        threads = [threading.Thread(target=self.call, args=(first,))]
        threads[0].start()
        self.is_serving.wait()
        for count, number in enumerate(others, 1):
            threads.append(threading.Thread(target=self.call, args=(number,)))
            threads[-1].start()
            while len(self.together._waiting) < count:
                pass
        self.is_open.set()
        for each in threads:
            each.join()


@pytest.fixture
def desk():
    return Desk()


def test_one_call_is_served_alone(desk):
    desk.is_open.set()
    desk.call(4)
    assert (desk.answers, desk.batches) == ({4: 40}, [[4]])


def test_who_comes_meanwhile_is_served_together_and_everybody_gets_the_own_answer(desk):
    desk.call_at_once(1, 2, 3)
    assert desk.answers == {1: 10, 2: 20, 3: 30}
    assert desk.batches == [[1], [2, 3]]


def test_no_more_than_the_most_are_served_together(desk):
    desk.call_at_once(1, 2, 3, 4, 5, 6)
    assert desk.answers == {number: 10 * number for number in range(1, 7)}
    assert desk.batches == [[1], [2, 3, 4], [5, 6]]


def test_an_error_reaches_only_the_caller_whose_fault_it_is(desk):
    desk.call_at_once(1, 2, 13)
    assert desk.answers == {1: 10, 2: 20}
    assert desk.errors == {13: "no [13]"}
    assert desk.batches == [[1], [2, 13], [2], [13]]
