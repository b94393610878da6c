"""Loops whose shape speaks against nothing, with their bodies as functions of one layer: they compute what they did."""

import random
from textwrap import indent

from lower_helpers import source
from test_names import block

from scanify.analysis.flow.shape import LoopShape, shape_of
from scanify.analysis.lower.loops import loops_in
from scanify.analysis.plan import Adds

PRELUDE = """
class Layer:
    def __init__(self, n): self.n, self.kind = n, n % 2
    def __call__(self, x, *more): return x * 3 + self.n + sum(map(bool, more))

def maybe(*values): return pick.random() < 0.5
def some(*values): return [1] * pick.randrange(3)
def fail(): return 1
"""
LAYERS = ["a = layer(a)", "b = layer(a, k)", "a += layer(b)", "h = layer(a)\na = a + h", "a, k = layer(a), k + 1"]
GROWS = ["outs.append(a)", "outs += [b, k]", "table[i] = a", "seen = (*seen, c)", "total = total + a", "outs.append(k)"]
EMPTY = {Adds.LIST: "[]", Adds.TUPLE: "()", Adds.DICT: "{}"}


def random_program(pick: random.Random) -> str:
    body = [pick.choice(LAYERS), pick.choice(GROWS), pick.choice(GROWS)]
    if pick.random() < 0.7:
        body.insert(pick.randrange(3), block(pick, depth=pick.randrange(3), loop=pick.random() < 0.3))
    read = pick.sample("a b c d e outs table seen total".split(), 4)
    before = "outs, table, total = [], {}, 0\nseen = ()\nouts = []\ntable = {}"
    if pick.random() < 0.5:
        before += "\nh = a"
        read.append("h")
    loop = f"for i, (layer, k) in enumerate(zip(layers, keys)):\n{indent(chr(10).join(body), '    ')}"
    code = f"{before}\n{loop}\nreturn {', '.join(read)}"
    return f"{PRELUDE}\ndef run(a, b, c, d, e, layers, keys):\n{indent(code, '    ')}\n"


def as_function(shape: LoopShape) -> str:
    """The file with the body of its loop as a function of one layer, and a plain loop that only hands things on."""
    loop, module = shape.loop, shape.loop.module
    carry, ys = ", ".join((*shape.carry, "")), ", ".join((*(each.name for each in shape.collections), ""))
    targets = ", ".join(loop.code(walk.target) for walk in shape.beside)
    given = [*(["i"] if shape.index else []), *([targets] if targets else [])]
    lines = [
        f"def apply_layer({', '.join([loop.code(shape.layer.target), 'state', *given])}):",
        *([f"    {carry} = state"] if shape.carry else []),
        *(f"    {each.name} = {EMPTY[each.adds]}" for each in shape.collections),
    ]
    column = module.span(loop.body[0]).start - module.line_start(loop.body[0].lineno)
    for statement in loop.body:
        first, *rest = loop.code(statement).splitlines()
        lines += [f"    {first}", *(f"    {line[column:]}" for line in rest)]
    start = ", ".join("None" if name in shape.unset else name for name in shape.carry)
    walked = ", ".join([shape.layer.text, *(each.source for each in shape.xs)])
    lines += [
        f"    return ({carry}), ({ys})",
        f"state = ({start},)" if shape.carry else "state = ()",
        "parts = []",
        f"for each in zip({walked}):",
        "    state, part = apply_layer(each[0], state, *each[1:])",
        "    parts.append(part)",
        *([f"{carry} = state"] if shape.carry else []),
    ]
    for at, each in enumerate(shape.collections):
        lines.append(f"for {each.name}_more in [part[{at}] for part in parts]:")
        added = {Adds.LIST: f"{each.name}.extend({each.name}_more)", Adds.TUPLE: f"{each.name} += {each.name}_more"}
        lines.append(f"    {added.get(each.adds, f'{each.name}.update({each.name}_more)')}")
    span = loop.place.span
    return module.text[: span.start] + "\n    ".join(lines) + module.text[span.end :]


def outcome(text: str, seed: int) -> object:
    pick = random.Random(seed)
    space: dict[str, object] = {"pick": pick}
    exec(compile(text, "program", "exec"), space)
    count = pick.randrange(1, 4)
    layers = [space["Layer"](pick.randrange(5)) for _ in range(count)]  # type: ignore[operator]
    try:
        return space["run"](*(pick.randrange(9) for _ in range(5)), layers, list(range(count)))  # type: ignore[operator]
    except (TypeError, NameError, AttributeError) as error:
        return type(error).__name__


def compared(seed: int) -> bool:
    text = random_program(random.Random(seed))
    (loop,) = loops_in(source(text))[-1:]
    shape = shape_of(loop, loop.walks[0])
    if shape.problems or shape.exits or not shape.carry:
        return False
    new = as_function(shape)
    for run in range(8):
        before, after = outcome(text, run), outcome(new, run)
        assert before == after or (isinstance(before, str) and isinstance(after, str)), f"{text}\n{new}"
    return True


def test_bodies_as_functions_of_one_layer() -> None:
    assert sum(map(compared, range(400))) > 80
