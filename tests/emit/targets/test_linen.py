"""Loops over modules of Flax Linen: what the target `linen` writes, and what it leaves as it is."""

from pathlib import Path

import pytest

from scanify.analysis.linen_layers import RenamedLayers
from scanify.analysis.plan import Framework, Plan, Refusal
from scanify.configuration.config import TARGETS
from scanify.emit.targets.every import TARGETS as TARGET_MODULES
from tests.emit.targets.linen_models import APPLIED, body, compact, setup
from tests.emit.targets.models import reason, rewritten
from tests.texts import texts


def plan_of(text: str, folder: Path) -> Plan:
    """The only plan of a text."""
    _, outcome = rewritten(text, folder, "linen", remat="none")
    (plan,) = outcome.applied
    return plan


def test_a_list_of_setup_becomes_one_module_and_the_loop_a_scan(tmp_path: Path) -> None:
    after, outcome = rewritten(setup(), tmp_path, "linen", remat="none")
    (plan,) = outcome.applied
    assert plan.framework is Framework.LINEN
    assert plan.renamed == RenamedLayers("layers_{}", "layers")
    assert "        self.layers = Block(self.dim)\n" in after
    assert after.endswith(
        "        x = self.embed(x)\n\n"
        "        def apply_layer(layer, x, _):\n"
        "            x = layer(x, mask, train)\n"
        "            return x, None\n\n"
        "        x, _ = nn.scan(\n"
        "            apply_layer, variable_axes={True: 0}, split_rngs={True: True}, length=self.n\n"
        "        )(self.layers, x, None)\n"
        "        return x\n"
    )


def test_a_layer_that_is_built_in_the_loop_is_built_once(tmp_path: Path) -> None:
    after, outcome = rewritten(compact(), tmp_path, "linen", remat="full")
    (plan,) = outcome.applied
    assert plan.renamed == RenamedLayers("layer_{}", "layer")
    assert after.endswith(
        "        x = nn.Dense(self.dim)(x)\n\n"
        "        def apply_layer(layer, x, _):\n"
        "            x = layer(x, mask, train)\n"
        "            return x, None\n\n"
        "        x, _ = nn.scan(\n"
        "            nn.remat(apply_layer, prevent_cse=False),\n"
        "            variable_axes={True: 0},\n"
        "            split_rngs={True: True},\n"
        "            length=self.n,\n"
        '        )(Block(self.dim, name="layer"), x, None)\n'
        "        return nn.Dense(2)(x)\n"
    )


@pytest.mark.parametrize(
    ("name", "loop", "scan", "first"),
    [
        ('f"layer_{i}"', "layer_{}", "layer", 0),
        ('f"encoderblock_{i}"', "encoderblock_{}", "encoderblock", 0),
        ("str(i)", "{}", "layers", 0),
        ('"h" + str(i)', "h{}", "h", 0),
        ('"h_%d" % i', "h_{}", "h", 0),
        ('"block{}".format(i)', "block{}", "block", 0),
        ('f"layer_{i + 1}"', "layer_{}", "layer", 1),
        ('f"{i}_layer"', "{}_layer", "layer", 0),
    ],
)
def test_every_way_to_name_layers_is_read(name: str, loop: str, scan: str, first: int, tmp_path: Path) -> None:
    plan = plan_of(compact(body(f"x = Block(self.dim, name={name}){APPLIED}")), tmp_path)
    assert plan.renamed == RenamedLayers(loop, scan, first)


def test_layers_without_a_name_are_named_by_their_class(tmp_path: Path) -> None:
    text = compact(body("block = Block(self.dim)", f"x = block{APPLIED}", head="for _ in range(self.n):"))
    after, outcome = rewritten(text, tmp_path, "linen", remat="none")
    assert outcome.applied[0].renamed == RenamedLayers("Block_{}", "layers")
    assert "def apply_block(block, x, _):\n            x = block(x, mask, train)\n" in after
    assert '(Block(self.dim, name="layers"), x, None)' in " ".join(after.split()).replace("( ", "(")


def test_a_list_of_a_compact_method_becomes_one_module(tmp_path: Path) -> None:
    text = compact(
        '        layers = [Block(self.dim, name=f"layer_{i}") for i in range(self.n)]\n'
        + body(f"x = layer{APPLIED}", head="for layer in layers:")
    )
    after, outcome = rewritten(text, tmp_path, "linen", remat="none")
    assert outcome.applied[0].renamed == RenamedLayers("layer_{}", "layer")
    assert '        layers = Block(self.dim, name="layer")\n' in after


def test_a_name_that_the_class_has_is_not_taken(tmp_path: Path) -> None:
    text = compact().replace("nn.Dense(self.dim)(x)", 'nn.Dense(self.dim, name="layer")(x)')
    assert plan_of(text, tmp_path).renamed == RenamedLayers("layer_{}", "layer_stack")


def test_what_is_walked_beside_and_what_is_collected(tmp_path: Path) -> None:
    text = setup(
        "        seen = []\n"
        + body(f"x = scale * layer{APPLIED}", "seen.append(x)", head="for layer, scale in zip(self.layers, scales):")
        + "        return x, seen\n"
    ).replace("mask, train=False):\n        x = self", "mask, scales, train=False):\n        x = self")
    after, _ = rewritten(text, tmp_path, "linen", remat="none")
    assert "def apply_layer(layer, x, scale):\n" in after
    assert "self.layers, x, per_layer(scales, self.n)" in after
    assert "collected = unstack_layers(collected, self.n)" in after


def test_the_number_of_a_layer_is_an_array(tmp_path: Path) -> None:
    after, _ = rewritten(
        compact(body(f'x = Block(self.dim, name=f"layer_{{i}}"){APPLIED} + i')), tmp_path, "linen", remat="none"
    )
    assert "def apply_layer(layer, x, i):\n" in after
    assert "jax.numpy.arange(self.n)" in after


def test_a_loop_that_counts_walks_the_numbers(tmp_path: Path) -> None:
    text = setup(body(f"x = layer{APPLIED} + i", head="for i, layer in enumerate(self.layers):") + "        return x\n")
    after, _ = rewritten(text, tmp_path, "linen", remat="none")
    assert "(self.layers, x, jax.numpy.arange(self.n))" in after


def test_a_list_that_a_condition_chooses_stays(tmp_path: Path) -> None:
    lists = (
        "        if self.dim > 8:\n"
        "            self.layers = [Block(self.dim + 1) for _ in range(self.n)]\n"
        "        else:\n"
        "            self.layers = [Block(self.dim) for _ in range(self.n)]\n"
    )
    text = setup().replace("        self.layers = [Block(self.dim) for _ in range(self.n)]\n", lists)
    after, outcome = rewritten(text, tmp_path, "linen")
    assert after == text and "a condition chooses" in reason(outcome)


def test_two_loops_over_a_list_become_two_scans_over_one_module(tmp_path: Path) -> None:
    loop = body(f"x = layer{APPLIED}", head="for layer in self.layers:")
    after, outcome = rewritten(setup(loop + loop + "        return x\n"), tmp_path, "linen", remat="none")
    assert len(outcome.applied) == 2
    assert after.count("Block(self.dim)") == 1
    assert after.count("nn.scan(") == 2


def test_layers_that_have_remat_keep_it(tmp_path: Path) -> None:
    text = compact("        Layer = nn.remat(Block)\n" + body(f'x = Layer(self.dim, name=f"layer_{{i}}"){APPLIED}'))
    after, _ = rewritten(text, tmp_path, "linen")
    assert after.count("remat") == 1
    assert 'Layer(self.dim, name="layer")' in after
    assert "one of `nn.remat` already" in reason(rewritten(text, tmp_path, "linen", remat="dots")[1])


@pytest.mark.parametrize("wrapped", ["nn.remat(Block)", "nn.jit(Block)", "Same", "Round"])
def test_a_class_that_the_file_wraps_is_that_class(wrapped: str, tmp_path: Path) -> None:
    layer = f"Same = Block\nRound = Again\nAgain = Round\nLayer = {wrapped}\n\n\n"
    text = compact(body(f'x = Layer(self.dim, name=f"layer_{{i}}"){APPLIED}')).replace(
        "class Model", f"{layer}class Model"
    )
    after, outcome = rewritten(text, tmp_path, "linen")
    if wrapped == "Round":
        assert after == text
        return
    assert len(outcome.applied) == 1 and '(Layer(self.dim, name="layer"), x, None)' in after
    assert ("nn.remat(apply_layer" in after) == (wrapped != "nn.remat(Block)")


FILLED = """        blocks = []
        for i in range(self.n):
            blocks.append(Block(self.dim))
        self.layers = blocks
"""
BUILT = "        self.layers = [Block(self.dim) for _ in range(self.n)]\n"


@pytest.mark.parametrize("layer", ["Block(self.dim)", "Block(self.dim, 0.1 * i)"])
def test_a_list_that_is_filled_layer_by_layer_stays(layer: str, tmp_path: Path) -> None:
    text = setup().replace(BUILT, FILLED.replace("Block(self.dim)", layer))
    after, outcome = rewritten(text, tmp_path, "linen", remat="none")
    (refused,) = outcome.analysis.loops
    assert after == text and isinstance(refused, Refusal)
    assert "no value goes from one layer" in refused.reason or "its own value" in refused.reason


def test_no_rewrite_is_safe(tmp_path: Path) -> None:
    for text in (setup(), compact()):
        plan = plan_of(text, tmp_path)
        assert not plan.safe
        assert "initialises with other keys" in texts(plan.obligations)[0]


def test_code_that_has_a_layers_name_is_told(tmp_path: Path) -> None:
    text = compact() + '\n\ndef first(params):\n    return params["layer_0"]["mix"]\n'
    plan = plan_of(text, tmp_path)
    assert any("`layer_0`" in each for each in texts(plan.elsewhere))
    assert not plan_of(compact() + '\n\ndef first(params):\n    return params["embed_0"]\n', tmp_path).elsewhere


REFUSED = {
    "its own width": (compact(body(f'x = Block(self.dim * i, name=f"l_{{i}}"){APPLIED}')), "SCN203", "self.dim * i"),
    "its own rate": (setup(layers="[Block(self.dim, i / 3) for i in range(self.n)]"), "SCN203", "i / 3"),
    "two modules": (
        compact(body('h = Block(4, name=f"a_{i}")(x, mask)', 'x = Block(4, name=f"b_{i}")(h, mask)')),
        "SCN217",
        "several modules",
    ),
    "one name for all": (compact(body(f'x = Block(self.dim, name="same"){APPLIED}')), "SCN217", '"same"'),
    "a name of another": (
        compact(body(f'x = Block(self.dim, name=self.stem + f"{{i}}"){APPLIED}')),
        "SCN217",
        "self.stem",
    ),
    "counted with others": (
        compact(body(f"x = Block(self.dim){APPLIED}") + f"        x = Block(self.dim){APPLIED}\n"),
        "SCN217",
        "counts `Block`",
    ),
    "another module": (
        setup(body(f"x = self.embed(layer{APPLIED})", head="for layer in self.layers:")),
        "SCN217",
        "`self.embed`",
    ),
    "a module of the method": (
        compact("        norm = nn.LayerNorm()\n" + body(f'x = norm(Block(self.dim, name=f"l_{{i}}"){APPLIED})')),
        "SCN217",
        "`norm`",
    ),
    "a stream": (
        compact(body(f'x = Block(self.dim, name=f"l_{{i}}"){APPLIED} * jax.random.normal(self.make_rng("dropout"))')),
        "SCN217",
        "`self.make_rng`",
    ),
    "itself": (
        compact(body(f'x = Block(self.dim, name=f"l_{{i}}"){APPLIED} + helper(self)')),
        "SCN217",
        "hands on `self`",
    ),
    "an element": (
        setup(
            body(f"x = layer{APPLIED}", head="for layer in self.layers:") + "        return self.layers[0](x, mask)\n"
        ),
        "SCN214",
        "line",
    ),
    "its length": (
        setup(body(f"x = layer{APPLIED}", head="for layer in self.layers:") + "        return x / len(self.layers)\n"),
        "SCN214",
        "line",
    ),
    "backwards": (setup(body(f"x = layer{APPLIED}", head="for layer in reversed(self.layers):")), "SCN217", "reversed"),
    "some": (setup(body(f"x = layer{APPLIED}", head="for layer in self.layers[1:]:")), "SCN217", "self.layers[1:]"),
    "a number of setup": (
        setup(layers="[Block(self.dim) for _ in range(count)]").replace(
            "setup(self):\n", "setup(self):\n        count = self.n\n"
        ),
        "SCN217",
        "`count`",
    ),
    "sizes": (
        compact(body(f"x = Block(width){APPLIED}", head="for width in (4, 4, 4):")),
        "SCN203",
        "value of `width`",
    ),
    "few": (
        compact(body(f'x = Block(self.dim, name=f"l_{{i}}"){APPLIED}', head="for i in range(2):")),
        "SCN203",
        "2 layers",
    ),
    "an early end": (
        setup(
            body(f"x = layer{APPLIED}", "if train:", "    break", head="for layer in self.layers:")
            + "        return x\n"
        ),
        "SCN217",
        "every layer is applied",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_scan_would_not_do_stays_a_loop(what: str, tmp_path: Path) -> None:
    text, rule, words = REFUSED[what]
    after, outcome = rewritten(text, tmp_path, "linen")
    assert after == text
    (loop,) = [each for each in outcome.analysis.loops if isinstance(each, Refusal)]
    assert (loop.rule, words in loop.reason) == (rule, True), loop.reason


@pytest.mark.parametrize(
    "loop",
    [
        body("x = x + i"),
        body("x = fn(x)", head="for fn in (nn.relu, nn.tanh, nn.gelu):"),
        body("x = x * scale", head="for scale in scales:"),
    ],
)
def test_a_loop_over_no_modules_is_not_listed(loop: str, tmp_path: Path) -> None:
    _, outcome = rewritten(compact(loop), tmp_path, "linen")
    assert outcome.analysis.loops == ()


def test_a_policy_that_flax_has_not_is_refused(tmp_path: Path) -> None:
    assert "has no remat policy" in reason(rewritten(setup(), tmp_path, "linen", remat="offload")[1])


def test_nested_is_a_scan_of_scans(tmp_path: Path) -> None:
    after, outcome = rewritten(setup(), tmp_path, "linen", remat="nested")
    assert "x = nn.remat_scan(apply_layer, lengths=chunks_of(self.n))(self.layers, x)" in after
    assert "    def apply_layer(layer, x):\n            x = layer(x, mask, train)\n            return x\n" in after
    (plan,) = outcome.applied
    assert plan.linen is not None and plan.linen.renamed.nested
    assert not (rewritten(setup(), tmp_path, "linen", remat="full")[1].applied[0].linen or plan.linen).renamed.nested


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (body("xs.append(x)\n            x = layer(x)", head="for layer in self.layers:"), "collects what each layer"),
        (body("x = layer(x) * s", head="for layer, s in zip(self.layers, scales):"), "gives each layer its own `s`"),
    ],
)
def test_nested_hands_a_carry_on_and_nothing_else(call: str, said: str, tmp_path: Path) -> None:
    text = setup(call).replace("x = self.embed(x)", "x = self.embed(x)\n        xs = []")
    assert rewritten(text, tmp_path, "linen", remat="full")[1].applied
    assert said in reason(rewritten(text, tmp_path, "linen", remat="nested")[1])


@pytest.mark.parametrize("target", [each for each in TARGETS if each != "linen"])
def test_no_other_target_takes_modules_of_linen(target: str, tmp_path: Path) -> None:
    after, outcome = rewritten(setup(), tmp_path, target)
    assert after == setup()
    own = TARGET_MODULES[target].FRAMEWORK.value
    assert reason(outcome) == f"the target {target} is for modules of {own}, and these are of Flax Linen"


def test_equinox_is_not_for_linen(tmp_path: Path) -> None:
    from tests.emit.targets.models import PLAIN

    after, outcome = rewritten(PLAIN, tmp_path, "linen")
    assert after == PLAIN
    assert "these are of Equinox" in reason(outcome)
