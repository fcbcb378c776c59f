"""Turns are given in the order of asking."""

import threading
import time

import pytest
from fairgate_scheduler.adapters.turns import NestedTurnError, Turns

WAIT_S = 30


def ask_in_order(turns, count, order):
    """Start threads that wait for their turn, each only when the one before it waits."""
    threads = []
    for number in range(count):

        def take(number=number):
            with turns.turn():
                order.append(number)

        thread = threading.Thread(target=take)
        thread.start()
        threads.append(thread)
        until = time.monotonic() + WAIT_S
        while turns.waiting <= number and time.monotonic() < until:
            time.sleep(0.001)
    return threads


def test_turns_come_in_the_order_of_asking():
    turns, order = Turns(), []
    with turns.turn():
        threads = ask_in_order(turns, 6, order)
        assert order == []
    for thread in threads:
        thread.join(WAIT_S)
    assert order == [0, 1, 2, 3, 4, 5]
    assert turns.waiting == 0


def test_a_thread_that_asks_again_comes_after_those_that_wait():
    turns, order = Turns(), []
    with turns.turn():
        (thread,) = ask_in_order(turns, 1, order)
    with turns.turn():
        order.append("again")
    thread.join(WAIT_S)
    assert order == [0, "again"]


def test_a_turn_ends_when_its_block_raises():
    turns = Turns()
    for _ in range(2):
        with pytest.raises(KeyError), turns.turn():
            raise KeyError


def test_a_thread_cannot_wait_for_itself():
    turns = Turns()
    with turns.turn():
        with pytest.raises(NestedTurnError), turns.turn():
            pass
        with pytest.raises(NestedTurnError), turns.turn():
            pass
    with turns.turn():
        pass
