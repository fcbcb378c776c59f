"""KAI-Scheduler's time-based fair share: use ÷ (capacity × window), with a decay. docs/time-based-fairshare.

Ours is a decayed mean of the share, without a window: the same where a tenant uses the same all the time, but it
forgets step by step what KAI without decay counts in full until it falls out of the window.
"""

from fractions import Fraction

from fairgate_scheduler.core.history import STEPS, decayed

HOUR_MS = 3_600_000
GPUS, WINDOW_H = 10, 10


def kai_usage(gpu_hours: Fraction) -> Fraction:
    return gpu_hours / (GPUS * WINDOW_H)


def test_normalised_use():
    assert kai_usage(Fraction(24)) == Fraction("0.24")


def test_constant_use_is_the_same_in_both():
    # 2.4 of 10 GPUs for the whole window of 10 hours; with a half-life of 15 minutes the begin is forgotten.
    share = Fraction("2.4") / GPUS
    history = decayed(Fraction(0), share, WINDOW_H * HOUR_MS, HOUR_MS // 4)
    assert kai_usage(Fraction("2.4") * WINDOW_H) == Fraction("0.24")
    assert history == Fraction("0.24")


def test_use_that_is_over_fades_by_half_lives():
    # All 10 GPUs for 2.4 hours, then nothing: as many GPU-hours, but how long ago counts.
    half_life_ms = 24 * HOUR_MS // 10
    history = decayed(Fraction(0), Fraction(1), 24 * HOUR_MS // 10, half_life_ms)
    faded = [history]
    for _ in range(3):
        faded.append(decayed(faded[-1], Fraction(0), half_life_ms, half_life_ms))
    assert faded == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 16)]
    assert kai_usage(Fraction(24)) == Fraction("0.24")


def test_the_decay_is_exact_to_the_last_step():
    # ½^(1/2) = 0.70710678118…; rounded to a thousand-millionth.
    assert decayed(Fraction(1), Fraction(0), HOUR_MS, 2 * HOUR_MS) == Fraction(707_106_781, STEPS)
    assert decayed(Fraction(0), Fraction(1), HOUR_MS, 2 * HOUR_MS) == Fraction(292_893_219, STEPS)
