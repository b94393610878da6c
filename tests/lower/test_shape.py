"""What a lowered loop carries, shares, walks beside its layers, collects, and why it may not be a scan."""

import tokenize

import pytest
from lower_helpers import source

from scanify.analysis.flow.shape import LoopShape, shape_of
from scanify.analysis.lower.loops import loops_in

METHOD = """
import jax

class Model:
    def __call__(self, x, keys=None, mask=None, caches=None, pos=0, start: int = 0):
{body}
"""


def shape(body: str, at: int = 0, walk: int = 0) -> LoopShape:
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    module = source(METHOD.format(body=lines))
    loop = loops_in(module)[at]
    return shape_of(loop, loop.walks[walk])


def test_a_plain_loop_carries_one_name_and_is_one_call():
    found = shape("for layer in self.layers:\n    x = layer(x, mask)\nreturn x")
    assert (found.carry, found.xs, found.broadcast, found.problems) == (("x",), (), ("mask",), ())
    assert found.call is not None and found.call.method == "__call__" and found.call.arguments[0].text == "mask"
    assert found.layer.base is found.layer.source and found.layer.text == "self.layers"


@pytest.mark.parametrize(
    ("head", "xs"),
    [
        ("for layer, k in zip(self.layers, keys)", [("k", "keys")]),
        ("for layer, k in zip(self.layers, reversed(keys))", [("k", "list(reversed(keys))")]),
        ("for i, layer in enumerate(self.layers)", []),
        ("for i, (layer, k) in enumerate(zip(self.layers, keys))", [("k", "keys")]),
        ("for (i, layer), k in zip(enumerate(self.layers), keys)", [("k", "keys")]),
        ("for layer, k in zip(self.layers[1:], keys)", [("k", "keys[: len(self.layers[1:])]")]),
        ("for layer in reversed(self.layers)", []),
        ("for name, layer in self.layers.items()", []),
        ("for layer in self.layers.values()", []),
        ("for layer in list(self.layers)", []),
    ],
)
def test_what_is_walked_in_step(head, xs):
    found = shape(f"{head}:\n    x = layer(x)\nreturn x")
    assert [(each.target, each.source) for each in found.xs] == xs and found.carry == ("x",) and not found.problems
    assert found.loop.module.code(found.layer.base) == "self.layers"


def test_an_index_is_walked_where_it_is_read():
    for first, source_text in [("", "range(len(self.layers))"), (", 1", "range(1, 1 + len(self.layers))")]:
        found = shape(f"for i, layer in enumerate(self.layers{first}):\n    x = layer(x) * i\nreturn x")
        assert [(each.target, each.source) for each in found.xs] == [("i", source_text)]


@pytest.mark.parametrize("walked", ["self.enc + self.dec", "[*self.enc, *self.dec]", "list(self.enc) + list(self.dec)"])
def test_lists_that_are_walked_one_after_another(walked):
    found = shape(f"for layer in {walked}:\n    x = layer(x)\nreturn x")
    assert [found.loop.module.code(each) for each in found.layer.bases] == ["self.enc", "self.dec"]
    assert found.layer.text == "[*self.enc, *self.dec]"


def test_a_cache_whose_name_is_used_again_is_a_local_of_one_layer():
    head = "for layer, cache in zip(self.layers, caches):\n    x, cache = layer(x, cache, pos)\n"
    found = shape(f"{head}return x")
    assert (found.carry, found.rebound, found.problems) == (("x",), ("cache",), ())
    found = shape(f"new = []\n{head}    new.append(cache)\nreturn x, new")
    assert [each.name for each in found.collections] == ["new"] and found.problems == ()
    found = shape(f"{head}return x, cache")
    assert [each.rule for each in found.problems] == ["SCN209"]


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("for layer in self.layers:\n    x = layer(x)\n    if x.sum() > 0:\n        break\nreturn x", "SCN205"),
        (
            "outs = []\nfor layer in self.layers:\n    x = layer(x)\n    outs.append(x)\n    x = outs[0]\nreturn x",
            "SCN206",
        ),
        ("for layer in self.layers:\n    x = layer(x)\nreturn layer", "SCN209"),
        ("for layer in self.layers:\n    y = layer(x)\nreturn x", "SCN210"),
        ("for layer in self.layers:\n    x = layer(x)\n    z = layer(z)\nreturn x", "SCN210"),
        ("f = lambda: x\nfor layer in self.layers:\n    x = layer(x) + f()\nreturn x", "SCN211"),
        ("for layer in self.layers:\n    del x\n    x = layer(x)\nreturn x", "SCN212"),
        ("try:\n    for layer in self.layers:\n        x = layer(x)\nexcept ValueError:\n    pass\nreturn x", "SCN212"),
        ("for layer in self.layers:\n    x = layer(x)\nelse:\n    x = 2 * x\nreturn x", "SCN213"),
        ("for i, layer in enumerate(self.made()):\n    x = layer(x) * i\nreturn x", "SCN208"),
        ("class A:\n    x = 1\n    for layer in self.layers:\n        x = layer(x)", "SCN212"),
        ("for layer, k in zip(*self.layers):\n    x = layer(x)\nreturn x", None),
    ],
)
def test_what_syntax_and_dataflow_speak_against(body, rule):
    if rule is None:
        module = source(METHOD.format(body="\n".join(f"        {line}" for line in body.splitlines())))
        assert loops_in(module)[0].problem is not None
    else:
        assert [each.rule for each in shape(body).problems] == [rule]


def test_an_exit_that_is_known_when_it_is_traced_is_taken_over():
    found = shape(
        "for i, layer in enumerate(self.layers):\n    if i == start:\n        break\n    x = layer(x)\nreturn x"
    )
    assert found.exit_words == {"break"} and not found.problems and found.ends_early
    assert found.exits[0].conditions


def test_last_values_are_carried():
    found = shape("for layer in self.layers:\n    h = layer(x)\n    x = x + h\nreturn x, h")
    assert (found.carry, found.last, found.unset) == (("x", "h"), ("h",), ("h",))


def test_names_of_the_module_are_captured_and_those_of_the_function_shared():
    found = shape("scale = 2\nfor layer in self.layers:\n    x = jax.nn.relu(layer(x)) * scale + self.bias\nreturn x")
    assert found.broadcast == ("scale",) and found.captured == ("jax", "self")


def test_a_loop_that_only_appends_gives_elements():
    for line in ("outs.append(layer(x))", "outs += [layer(x)]"):
        found = shape(f"outs = []\nfor layer in self.layers:\n    {line}\nreturn outs")
        assert found.loop.appends_to == "outs" and found.loop.element is not None and not found.problems
        assert found.call is not None and found.call.arguments[0].text == "x"


def test_comments_leave_loops_alone():
    for text, ignored in (
        ("    for layer in layers:  # scanify: ignore\n        x = layer(x)\n", True),
        ("    # scanify: ignore\n    return [layer(x) for layer in layers]\n", True),
        ('    "scanify: ignore"\n    return [layer(x) for layer in layers]\n', False),
    ):
        assert [loop.ignored for loop in loops_in(source(f"def f(layers, x):\n{text}"))] == [ignored]


def test_comments_are_heeded_where_the_text_cannot_be_taken_apart(monkeypatch):
    def fails(readline):
        raise tokenize.TokenError("of a later Python")

    monkeypatch.setattr(tokenize, "generate_tokens", fails)
    (loop,) = loops_in(
        source("def f(layers, x):\n    for layer in layers:  # scanify: ignore[SCN101]\n        x = layer(x)\n")
    )
    assert loop.ignores == {"SCN101"} and not loop.ignored
