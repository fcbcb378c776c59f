"""What is refused before anybody reads a field, and what positions and scalars look like."""

import pytest
from fairgate_scheduler.documents import nodes
from fairgate_scheduler.documents.nodes import Kind, parse_document, parse_documents
from fairgate_scheduler.documents.problems import DocumentError


def problems_of(text):
    with pytest.raises(DocumentError) as error:
        parse_document(text, "f.yaml")
    return [str(problem) for problem in error.value.problems]


def test_scalars_are_as_written():
    root = parse_document('a: 1e0\nb: on\nc: 0123\nd: "null"\ne: null\nf:\ng: !!str 1\n', "f.yaml")
    assert {key: (node.kind, node.text) for key, node in root.entries.items()} == {
        "a": (Kind.SCALAR, "1e0"),
        "b": (Kind.SCALAR, "on"),
        "c": (Kind.SCALAR, "0123"),
        "d": (Kind.SCALAR, "null"),
        "e": (Kind.NULL, "null"),
        "f": (Kind.NULL, ""),
        "g": (Kind.SCALAR, "1"),
    }


def test_every_node_knows_its_path_and_line():
    root = parse_document("tenants:\n  - id: a\n  - id: b\n    quota: {h100: {nvidia.com/gpu: 1}}\n", "f.yaml")
    assert [(node.path, node.line) for node in root.walk()] == [
        ("", 1),
        ("tenants", 2),
        ("tenants[0]", 2),
        ("tenants[0].id", 2),
        ("tenants[1]", 3),
        ("tenants[1].id", 3),
        ("tenants[1].quota", 4),
        ("tenants[1].quota.h100", 4),
        ("tenants[1].quota.h100[nvidia.com/gpu]", 4),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["f.yaml:1: the document is empty"]),
        ("# nothing\n", ["f.yaml:1: the document is empty"]),
        ("a: 1\n---\nb: 2\n", ["f.yaml:3: a second document (put each document into a file of its own)"]),
        (
            "a: 1\nb: 2\na: 3\nb: 4\n",
            [
                "f.yaml:3: the key 'a' a second time, first on line 1 (keep one of them)",
                "f.yaml:4: the key 'b' a second time, first on line 2 (keep one of them)",
            ],
        ),
        ("a: !!python/object:os.system x\n", None),
        ("a: !foo x\n", ["f.yaml:1: the tag '!foo' (tags are not understood: write plain YAML)"]),
        ("? [a, b]\n: 1\n", ["f.yaml:1: a key that is a list or a mapping (keys are words)"]),
        ("a: &x [*x]\n", None),
        ("a: *nobody\n", None),
        ("a: 1\n<<: 5\n", ["f.yaml:2: << needs a mapping, or a list of mappings (write *name)"]),
        ("a: \x00\n", ["f.yaml:1: a character that YAML does not allow (remove it)"]),
        ("a: b\nc: \ud800\n", ["f.yaml:2: a character that YAML does not allow (remove it)"]),
        ("a: [1, 2\nb: 3\n", None),
        ("a: 1\n b: 2\n", None),
    ],
)
def test_refused(text, expected):
    found = problems_of(text)
    assert found
    if expected is not None:
        assert found == expected


def test_depth_is_bounded():
    assert problems_of("[" * 51) == ["f.yaml:1: nested deeper than 50 levels (write it flatter)"]
    assert "nest" in problems_of("[" * 100_000)[0]


def test_depth_through_aliases_is_bounded():
    layers = "".join(f"l{n}: &l{n} [*l{n - 1}]\n" for n in range(1, 60))
    assert problems_of("l0: &l0 [x]\n" + layers)[0].endswith("nested deeper than 50 levels (write it flatter)")


def test_aliases_of_aliases_do_not_explode():
    layers = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 10))
    assert "more than 200000 values" in problems_of("l0: &l0 [x]\n" + layers)[0]


def test_many_documents_do_not_explode_either():
    one = "---\nl0: &l0 [" + "x, " * 1000 + "]\nl1: [" + "*l0, " * 150 + "]\n"
    assert len(parse_documents(one, "f.yaml")) == 1
    with pytest.raises(DocumentError, match="more than 200000 values"):
        parse_documents(one * 3, "f.yaml")


def test_size_is_bounded(monkeypatch):
    monkeypatch.setattr(nodes, "MAX_CHARACTERS", 10)
    assert problems_of("a: 12345678") == ["f.yaml:1: the document has 11 characters (10 at most)"]


def test_aliases_and_merges_are_written_out():
    root = parse_document("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\nlist: [*b]\n", "f.yaml")
    assert {key: node.text for key, node in root.entries["use"].entries.items()} == {"x": "1", "y": "3"}
    assert root.entries["list"].items[0].entries["y"].path == "list[0].y"


def test_a_quoted_merge_key_is_a_word():
    assert parse_document('"<<": 1\n', "f.yaml").entries["<<"].text == "1"
