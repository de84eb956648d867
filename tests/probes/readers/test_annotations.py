"""The downward API file of a pod's annotations."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes._host import Tree
from probes.readers.annotations import read_annotations

PATH = "/etc/podinfo/annotations"


def read(root: Path, text: str) -> dict[str, str]:
    file = root / PATH.lstrip("/")
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return dict(read_annotations(Tree(root), PATH))


def test_values_are_unescaped_as_go_escaped_them(tmp_path: Path) -> None:
    text = r"""a="plain"
example.com/b="say \"hi\"\n\tback\\slash"
c="\x07\u00fc\U0001f600 = [\"x\"]"
d=""
"""
    assert read(tmp_path, text) == {
        "a": "plain",
        "example.com/b": 'say "hi"\n\tback\\slash',
        "c": '\x07ü😀 = ["x"]',
        "d": "",
    }


def test_a_recorded_pod_has_its_annotations_back(hosts, recorded: Callable[..., Path]) -> None:
    assert read_annotations(Tree(recorded("pod")), PATH) == hosts.pod_annotations()


def test_an_empty_file_has_none(tmp_path: Path) -> None:
    assert read(tmp_path, "") == {}


@pytest.mark.parametrize("text", ["no value", 'a="open', 'a="x" b="y"', 'a="\\"'])
def test_a_line_of_another_shape_is_refused_with_what_was_found(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match='found, key="value" wanted'):
        read(tmp_path, text)


def test_a_code_point_that_does_not_exist_does_no_harm(tmp_path: Path) -> None:
    assert read(tmp_path, r'a="\Uffffffff"') == {"a": "�"}


def test_outside_of_a_pod_the_file_is_absent(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_annotations(Tree(tmp_path), PATH)
