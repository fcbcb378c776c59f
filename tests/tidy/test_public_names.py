"""The client's public surface is a list that somebody chose, and that the reference explains."""

import types

import fairgate


def test_all_is_what_can_be_seen():
    visible = {
        name
        for name, value in vars(fairgate).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert {name for name in fairgate.__all__ if not name.startswith("_")} == visible


def test_no_name_is_listed_twice():
    assert len(fairgate.__all__) == len(set(fairgate.__all__))


def test_every_public_name_is_in_the_reference(root, report):
    page = root / "docs" / "reference" / "python-client.md"
    text = page.read_text()
    report([f"{page.relative_to(root)}: nothing on `{name}`" for name in fairgate.__all__ if f"`{name}" not in text])
