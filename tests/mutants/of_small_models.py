"""Wrong rewrites of small models, with values: for each check of a verification one that it alone tells."""

from tests.mutants.mutant import Changes, Model, Mutant
from tests.verify import test_layers as gated
from tests.verify.loop_model import CALL, FOLD, KEYS, LIST, LOOP, PLAIN, REWRITE, SOURCE, STACK
from tests.verify.test_batched import WRONG_RULE as WRONG_BATCHES
from tests.verify.test_tangents import NO_FORWARD_RULE, WRONG_FORWARD_RULE

CASES = """
import jax
import jax.numpy as jnp

X, MASK = jnp.linspace(-1.0, 1.0, 8).reshape(2, 4), jnp.array([1.0, 0.0, 1.0, 1.0])


EVERYTHING = jnp.ones(4, bool)


def build(module):
    return module.Model(3, 4, key=jax.random.key(0))


def inference(module):
    return build(module), (X, MASK)


def unmasked(module):
    return build(module), (X, EVERYTHING)


def training(module):
    return build(module), (X, MASK), {"key": jax.random.key(7)}


def of_its_own(module):
    return build(module), (X * getattr(module, "SCALE", 1.0), MASK)


def without_arrays(module):
    return module.Model(key=jax.random.key(0)), (jnp.ones((2, 4)),)
"""


def model(
    case: str,
    policies: tuple[str | None, ...] = ("none",),
    requested: str | None = None,
    *,
    remat: object = "nested",
    container: str = "ArrayStacked",
) -> Model:
    text = SOURCE
    for old, new in REWRITE.items():
        text = text.replace(old, new.replace("'nested'", repr(remat)))
    texts = {"model.py": SOURCE}, {"model.py": text.replace("ArrayStacked", container)}
    name = f"a small model in {case}, {container}, remat {remat}"
    return Model(name, *texts, "model.py", CASES, case, policies, requested)


def gated_model() -> Model:
    text = gated.GATED
    for old, new in gated.FAITHFUL.items():
        text = text.replace(old, new)
    texts = {"model.py": gated.GATED}, {"model.py": text}
    return Model("a model with gates", *texts, "model.py", CASES, "without_arrays", ("none",), None)


INFERENCE, TRAINING, GATED = model("inference"), model("training"), gated_model()
NESTED = model("inference", ("nested",), "nested")
WITHOUT_REMAT = model("inference", remat=False)
SEQUENCE = model("inference", container="BlockSeq")

NORM = "x = x * self.norm"
RATES = "rates = [0.25] * n"
RULE = "class Block("
GATES = "x @ self.w + self.b"
FROZEN = ((GATES, "x @ jax.lax.stop_gradient(self.w) + jax.lax.stop_gradient(self.b)"),)
WRONG_REVERSE_RULE = WRONG_FORWARD_RULE.replace("1.001 * t, ", "t, ").replace("_, ct: ct", "_, ct: 1.001 * ct")
WHILE = "x = jax.lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, s[1] * self.norm), (0, x))[1]"
ONE_KEY = CALL.replace("(None, 0)", "(None, None)").replace("jax.random.split(key, 3)", "key")


PRINTED = (("        return x + y", "        jax.debug.print('{}', y[0, 0])\n        return x + y"),)


def rule(text: str) -> Changes:
    """A function that is the identity but for the rule that is wrong."""
    return (RULE, text + RULE), (NORM, "x = same(x) * self.norm")


MUTANTS = (
    Mutant(
        "the layers are built in reverse order, with values",
        INFERENCE,
        (("jax.random.split(key, n))]", "jax.random.split(key, n)[::-1])]"),),
        "parameters",
        only=True,
    ),
    Mutant(
        "a rate that nothing reads is that of the first layer",
        SEQUENCE,
        (("[0.25, 0.5, 0.25][:n]", "[0.25] * n"),),
        "parameters",
        only=True,
        both=((RATES, "rates = [0.25, 0.5, 0.25][:n]"),),
        says=r"layers\[1\]\.rate: 0\.5 in the original",
    ),
    Mutant(
        "the call is given other inputs",
        model("of_its_own"),
        ((RULE, "SCALE = 2.0\n\n\n" + RULE),),
        "inputs",
        only=True,
    ),
    Mutant(
        "an output is weakly typed",
        INFERENCE,
        (("return x, jnp.float32(3)", "return x, jnp.asarray(3.0)"),),
        "output tree",
        only=True,
        both=(("self.norm\n        return x", "self.norm\n        return x, jnp.float32(3)"),),
        says="weakly typed",
    ),
    Mutant(
        "an output that is no array is another",
        INFERENCE,
        (("return x, 'a'", "return x, 'b'"),),
        "output tree",
        only=True,
        both=(("self.norm\n        return x", "self.norm\n        return x, 'a'"),),
    ),
    Mutant(
        "the outputs are a list in place of a tuple",
        INFERENCE,
        (("return x, x", "return [x, x]"),),
        "output tree",
        only=True,
        both=(("self.norm\n        return x", "self.norm\n        return x, x"),),
    ),
    Mutant(
        "an output has another dtype",
        INFERENCE,
        (("self.norm\n        return x", "self.norm\n        return x.astype(jnp.float16)"),),
        "output tree",
        says="float16",
    ),
    Mutant(
        "an effect is made again by the remat that is written",
        WITHOUT_REMAT,
        (("checkpointing=False", "checkpointing='nested'"),),
        "as written",
        only=True,
        both=PRINTED,
    ),
    Mutant(
        "an effect is made again by the remat of another policy",
        model("inference", ("none", "nested"), remat=False),
        (),
        "policies",
        only=True,
        both=PRINTED,
    ),
    Mutant(
        "a print is lost",
        WITHOUT_REMAT,
        (("        jax.debug.print('{}', y[0, 0])\n", ""),),
        "outputs",
        both=PRINTED,
        says="effects",
    ),
    Mutant(
        "digits of float32 are lost that float64 has",
        INFERENCE,
        ((NORM, "large = 1000.0 * jax.lax.stop_gradient(mask).sum()\n        x = (x * self.norm + large) - large"),),
        "outputs",
        only=True,
        says="error .* against float64",
    ),
    Mutant(
        "the layer is called without its mask",
        INFERENCE,
        ((PLAIN, PLAIN.replace("mask", "jnp.ones_like(mask)")),),
        "outputs",
    ),
    Mutant(
        "the mask is left out where it is true everywhere",
        model("unmasked"),
        ((PLAIN, PLAIN.replace("mask", "jnp.ones_like(mask)")),),
        "outputs",
    ),
    Mutant("the result is thrown away", INFERENCE, ((PLAIN, PLAIN.replace("x =", "_ =")),), "outputs"),
    Mutant(
        "the keys are in reverse", TRAINING, ((CALL, CALL.replace("split(key, 3)", "split(key, 3)[::-1]")),), "outputs"
    ),
    Mutant(
        "a statement after the loop is dropped that changes nothing at first",
        INFERENCE,
        ((f"        {NORM}\n", ""),),
        "outputs",
    ),
    Mutant("a reverse rule is wrong", INFERENCE, rule(WRONG_REVERSE_RULE), "gradients", only=True),
    Mutant(
        "there is no reverse mode",
        INFERENCE,
        ((NORM, WHILE),),
        "gradients",
        only=True,
        says="cannot be differentiated",
    ),
    Mutant(
        "the gradient of a parameter is stopped",
        INFERENCE,
        ((NORM, "x = x * jax.lax.stop_gradient(self.norm)"),),
        "gradients",
        silent=("outputs", "parameters"),
        says="norm receives no gradient",
    ),
    Mutant(
        "a gradient is lost that is zero at first",
        GATED,
        ((gated.FOLD, gated.BIAS_FROZEN),),
        "lost gradients",
        only=True,
        says=r"layers\[2\]\.b receives",
    ),
    Mutant("there is no forward rule", INFERENCE, rule(NO_FORWARD_RULE), "tangents", only=True),
    Mutant("a forward rule is wrong", INFERENCE, rule(WRONG_FORWARD_RULE), "tangents", only=True),
    Mutant("a batching rule is wrong", INFERENCE, rule(WRONG_BATCHES), "vmap", only=True),
    Mutant(
        "there is no batching rule",
        INFERENCE,
        rule(WRONG_BATCHES.replace("return 1.001 * x, True", "raise NotImplementedError('no batches')")),
        "vmap",
        only=True,
        says="cannot be traced under vmap",
    ),
    Mutant(
        "a key is used again for a draw that nothing reads",
        TRAINING,
        ((CALL, f"jax.random.normal(key, x.shape)\n            {CALL}"),),
        "keys",
        only=True,
        says="the random key key is used 2 times",
    ),
    Mutant(
        "all layers get one key at a rate of zero",
        TRAINING,
        ((CALL, ONE_KEY),),
        "keys",
        both=((RATES, "rates = [0.0] * n"),),
        abstract=True,
    ),
    Mutant(
        "a layer behind a closed gate is left out",
        GATED,
        ((gated.FOLD, gated.FIRST_TWO),),
        "layers",
        only=True,
        both=FROZEN,
        says=r"layers\[2\] is never applied",
    ),
    Mutant(
        "remat is forgotten",
        NESTED,
        ((", gradient_checkpointing='nested'", ", gradient_checkpointing=False"),),
        "remat",
        only=True,
    ),
    Mutant(
        "remat saves products in place of nothing",
        NESTED,
        (("gradient_checkpointing='nested'", "gradient_checkpointing='dots'"),),
        "remat",
        only=True,
    ),
    Mutant(
        "the loop over the list is still there", INFERENCE, ((STACK, LIST), (FOLD, KEYS + LOOP)), "scanned", only=True
    ),
    Mutant("the stack is looped over", INFERENCE, ((FOLD, KEYS + LOOP),), "scanned", only=True),
)
