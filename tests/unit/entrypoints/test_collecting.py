import gc

import pytest
from fairgate_scheduler.entrypoints import collecting


def test_it_is_as_before_when_the_block_has_ended():
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), collecting.seldom():
        assert all(now > usual for now, usual in zip(gc.get_threshold(), before, strict=True))
        1 / 0
    assert gc.get_threshold() == before
