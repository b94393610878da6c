"""A loop put together again from what it was lowered to computes what the loop computed, or fails as it failed."""

import random
from textwrap import indent

import pytest
from lower_helpers import source

from scanify.analysis.flow.beside import index_text
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.loops import loops_in

PRELUDE = """
import itertools
from functools import partial, reduce

class Layer:
    def __init__(self, n): self.n, self.kind = n, n % 2
    def __call__(self, x, *more, key=0): return x * 3 + self.n + sum(more) * 5 + key * 7
    def norm(self, x): return x - self.n

def apply(layer, x): return layer(x) + 1
def step(m, x, layer): return layer(x, m)

class Model:
    pass
"""

HEADS = [
    "for layer in layers",
    "for layer in reversed(layers)",
    "for layer in layers[1:]",
    "for layer in list(layers)[::-1]",
    "for layer in iter(layers)",
    "for layer in named.values()",
    "for name, layer in named.items()",
    "for layer in layers + more",
    "for layer in [*layers, *more]",
    "for layer in itertools.chain(layers, more)",
    "for layer, k in zip(layers, keys)",
    "for k, layer in zip(keys[1:], layers)",
    "for i, layer in enumerate(layers)",
    "for i, layer in enumerate(layers, 2)",
    "for i, (layer, k) in enumerate(zip(layers, reversed(keys)))",
    "for (i, layer), k in zip(enumerate(layers), keys)",
    "for i in range(len(layers))",
    "for i in range(1, n)",
    "for i in reversed(range(n))",
    "for i in range(n)[::2]",
    "for i in (0, 2, 1)",
    "for i, k in enumerate(keys)",
    "for i, k in zip(range(n), keys)",
    "for name in named",
    "for name in sorted(named)",
    "for name in ORDER",
]
LINES = [
    "x = {layer}(x)",
    "x = {layer}(x) + {layer}.norm(x)",
    "x = apply({layer}, x)",
    "x = (lambda y: {layer}(y))(x)",
    "if {layer}.kind:\n    x = {layer}.norm(x)",
    "x = {layer}(x, keys[{i}])",
    "x = others[{i}]({layer}(x))",
    "x = {layer}(x) if x % 2 else {layer}(x, {i})",
    "if x % 3:\n    x = others[{i}](x)",
    "hidden.append({layer}(x))",
    "hidden += [{layer}(x), x]",
    "x = x + {i}",
    "if x % 5 == 4:\n    break",
    "if x % 5 == 3:\n    continue",
    "layer = {layer}",
    "this, other = {layer}, others[{i}]\nx = other(this(x))",
    "x = (kept := {layer})(x)",
    "outs.append(x)",
]
EXPRESSIONS = [
    "outs = [layer(x) for layer in reversed(layers)]",
    "outs = [layers[i](x, i) for i in range(len(layers))]",
    "outs = [layer(x, k) for i, (layer, k) in enumerate(zip(layers, keys))]",
    "x = sum(layers[i](x) for i in range(n))",
]


def program(loop: str) -> str:
    body = indent(f"hidden = [x]\nouts = []\n{loop}\nreturn x, hidden, outs, caches", "    ")
    return f"{PRELUDE}ORDER = ('b', 'a')\n\ndef run(x, layers, more, others, named, keys, caches, n):\n{body}\n"


def random_loop(pick: random.Random) -> str:
    head = pick.choice(HEADS)
    walked = "layer in" in head or "layer," in head or "layer)" in head
    by_name = "name in" in head
    number = "name" if by_name and not walked else "i"
    layer = (
        "layer"
        if walked
        else f"named[{number}]"
        if by_name
        else pick.choice(["layers[i]", "layers[i]", "layers[i - 1]"])
    )
    lines = pick.sample(LINES, pick.randrange(1, 4))
    has_number = " i " in head or " i," in head or "(i," in head or (by_name and not walked)
    if not has_number or (by_name and not walked):
        lines = [line for line in lines if "{i}" not in line]
    text = "\n".join(line.format(layer=layer, i=number) for line in lines or ["x = {layer}(x)"])
    return f"{head}:\n{indent(text, '    ')}"


def again(loop: Loop) -> str:
    """The text of a file with one loop as it was lowered: `zip` over its walks, and the body with its replacements."""
    module, span = loop.module, loop.place.span
    columns = [(loop.code(walk.target), walk.text) for walk in loop.walks]
    if loop.index is not None and (loop.index.read or loop.index.numbers is not None):
        columns.insert(0, (loop.code(loop.index.target), index_text(loop.index, loop.walks[0])))
    target, walked = (", ".join(column) for column in zip(*columns, strict=True))
    head = f"for {target}, in zip({walked})"
    if loop.element is not None and not loop.is_statement:
        text = f"[{loop.code(loop.element)} {head}]"
        return module.text[: span.start] + text + module.text[span.end :]
    column = span.start - module.line_start(span.line)
    lines = [f"{head}:"]
    if loop.element is not None:
        lines.append(f"    {loop.appends_to}.append({loop.code(loop.element)})")
    for statement in loop.body if loop.element is None else ():
        first, *rest = loop.code(statement).splitlines()
        indented = [line[column:] for line in rest]
        lines += [f"    {first}", *indented]
    return module.text[: span.start] + ("\n" + " " * column).join(lines) + module.text[span.end :]


def outcome(text: str, seed: int) -> object:
    space: dict[str, object] = {}
    exec(compile(text, "program", "exec"), space)
    pick, make = random.Random(seed), space["Layer"]
    count = pick.choice([1, 3, 4])
    layers, more, others = ([make(pick.randrange(9)) for _ in range(count)] for _ in range(3))  # type: ignore[operator]
    named = dict(zip("bacd", layers, strict=False))
    keys, caches = ([pick.randrange(9) for _ in range(count)] for _ in range(2))
    n = count if pick.random() < 0.7 else pick.randrange(6)
    try:
        return space["run"](pick.randrange(20), layers, more, others, named, keys, caches, n)  # type: ignore[operator]
    except (IndexError, KeyError, UnboundLocalError) as error:
        return type(error)


def same(loop_text: str) -> int:
    """Compare the runs of a loop with those of what it was lowered to; the number of loops that were compared."""
    text = program(loop_text)
    compared = 0
    for found in loops_in(source(text)):
        if found.problem is not None or not found.walks:
            continue
        new = again(found)
        compared += 1
        for seed in range(6):
            before, after = outcome(text, seed), outcome(new, seed)
            failed = isinstance(before, type) and isinstance(after, type)
            assert before == after or failed, f"{text}\n{new}"
    return compared


def test_random_loops() -> None:
    compared = sum(same(random_loop(random.Random(seed))) for seed in range(200))
    assert compared > 130


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text: str) -> None:
    assert same(text) == 1 or "enumerate" in text or "range" in text
