"""A YAML file keeps words as words and knows the line of each place."""

import pytest

from exporter.document import Mistake, place_text, read_document


def test_words_that_yaml_1_1_would_turn_into_something_else_stay_words():
    document = read_document("{on: 2026-11-02, at: 12:30, no: yes, pci: 0000:1a:00.0, big: 1e5, old: 012}")
    assert document.data == {
        "on": "2026-11-02",
        "at": "12:30",
        "no": "yes",
        "pci": "0000:1a:00.0",
        "big": "1e5",
        "old": "012",
    }


def test_numbers_truths_and_nothing_are_what_they_look_like():
    assert read_document("[1, -2, 0.5, true, False, ~, null, ]").data == [1, -2, 0.5, True, False, None, None]


def test_each_place_has_its_line_and_a_mistake_the_nearest_one():
    document = read_document("a:\n  - x: 1\n  - y: 2\n")
    assert document.render(
        [Mistake(("a", 1, "z"), "absent, one wanted"), Mistake(("a", 0, "x"), "1 found, 2 wanted")]
    ) == (
        "line 2: a[0].x: 1 found, 2 wanted",
        "line 3: a[1].z: absent, one wanted",
    )


def test_a_place_is_written_as_a_path():
    assert place_text(("pools", 0, "checks", "access.ports")) == "pools[0].checks.access.ports"


def test_anchors_and_merges_are_followed():
    assert read_document("a: &a {x: 1}\nb: {<<: *a, y: 2}").data == {"a": {"x": 1}, "b": {"x": 1, "y": 2}}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: 2\na: 3", "line 3: a: given again in line 3, once wanted"),
        ("a: [1", "line 1: expected ',' or ']', but got '<stream end>' found, YAML wanted"),
        ("? [1]\n: 2", "line 1: a key that is no word found, a word wanted"),
        ("a: &a [*a]", "nested too deep or too often found, a plain file wanted"),
        ("!!python/name:os.system x", "could not determine a constructor"),
    ],
)
def test_what_is_wrong_with_a_file_as_such_is_said(text, line):
    document = read_document(text)
    assert document.data == {}
    assert line in document.render(document.mistakes)[0]


def test_a_file_that_multiplies_itself_is_refused():
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdef", "bcdefg", strict=True)
    )
    assert read_document(bomb).mistakes[0].sentence == "nested too deep or too often found, a plain file wanted"
