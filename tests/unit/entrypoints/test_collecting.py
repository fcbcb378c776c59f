import gc

from fairgate_scheduler.entrypoints import collecting


def test_it_is_seldom_in_the_block_and_as_before_after_it():
    before = gc.get_threshold()
    with collecting.seldom():
        assert all(now > usual for now, usual in zip(gc.get_threshold(), before, strict=True))
    assert gc.get_threshold() == before
