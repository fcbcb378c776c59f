"""Turns are given in the order of asking."""

import subprocess
import sys
import threading
import time

import pytest
from fairgate_scheduler.adapters.turns import NestedTurnError, Turns

WAIT_S = 30

INTERRUPTED = """
import signal, threading
from fairgate_scheduler.adapters.turns import Turns

turns, is_held, may_go = Turns(), threading.Event(), threading.Event()

def hold():
    with turns.turn():
        is_held.set()
        may_go.wait(30)

def interrupt(*_):
    raise KeyboardInterrupt

holder = threading.Thread(target=hold)
holder.start()
is_held.wait(30)
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    with turns.turn():
        print("had a turn")
except KeyboardInterrupt:
    print("interrupted", turns.waiting)
may_go.set()
holder.join(30)
with turns.turn():
    print("had a turn")
"""


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


def test_who_is_interrupted_while_waiting_blocks_nobody():
    command = [sys.executable, "-c", INTERRUPTED]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=True)
    assert ended.stdout.splitlines() == ["interrupted 0", "had a turn"]
