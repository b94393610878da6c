"""Loops over modules of Flax NNX: what the target `nnx` writes, what it refuses, and that no other target takes them."""

import re
from pathlib import Path

import pytest

from scanify.analysis.plan import Framework, Plan
from scanify.analysis.stack import CallStack
from scanify.configuration.config import TARGETS
from scanify.emit import rewrite_texts
from scanify.emit.targets.every import TARGETS as TARGET_MODULES
from scanify.errors import CheckFailed
from scanify.pipeline import Project, rewrite_sources
from tests.emit.targets.models import PLAIN, reason, rewritten
from tests.emit.targets.nnx_models import BESIDE_LAYERS, BLOCKS, LOOP, model, with_norms
from tests.texts import texts

TEXT = model("dropout")
MODULES = "the elements of `self.layers` are Flax NNX modules, and applying one has no side effects: "
MODULES += "a call may write to variables that other code holds"
SHAPE = "`x` keeps its shape, which its layers are not shown to keep"


def test_the_list_stays_and_is_stacked_in_the_call(tmp_path: Path) -> None:
    after, outcome = rewritten(TEXT, tmp_path, "nnx", remat="none")
    (plan,) = outcome.applied
    assert isinstance(plan.stack, CallStack)
    assert texts(plan.obligations) == (MODULES, SHAPE)
    assert plan.rule == "SCN101"
    assert plan.framework is Framework.NNX
    assert "self.layers = nnx.List([Block(4, rngs=rngs) for _ in range(n)])" in after
    assert after.endswith(
        "    def __call__(self, x):\n"
        "        def apply_layer(layer, x):\n"
        "            x = layer(x)\n"
        "            return x, None\n\n"
        "        x, _ = scan_layers(apply_layer, x, self.layers)\n"
        "        return x\n"
    )
    assert "scanify" not in after
    assert "equinox" not in after


@pytest.mark.parametrize(
    ("remat", "written"),
    [
        (None, ["remat=True"]),
        ("full", ["remat=True"]),
        ("dots", ["remat=True", "policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable"]),
        ("save_all", []),
    ],
)
def test_the_policy_is_an_argument(remat: str | None, written: list[str], tmp_path: Path) -> None:
    after, _ = rewritten(TEXT, tmp_path, "nnx", remat=remat)
    call = "".join(after[after.rindex("scan_layers(") : after.rindex(")")].split()).rstrip(",")
    assert call == ",".join(["scan_layers(apply_layer", "x", "self.layers", *written])


@pytest.mark.parametrize("target", [each for each in TARGETS if each != "nnx"])
def test_no_other_target_takes_modules_of_nnx(target: str, tmp_path: Path) -> None:
    for text in (TEXT, model("dense", layers="[Block(4, rngs=rngs) for _ in range(n)]")):
        after, outcome = rewritten(text, tmp_path, target)
        assert after == text
        own = TARGET_MODULES[target].FRAMEWORK.value
        assert reason(outcome) == f"the target {target} is for modules of {own}, and these are of Flax NNX"
        (loop,) = outcome.analysis.loops
        assert "--target nnx" in loop.remedy  # type: ignore[union-attr]


def test_an_emitter_writes_no_plan_of_another_framework(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(TEXT)
    plans = [each for each in Project.load([path]).analyse().loops if isinstance(each, Plan)]
    assert plans
    for target in ("scanify", "lax", "haliax"):
        with pytest.raises(CheckFailed, match="expected modules of Equinox"):
            rewrite_texts({path: TEXT}, plans, target=target)


def test_modules_of_equinox_are_not_for_the_target(tmp_path: Path) -> None:
    after, outcome = rewritten(PLAIN, tmp_path, "nnx")
    assert after == PLAIN
    assert reason(outcome) == "the target nnx is for modules of Flax NNX, and these are of Equinox"


REFUSED = {
    "an exit": (
        LOOP.replace("x = layer(x)", "x = layer(x)\n            if len(self.layers) > 5:\n                break"),
        "end",
    ),
    "an expression over two lists": (
        "\n        return [b(a(x)) for a, b in zip(self.layers, self.layers)]\n",
        "write it as a `for` statement",
    ),
    "streams for all": (
        "\n        rngs = self.rngs\n        for layer in self.layers:\n            x = layer(x, rngs)\n        return x\n",
        "each layer writes to `rngs`",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_scan_cannot_express_is_refused(name: str, tmp_path: Path) -> None:
    call, said = REFUSED[name]
    text = model("dense", call)
    after, outcome = rewritten(text, tmp_path, "nnx")
    assert after == text
    assert said in reason(outcome)


@pytest.mark.parametrize("policy", ["nested", "offload"])
def test_a_policy_that_it_has_not_is_refused(policy: str, tmp_path: Path) -> None:
    after, outcome = rewritten(TEXT, tmp_path, "nnx", remat=policy)
    assert after == TEXT
    assert "no remat policy like" in reason(outcome)


def test_a_list_is_not_built_stacked(tmp_path: Path) -> None:
    after, outcome = rewritten(TEXT, tmp_path, "nnx", stack="init")
    assert after == TEXT
    assert reason(outcome) == "the list holds modules of Flax NNX, which keep their state"


def test_layers_of_two_classes_are_refused(tmp_path: Path) -> None:
    text = model("dense", layers="nnx.List([Block(4, rngs=rngs), nnx.Linear(4, 4, rngs=rngs)])")
    after, outcome = rewritten(text, tmp_path, "nnx")
    assert after == text
    assert not outcome.applied


def test_a_variable_that_all_layers_hold_is_refused(tmp_path: Path) -> None:
    layers = "nnx.List([Block(4, self.scale, rngs=rngs) for _ in range(n)])"
    block = BLOCKS["dense"].replace("self.norm =", "self.scale = scale\n        self.norm =")
    text = model(block, layers=layers).replace("self, dim,", "self, dim, scale,")
    path = tmp_path / "model.py"
    path.write_text(text.replace("self.layers =", "self.scale = nnx.Param(jnp.ones(4))\n        self.layers ="))
    (loop,) = rewrite_sources(Project.load([path]), target="nnx").refused
    assert loop.rule == "SCN204"


def test_layers_may_share_what_makes_their_arrays(tmp_path: Path) -> None:
    block = BLOCKS["dense"].replace("nnx.initializers.normal(0.5)", "INIT")
    text = model(block).replace("class Block", "INIT = jax.nn.initializers.normal(0.5)\n\n\nclass Block")
    after, outcome = rewritten(text, tmp_path, "nnx")
    assert outcome.applied
    assert "scan_layers(apply_layer" in after


OPEN = {
    "nnx.List([Block(4 + (i > n), rngs=rngs) for i in range(n)])": "one body fits all layers in `self.layers`, though",
    "nnx.List([Block(4, rngs=rngs), Block(4, rngs=rngs), Block(4, rngs=rngs), Block(n, rngs=rngs)])": (
        "though some layers are built apart from the others"
    ),
}


@pytest.mark.parametrize("layers", OPEN)
def test_whether_one_body_fits_is_an_obligation_where_the_source_leaves_it_open(layers: str, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(model("dense", layers=layers))
    outcome = rewrite_sources(Project.load([path]), target="nnx")
    assert not outcome.applied
    (plan,) = outcome.held
    assert any(OPEN[layers] in each for each in texts(plan.obligations))


def test_the_number_of_a_layer_is_an_array_which_makes_it_unsafe(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        model(
            "dense",
            LOOP.replace("layer in self", "i, layer in enumerate(self").replace("s:", "s):").replace("(x)", "(x) * i"),
        )
    )
    outcome = rewrite_sources(Project.load([path]), target="nnx", accept=lambda plan: True)
    (plan,) = outcome.applied
    assert "no `if` asks `i`, the number of the layer, which is an array in a scan" in texts(plan.obligations)
    assert "self.layers, jax.numpy.arange(len(self.layers)), remat=True" in " ".join(outcome.texts[path].split())


def test_layers_of_two_lists_are_walked_together(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(with_norms(model("dense", BESIDE_LAYERS)))
    outcome = rewrite_sources(Project.load([path]), target="nnx", accept=lambda plan: True)
    (plan,) = outcome.applied
    assert "one body fits all layers in `self.norms`, too" in texts(plan.obligations)
    after = " ".join(outcome.texts[path].split())
    assert re.search(r"def apply_layer\((\w+), x\): layer, norm = \1 x = norm\(layer\(x\)\) return x, None", after)
    assert "apply_layer, x, zip(self.layers, self.norms, strict=True), remat=True" in after


@pytest.mark.parametrize("empty", ["nnx.List([])", "nnx.List()", "[]"])
def test_a_list_may_be_begun_empty_and_grow(empty: str, tmp_path: Path) -> None:
    layers = f"{empty}\n        for _ in range(n):\n            self.layers.append(Block(4, rngs=rngs))"
    path = tmp_path / "model.py"
    path.write_text(model("dense", layers=layers))
    (plan,) = rewrite_sources(Project.load([path]), target="nnx").held
    assert texts(plan.obligations) == (MODULES, SHAPE)


@pytest.mark.whole
def test_an_expression_becomes_a_map(tmp_path: Path) -> None:
    after, outcome = rewritten(
        model("dense", "\n        return [layer(x) for layer in self.layers]\n"), tmp_path, "nnx"
    )
    assert outcome.applied
    assert after.endswith("        return map_layers(lambda layer: layer(x), self.layers)\n")
    call = "\n        found = []\n        for layer in self.layers:\n            found.append(layer(x))\n        return found\n"
    after, _ = rewritten(model("dense", call), tmp_path, "nnx")
    assert "        found.extend(map_layers(lambda layer: layer(x), self.layers))\n" in after
