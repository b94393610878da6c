"""All loops over one list are decided together: none is left to take a stack apart in each call."""

from pathlib import Path
from textwrap import dedent, indent

import pytest
from helpers import model, refused

from scanify.analysis import analyse
from scanify.analysis.index import Index
from scanify.analysis.obligation import COST
from scanify.analysis.plan import Holds, Plan, Refusal
from scanify.analysis.stack import CallStack, InitStack
from scanify.source.file import Source

DEBUG = "for layer in self.layers:\n    x = layer(x)\n    print(x)\nreturn x"


def method(body: str, head: str = "def other(self, x, caches):") -> str:
    return indent(f"\n{head}\n{indent(dedent(body), '    ')}\n", "    ")


def found(*sources: tuple[str, str], given: int = 1, **more) -> list[Plan | Refusal]:
    files = [Source(Path(name), text) for name, text in sources]
    return list(analyse(files[:given], index=lambda: Index(Path(), files), **more).loops)


def test_a_list_stays_one_where_another_loop_over_it_stays():
    text = model() + method(DEBUG)
    plan, other = found(("model.py", text))
    assert isinstance(plan, Plan) and isinstance(plan.stack, CallStack) and plan.safe
    assert isinstance(other, Refusal) and other.rule == "SCN207"
    assert plan.stack.at == other.place
    assert any("another loop over it stays as it is" in note and str(other.place) in note for note in plan.notes)


def test_stacking_it_all_the_same_is_refused_with_the_other_loop():
    plan, other = found(("model.py", model() + method(DEBUG)), stack="init")
    assert isinstance(plan, Refusal) and plan.rule == "SCN214"
    assert plan.at == other.place and "another loop" in plan.reason


@pytest.mark.parametrize(
    "loop",
    [
        pytest.param("for layer in self.layers:  # scanify: ignore\n    x = layer(x)\nreturn x", id="left alone"),
        pytest.param("for layer in self.layers:  # scanify: ignore[SCN101]\n    x = layer(x)\nreturn x", id="by rule"),
        pytest.param(
            "layers = self.layers\nfor layer in layers:\n    x = layer(x)\n    print(x)\nreturn x", id="alias"
        ),
        pytest.param("for layer in self.layers[1:]:\n    x = layer(x)\n    print(x)\nreturn x", id="a part of it"),
        pytest.param("for i in range(len(self.layers)):\n    x = self.layers[i](x)\n    print(x)", id="by number"),
        pytest.param("for i in range(4):\n    if i:\n        x = self.layers[i](x)\nreturn x", id="some by number"),
    ],
)
def test_every_loop_that_walks_it_counts(loop):
    plan, *_ = found(("model.py", model() + method(loop)))
    assert isinstance(plan, Plan) and isinstance(plan.stack, CallStack)
    assert plan.stack.at is not None


@pytest.mark.parametrize(
    "loop",
    [
        pytest.param("for layer in self.layers:\n    x = layer(x) * 2\nreturn x", id="another fold"),
        pytest.param("new = []\nfor layer in self.layers:\n    x = layer(x)\n    new.append(x)\nreturn x, new", id="one that collects"),
        pytest.param("return [layer(x) for layer in self.layers]", id="independent layers"),
        pytest.param("return len(self.layers), self.layers[0]", id="no loop"),
    ],
)  # fmt: skip
def test_where_every_loop_goes_it_is_built_stacked(loop):
    plan, *_ = found(("model.py", model() + method(loop)))
    assert isinstance(plan, Plan) and isinstance(plan.stack, InitStack)


def test_what_builds_the_model_runs_once():
    text = model(
        init="self.layers = [Block(8, key=k) for k in jr.split(key, depth)]\nfor layer in self.layers:\n    print(layer(key))"
    )
    assert isinstance(next(each for each in found(("model.py", text)) if isinstance(each, Plan)).stack, InitStack)


def test_loops_of_other_files_count_whichever_are_given():
    other = """
    from model import Model


    def run(model: Model, x):
        for layer in model.layers:
            x = layer(x)
            print(x)
        return x
    """
    files = ("model.py", model()), ("other.py", dedent(other))
    both = found(*files, given=2)
    assert [type(each) for each in both] == [Plan, Refusal]
    assert isinstance(both[0].stack, CallStack)
    assert found(*files) == both[:1]
    assert found(*reversed(files)) == both[1:]
    fine = files[0], ("other.py", dedent(other).replace("        print(x)\n", "        x = x * 2\n"))
    both = found(*fine, given=2)
    assert [isinstance(each.stack, InitStack) for each in both] == [True, True]
    assert (found(*fine), found(*reversed(fine))) == (both[:1], both[1:])


def test_one_container_holds_a_list_that_another_file_walks_too():
    other = "from model import Model\n\n\ndef run(model: Model, x):\n    for i, layer in enumerate(model.layers):\n        x = layer(x) * i\n    return x\n"
    (plan,) = found(("model.py", model()), ("other.py", other))
    assert isinstance(plan, Plan) and plan.holds is Holds.BLOCK_SEQ


CACHES = {
    "zip, the name again": "for layer, c in zip(self.layers, caches):\n    x, c = layer.step(x, c)\n    new.append(c)",
    "read by number": "for i, layer in enumerate(self.layers):\n    x, c = layer.step(x, caches[i])\n    new.append(c)",
    "counted and zipped": "for i, (layer, c) in enumerate(zip(self.layers, caches)):\n    x, c = layer.step(x, c * i)\n    new += [c]",
    "pairs": "for layer, (k, v) in zip(self.layers, caches):\n    x, (k, v) = layer.step(x, (k, v))\n    new.append((k, v))",
    "a carry": "c = caches\nfor layer in self.layers:\n    x, c = layer.step(x, c)",
}  # fmt: skip


@pytest.mark.parametrize("loop", CACHES.values(), ids=CACHES)
def test_a_loop_with_caches_beside_a_training_loop_can_be_rewritten_too(loop):
    block = "    def step(self, x, cache):\n        return self(x), cache\n\n    def attend("
    decode = f"caches = list(caches)\nnew = []\n{loop}\nreturn x, new, caches"
    head = "def other(self, x, caches: list[jax.Array]):"
    text = (model() + method(decode, head)).replace("    def attend(", block)
    train, cached = found(("model.py", text))
    assert isinstance(train, Plan) and isinstance(cached, Plan)
    assert isinstance(train.stack, InitStack) and train.stack == cached.stack
    assert train.safe and not cached.left({COST})
    assert cached.safe == loop.startswith("c = caches")  # a carry is stacked by no one


def test_caches_that_something_else_holds_are_not_stored_into():
    loop = "other = caches\ncaches = list(caches)\nlast = caches\nfor i, layer in enumerate(self.layers):\n    x, caches[i] = layer(x), last"
    assert "something else may hold" in refused("SCN206", model(loop, parameters="x, caches")).reason
