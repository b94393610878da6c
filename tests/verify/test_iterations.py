"""How many iterations of a loop ran, whatever form the loop has."""

import sys
import types
from contextlib import ExitStack
from pathlib import Path

import pytest

from scanify.verify.cases.case import CaseSpec
from scanify.verify.cases.iterations import Iterations, loops_taken_out
from scanify.verify.profile import hooks
from scanify.verify.profile.source_loops import loops_of
from scanify.verify.request import Change, Request

SOURCE = """
import functools


class Model:
    def __init__(self, depth):
        self.layers = [(lambda k: (lambda x: x + k))(k) for k in range(depth)]

    def statement(self, x):
        for layer in self.layers:
            if x is None:
                continue
            for _ in range(7):
                pass
            x = layer(x)
        return x

    def on_one_line(self, x):
        for layer in self.layers: x = layer(x)
        return x

    def as_a_list(self, x):
        return [layer(x) for layer in self.layers]

    def as_tuples(self, x):
        return [(layer(x), 1) for layer in self.layers]

    def as_a_dict(self, x):
        return {i: layer(x) for i, layer in enumerate(self.layers)}

    def as_a_generator(self, x):
        return sum(layer(x) for layer in self.layers)

    def reduced(self, x):
        return functools.reduce(lambda c, layer: layer(c), self.layers, x)

    def mapped(self, x):
        return list(map(lambda layer: layer(x), self.layers))

    def counted(self, x):
        i = 0
        while i < len(self.layers):
            x = self.layers[i](x)
            i += 1
        return x

    def asked(self, x):
        layers = iter(self.layers)
        while (layer := next(layers, None)) is not None:
            for _ in range(3):
                pass
            x = layer(x)
        return x

    def several_times(self, x):
        for _ in range(3):
            for layer in self.layers:
                x = layer(x)
        return x

    def in_itself(self, x, depth=2):
        for layer in self.layers:
            x = layer(x)
            if depth:
                x = self.in_itself(x, depth - 1)
        return x

    def bound_elsewhere(self, x):
        with memoryview(b""):
            for self.at, layer in zip(range(99), self.layers):
                x = layer(x)
        return x

    def left_early(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i == 1:
                return x
        return x
"""
FORMS = [
    loop.scope.partition(".")[2] for loop in loops_of(SOURCE) if "self.layers" in loop.text or "while" in loop.text
]
WAYS = ["monitored", "traced"] if sys.version_info >= (3, 12) else ["traced"]


def module(file: str) -> types.ModuleType:
    found = types.ModuleType("layers")
    exec(compile(SOURCE, file, "exec"), vars(found))
    return found


def ran(form: str, depth: int, monkeypatch: pytest.MonkeyPatch, way: str) -> int | None:
    monkeypatch.setattr(hooks, "_MONITORS", way == "monitored")
    watched = [loop for loop in loops_of(SOURCE) if loop.scope == f"Model.{form}" and "range(" not in loop.head]
    watched = watched or [loop for loop in loops_of(SOURCE) if loop.scope == f"Model.{form}"]
    count, model = Iterations({"/layers.py": watched}), module("/layers.py").Model(depth)
    with ExitStack() as stack:
        if way == "traced" and sys.version_info >= (3, 12):
            # From 3.12 on `settrace` gives no instructions unless the frame that calls it asks for them.
            sys._getframe().f_trace_opcodes = True
        stack.enter_context(count.watching())
        getattr(model, form)(1)
    (loop,) = watched
    return count.most.get(loop)


@pytest.mark.parametrize("form", FORMS)
def test_iterations_are_counted(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    most = {"left_early": 2}.get(form, 5)
    for depth, expected in ((5, most), (1, 1), (0, None if form in ("counted", "asked") else 0)):
        assert ran(form, depth, monkeypatch, WAYS[0]) == expected


def test_all_forms_are_there() -> None:
    assert len(FORMS) == 14


def test_what_is_not_watched_is_not_counted() -> None:
    count = Iterations({"/other.py": loops_of(SOURCE)})
    with count.watching():
        module("/layers.py").Model(3).statement(1)
    assert count.most == {}


# -- which loops a rewrite takes out -----------------------------------------------------------------------------------


def taken_out(before: str, after: str, tmp_path: Path) -> list[str]:
    path = tmp_path / "model.py"
    request = Request(
        CaseSpec(path, "case", "cases.py:case"),
        path,
        (Change(path, before.encode(), after.encode()),),
        (None,),
        None,
        abstract=False,
        measure=False,
        directory=tmp_path,
    )
    return [f"{loop.scope}: {loop.head}" for loops in loops_taken_out(request).values() for loop in loops]


LOOP = "    for layer in self.layers:\n        x = layer(x)\n    return x\n"
SCAN = "    return self.layers(x)\n"


def test_the_loop_that_is_gone_is_told_from_one_like_it_in_another_function(tmp_path: Path) -> None:
    before = f"def f(self, x):\n{LOOP}def g(self, x):\n{LOOP}"
    assert taken_out(before, f"def f(self, x):\n{LOOP}def g(self, x):\n{SCAN}", tmp_path) == [
        "g: for layer in self.layers"
    ]


def test_loops_around_it_and_in_its_body_stay(tmp_path: Path) -> None:
    inner = "            for step in range(2):\n                x = layer(x, step)\n"
    before = f"def f(self, x):\n    for _ in range(1):\n        for layer in self.layers:\n{inner}    return x\n"
    after = (
        f"def f(self, x):\n    def block(x, layer):\n        if True:\n{inner}        return x\n"
        "    for _ in range(1):\n        x = self.layers.scan(block)(x)\n    return x\n"
    )
    assert taken_out(before, after, tmp_path) == ["f: for layer in self.layers"]


def test_a_file_that_stays_has_none(tmp_path: Path) -> None:
    assert taken_out(SOURCE, SOURCE, tmp_path) == []


def test_of_two_files_the_loops_of_the_first_are_meant(tmp_path: Path) -> None:
    texts = [f"def f(self, x):\n{LOOP}".encode(), f"def f(self, x):\n{SCAN}".encode()]
    paths = [tmp_path / "a.py", tmp_path / "b.py"]
    changes = tuple(Change(path, text, text) for path, text in zip(paths, texts, strict=True))
    case = CaseSpec(paths[0], "case", "cases.py:case")
    request = Request(
        case,
        paths[0],
        changes,
        (None,),
        None,
        abstract=False,
        measure=False,
        directory=tmp_path,
        rewritten_target=paths[1],
    )
    ((path, loops),) = loops_taken_out(request).items()
    assert path == str(paths[0]) and [loop.line for loop in loops] == [2]
