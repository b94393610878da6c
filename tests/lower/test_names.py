"""What the dataflow says of random code, held against runs of that code."""

import ast
import random
from collections.abc import Iterator, MutableMapping
from contextlib import nullcontext, suppress
from textwrap import indent

import pytest

from scanify.analysis.flow.names import flow, reads

NAMES = "a b c d e".split()


class Namespace(MutableMapping[str, object]):
    """Names of a run: which were read while they were not bound, and which are bound in the end."""

    def __init__(self, pick: random.Random) -> None:
        self.pick, self.values, self.unbound, self.deleted = pick, {}, set(), set()

    def __getitem__(self, name: str) -> object:
        if name not in NAMES:
            return {"maybe": self.maybe, "some": self.some, "fail": self.fail}.get(name) or self.library(name)
        if name not in self.values and name in self.deleted:
            raise NameError(name)
        if name not in self.values:
            self.unbound.add(name)
        return self.values.get(name, 1)

    def library(self, name: str) -> object:
        known = {"suppress": suppress, "nullcontext": nullcontext, "ValueError": ValueError, "Exception": Exception}
        if name not in known:
            raise KeyError(name)
        return known[name]

    def __setitem__(self, name: str, value: object) -> None:
        self.values[name] = value

    def __delitem__(self, name: str) -> None:
        self.values.pop(name, None)
        self.deleted.add(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def maybe(self, *_: object) -> bool:
        return self.pick.random() < 0.5

    def some(self, *_: object) -> list[int]:
        return [1] * self.pick.randrange(3)

    def fail(self) -> int:
        if self.pick.random() < 0.4:
            raise ValueError
        return 1


def expression(pick: random.Random, depth: int = 2) -> str:
    name, other = pick.choice(NAMES), pick.choice(NAMES)
    plain = [name, "1", f"maybe({name})", "fail()"]
    if depth == 0:
        return pick.choice(plain)
    part, rest = expression(pick, depth - 1), expression(pick, depth - 1)
    return pick.choice(
        [
            *plain,
            f"({name} := {part})",
            f"(maybe() and {part})",
            f"({part} or {rest})",
            f"({part} if maybe({other}) else {rest})",
            f"({part} if ({name} := maybe()) else {rest})",
            f"[{name} for {name} in some({other})]",
            f"(lambda {name}: {name})({part})",
        ]
    )


def block(pick: random.Random, depth: int = 3, loop: bool = False) -> str:
    return "\n".join(statement(pick, depth, loop) for _ in range(pick.randrange(1, 4)))


def statement(pick: random.Random, depth: int, loop: bool) -> str:
    name, value = pick.choice(NAMES), expression(pick)
    simple = [f"{name} = {value}", f"{name} = {value}", f"{name} += 1", value, f"del {name}"]
    if loop:
        simple += ["break", "continue"]
    if depth == 0 or pick.random() < 0.4:
        return pick.choice(simple)
    first, second = (indent(block(pick, depth - 1, loop), "    ") for _ in range(2))
    inner = indent(block(pick, depth - 1, True), "    ")
    return pick.choice(
        [
            f"if maybe():\n{first}",
            f"if {value}:\n{first}\nelse:\n{second}",
            f"for {name} in some({value}):\n{inner}",
            f"for {name} in some():\n{inner}\nelse:\n{second}",
            f"while maybe({value}):\n{inner}",
            f"try:\n{first}\nexcept ValueError as {name}:\n{second}",
            f"try:\n{first}\nexcept ValueError:\n{second}\nelse:\n    {name} = 1",
            f"try:\n{first}\nfinally:\n{second}" if not loop else f"if maybe():\n{first}",
            f"with nullcontext() as {name}:\n{first}",
            f"with suppress(ValueError):\n{first}",
            f"match maybe({value}):\n    case True:\n{indent(first, '    ')}\n    case {name}:\n{indent(second, '    ')}",
            f"match maybe():\n    case True:\n{indent(first, '    ')}",
        ]
    )


@pytest.mark.parametrize("seed", range(60))
def test_no_run_reads_or_leaves_what_the_dataflow_denies(seed: int) -> None:
    pick = random.Random(seed)
    text = block(pick)
    names = flow(ast.parse(text).body)
    code = compile(text, "code", "exec")
    for run in range(25):
        space = Namespace(random.Random(run))
        ended = True
        try:
            exec(code, {}, space)
        except (ValueError, UnboundLocalError, NameError, TypeError):
            ended = False
        assert space.unbound <= set(names.read_first), text
        assert set(space.values) <= set(names.bound), text
        if ended:
            assert names.definite <= set(space.values) and not names.ends, text


def test_a_comprehension_and_a_function_have_names_of_their_own() -> None:
    text = "y = [x for x in xs if (z := x)]\ndef f(a, b=y):\n    c = a\n    return c + d\ng = lambda e: e + h"
    names = flow(ast.parse(text).body)
    assert list(names.read_first) == ["xs", "d", "h"] and {"y", "f", "g"} <= names.definite and "z" in names.bound
    assert list(reads(ast.parse("f(a, *b, k=c)[d].e").body[0])) == ["f", "a", "b", "c", "d"]
