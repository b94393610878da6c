"""Each form of loop is lowered to what it walks, by what names, in which order, and to the text that is emitted for it."""

import ast

import pytest
from lower_helpers import source

from scanify.analysis.flow.shape import shape_of
from scanify.analysis.lower.loop import Form, Loop, Order
from scanify.analysis.lower.loops import loops_in
from scanify.analysis.lower.scope import ancestors, scope_of

METHOD = """
import functools
import itertools
from functools import partial, reduce as fold

import equinox as eqx
import jax

class Model:
    def __call__(self, x, keys=None, mask=None, caches=None, pos=0):
{body}
"""


def loops(body: str) -> tuple[Loop, ...]:
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    return loops_in(source(METHOD.format(body=lines)))


def rewritten_body(loop: Loop) -> str:
    """The body of one iteration as the file would have it."""
    text, at = "", loop.module.span(loop.node).start
    for each in loop.replaced:
        text, at = text + loop.module.text[at : each.start] + each.text, each.end
    return text + loop.module.text[at : loop.module.span(loop.node).end]


WALKED = [
    ("for layer in self.layers:\n    x = layer(x)", Form.FOR, Order.WHOLE, "self.layers"),
    ("for layer in reversed(self.layers):\n    x = layer(x)", Form.FOR, Order.REVERSED, "reversed(self.layers)"),
    ("for layer in self.layers[::-1]:\n    x = layer(x)", Form.FOR, Order.REVERSED, "self.layers[::-1]"),
    ("for layer in self.layers[1:]:\n    x = layer(x)", Form.FOR, Order.SLICE, "self.layers[1:]"),
    ("for layer in iter(self.layers):\n    x = layer(x)", Form.FOR, Order.WHOLE, "self.layers"),
    ("for layer in self.layers.values():\n    x = layer(x)", Form.FOR, Order.VALUES, "self.layers.values()"),
    ("for i in range(len(self.layers)):\n    x = self.layers[i](x)", Form.FOR, Order.WHOLE, "self.layers"),
    (
        "for i in range(pos):\n    block = self.layers[i]\n    x = block(x)",
        Form.FOR,
        Order.NUMBERED,
        "[self.layers[i] for i in range(pos)]",
    ),
    (
        "for i in range(3):\n    x = getattr(self, f'layer{i}')(x)",
        Form.FOR,
        Order.NUMBERED,
        "[getattr(self, f'layer{i}') for i in range(3)]",
    ),
    ("y = [layer(x) for layer in self.layers]", Form.COMPREHENSION, Order.WHOLE, "self.layers"),
    ("y = [jax.vmap(jax.vmap(layer))(x) for layer in self.layers]", Form.COMPREHENSION, Order.WHOLE, "self.layers"),
    ("y = [self.layers[i](x) for i in range(len(self.layers))]", Form.COMPREHENSION, Order.WHOLE, "self.layers"),
    ("y = sum(layer(x) for layer in self.layers)", Form.GENERATOR, Order.WHOLE, "self.layers"),
    ("for layer in self.enc + self.dec:\n    x = layer(x)", Form.FOR, Order.WHOLE, "[*self.enc, *self.dec]"),
    (
        "for layer in itertools.chain(self.enc, self.dec):\n    x = layer(x)",
        Form.FOR,
        Order.WHOLE,
        "[*self.enc, *self.dec]",
    ),
]


@pytest.mark.parametrize(("body", "form", "order", "text"), WALKED)
def test_one_walk_of_layers(body: str, form: Form, order: Order, text: str) -> None:
    (loop,) = loops(body)
    layer = loop.walks[0]
    assert (loop.form, layer.order, layer.text, loop.problem) == (form, order, text, None)
    shape = shape_of(loop, layer)
    assert shape.problems == () and shape.applies_layer
    assert shape.carry == (() if loop.element is not None else ("x",))


@pytest.mark.parametrize("body", [each[0] for each in WALKED])
def test_nodes_keep_their_places_and_the_texts_say_what_the_nodes_say(body: str) -> None:
    (loop,) = loops(body)
    nodes = [node for statement in loop.body for node in ast.walk(statement) if isinstance(node, ast.expr | ast.stmt)]
    span = loop.module.span(loop.node)
    for node in nodes:
        assert span.start <= loop.module.span(node).start <= loop.module.span(node).end <= span.end
    if loop.is_statement:
        text = rewritten_body(loop)
        assert isinstance(loop.node, ast.For)
        again = ast.parse("\n".join(line[8:] if at else line for at, line in enumerate(text.splitlines()))).body[0]
        assert isinstance(again, ast.For)
        assert [ast.dump(each) for each in again.body] == [ast.dump(each) for each in loop.body]


def test_what_one_iteration_takes_by_number() -> None:
    (loop,) = loops("for i, k in enumerate(keys):\n    layer = self.layers[i]\n    x = layer(x, caches[i], k)")
    shape = shape_of(loop, next(walk for walk in loop.walks if "layers" in walk.text))
    assert [(each.target, each.source) for each in shape.xs] == [
        ("k", "keys"),
        ("cache", "[caches[i] for i in range(len(keys))]"),
    ]
    assert not shape.problems


def test_an_element_that_may_not_be_taken_stays_by_number() -> None:
    (loop,) = loops("for i in range(pos):\n    if i:\n        x = self.layers[i](x)")
    assert [problem.rule for problem in shape_of(loop, loop.walks[0]).problems][:1] == ["SCN208"]
    assert ast.unparse(loop.walks[0].base) == "self.layers" and ast.unparse(loop.body[0]).endswith("x = layer(x)")
    (loop,) = loops("for i in range(len(self.layers)):\n    if i:\n        x = self.layers[i](x)")
    assert loop.problem is None and loop.walks[0].order is Order.WHOLE, (
        "the list has all the numbers that it is asked for"
    )


def test_what_is_taken_in_one_statement_with_others() -> None:
    (loop,) = loops("for i in range(pos):\n    layer, norm = self.layers[i], self.norms[i]\n    x = norm(layer(x))")
    assert [each.text for each in loop.walks] == [
        f"[self.{name}[i] for i in range(pos)]" for name in ("layers", "norms")
    ]
    assert not shape_of(loop, loop.walks[0]).problems


def test_two_subscripts_and_lists_of_lists() -> None:
    outer, inner = loops("for i in range(2):\n    for j in range(3):\n        x = self.grus[i][j](x)")
    assert inner.walks[0].text == "[self.grus[i][j] for j in range(3)]" and inner.scope is outer.scope
    outer, inner = loops("for i in range(2):\n    for layer in self.stages[i]:\n        x = layer(x)")
    assert outer.walks[0].text == "[self.stages[i] for i in range(2)]" and inner.walks[0].text == "self.stages[i]"
    outer, inner = loops("for stage in self.stages:\n    for layer in stage:\n        x = layer(x)")
    assert [each.walks[0].text for each in (outer, inner)] == ["self.stages", "stage"]


@pytest.mark.parametrize(
    "call",
    [
        "functools.reduce(lambda h, layer: layer(h), self.layers, x)",
        "fold(partial(step, mask), self.layers, x)",
        "fold(lambda h, p: p[0](h, key=p[1]), zip(self.layers, keys), x)",
        "list(map(lambda layer, k: layer(x, k), self.layers, keys))",
    ],
)
def test_calls_that_apply_layers_are_refused(call: str) -> None:
    (loop,) = loops(f"x = {call}")
    assert loop.problem is not None and loop.problem.rule == "SCN213" and "are applied by" in loop.problem.reason
    assert ast.unparse(loop.walks[0].base) == "self.layers" and shape_of(loop, loop.walks[0]).applies_layer


@pytest.mark.parametrize(
    "line",
    [
        "y = (layer(x) for layer in self.layers)",
        "y = f(layer(x) for layer in self.layers)",
        "y = all(layer(x) for layer in self.layers)",
    ],
)
def test_what_is_not_walked_at_once(line: str) -> None:
    (loop,) = loops(line)
    assert loop.problem is not None and "may be walked later" in loop.problem.reason


def test_a_generator_that_is_the_only_argument_stands_without_the_parentheses_of_the_call() -> None:
    (loop,) = loops("y = sum( layer(x) for layer in self.layers )")
    span = loop.place.span
    assert loop.module.text[span.start : span.end] == "layer(x) for layer in self.layers"


@pytest.mark.parametrize(
    "body",
    [
        "for line in open(x):\n    print(line)",
        "for i in range(3):\n    x = x + i",
        "names = [name.lower() for name in mask]",
        "for k, v in mask.items():\n    caches[k] = v",
        "y = [f(v) for v in keys]",
        "y = map(str, keys)",
        "y = eqx.nn.Sequential([a, b, *self.layers])",
        "y = f'{[layer(x) for layer in self.layers]}'",
    ],
)
def test_what_is_no_loop_over_modules_is_left_out(body: str) -> None:
    assert loops(body) == ()


def test_nodes_of_a_body_have_the_scope_that_they_had() -> None:
    (loop,) = loops("for i in range(pos):\n    x = jax.vmap(lambda y: self.layers[i](y))(x)")
    calls = [node for node in ast.walk(loop.body[0]) if isinstance(node, ast.Call)]
    assert {scope_of(loop.module, each).name for each in calls} == {"__call__", "<lambda>"}
    assert all(loop.node in ancestors(loop.module, each) for each in calls)


def test_the_iteration_is_read_anew_for_every_loop_of_a_function() -> None:
    every = loops("for layer in self.layers:\n    x = layer(x)\nfor layer in self.tail:\n    x = layer(x)")
    assert [shape_of(each, each.walks[0]).problems for each in every] == [(), ()]


UNREAD = {
    "one target of an enumerate": "for pair in enumerate(self.layers):\n    x = pair[1](x)",
    "one target of a zip": "for pair in zip(self.layers, keys):\n    x = pair[0](x, pair[1])",
    "a starred zip": "for layer, k in zip(*(self.layers, keys)):\n    x = layer(x, k)",
    "a double enumerate": "for i, (j, layer) in enumerate(enumerate(self.layers)):\n    x = layer(x) * i * j",
    "a sorted list": "for layer in sorted(self.layers, key=id):\n    x = layer(x)",
    "a part by islice": "for layer in itertools.islice(self.layers, 1, 3):\n    x = layer(x)",
    "layers or nothing": "for layer in self.layers or ():\n    x = layer(x)",
    "layers if asked": "for layer in self.layers if x.ndim else []:\n    x = layer(x)",
    "a field by its name": "for layer in getattr(self, 'layers'):\n    x = layer(x)",
    "a map over layers": "for f in map(jax.checkpoint, self.layers):\n    x = f(x)",
    "a name in the head": "for layer in (kept := self.layers):\n    x = layer(x)",
    "pairs": "for a, b in itertools.pairwise(self.layers):\n    x = b(a(x))",
    "a while": "i = 0\nwhile i < len(self.layers):\n    x = self.layers[i](x)\n    i += 1",
    "a while without a condition": "i = 0\nwhile True:\n    x = self.layers[i](x)\n    i += 1\n    if i == 3: break",
    "a counter of its own": "i = 0\nfor _ in range(4):\n    x = self.layers[i](x)\n    i += 1",
    "numbers that a call gives": "for i in mask.order():\n    x = self.layers[i](x)",
    "numbers that are drawn": "for i in range(next(keys)):\n    x = self.layers[i](x)",
}


@pytest.mark.parametrize("name", UNREAD)
def test_a_head_that_is_not_read_still_names_its_list(name: str) -> None:
    (loop,) = loops(UNREAD[name])
    problems = shape_of(loop, loop.walks[0]).problems
    assert ast.unparse(loop.walks[0].base) == "self.layers" and problems[0].rule in ("SCN208", "SCN213")
