"""A method of a list or a dict that is called as a function, `list.append(rates, 0.1)`, is the method all the same."""

import pytest
from helpers import MANY, decide, kept, model

from scanify.analysis.plan import Plan
from scanify.analysis.stack import InitStack

BUILDS = [
    ("rates = [0.1, 0.2, 0.3]\n{layers}", "rates.pop()", "list.pop(rates)"),
    ("rates = {{'a': 0.1}}\n{layers}", "rates.setdefault('a', 0.2)", "dict.setdefault(rates, 'a', 0.2)"),
    ("rates = collections.deque([0.1, 0.2])\n{layers}", "rates.popleft()", "collections.deque.popleft(rates)"),
]
FILLS = [
    ("blocks.append(blocks[0])", "list.append(blocks, blocks[0])"),
    ("blocks.append(Other())", "list.append(blocks, Other())"),
    (f"blocks.extend({MANY})", f"list.extend(blocks, {MANY})"),
    ("blocks.reverse()", "list.reverse(blocks)"),
    ("blocks.__setitem__(0, Other())", "list.__setitem__(blocks, 0, Other())"),
]


def said(init: str) -> list[tuple[str, bool, tuple[str, ...]]]:
    text = kept(model(init=init)).replace("import functools\n", "import collections\nimport functools\n", 1)
    found = decide(text)
    assert found
    return [
        (each.rule, isinstance(each, Plan) and isinstance(each.stack, InitStack), getattr(each, "obligations", ()))
        for each in found
    ]


@pytest.mark.parametrize(("init", "method", "function"), BUILDS)
def test_what_draws_from_an_object(init, method, function):
    layers = "self.layers = [Block(8, {drawn}, key=k) for k in jr.split(key, depth)]"
    drawn = [said(init.format(layers=layers.format(drawn=text))) for text in (method, function)]
    assert drawn[0] == drawn[1]
    assert said(init.format(layers=layers.format(drawn="0.1"))) != drawn[1] or "setdefault" in method


@pytest.mark.parametrize(("method", "function"), FILLS)
def test_what_changes_a_list_of_layers(method, function):
    for text in (method, function):
        [(rule, _, obligations)] = said(f"blocks = {MANY}\n{text}\nself.layers = blocks")
        assert rule != "SCN101" and (obligations or text == method)
