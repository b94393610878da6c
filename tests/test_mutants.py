"""Wrong rewrites of whole models: each is one small mistake that people make by hand, and one check must tell it.

A mutant is a named replacement in the text after the rewrite. Most of them are silent: the model runs, and computes
something else.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jax
import pytest

from scanify.verify.compare import compare_case
from scanify.verify.verdict import CaseResult, Status
from tests import fixture_helpers
from tests.fixture_helpers import fixture, replaced

REMAT = "nested"
QUICK = ("film", "moe")  # models that compile in a second or two
CHECKS = ("parameters", "outputs", "gradients", "finding")


@dataclass(frozen=True)
class Mutant:
    """`changes` are applied to the rewritten text of the fixture, `both` to the original as well, before that.

    `caught` is the check that tells it: `outputs`, `gradients`, `parameters` or `finding`; `says` is a pattern in its
    reason. `silent` are the checks that see nothing, to show that the one that does is needed.
    """

    title: str
    fixture: str
    case: str
    changes: tuple[tuple[str, str], ...]
    caught: str
    silent: tuple[str, ...] = ()
    stack: str = "init"
    both: tuple[tuple[str, str], ...] = ()
    says: str = ""

    def __str__(self) -> str:
        return self.title


def mutant(title: str, where: str, *changes: tuple[str, str], caught: str, silent: str = "", **more: object) -> Mutant:
    name, case = where.split(":")
    return Mutant(title, name, case, changes, caught, tuple(silent.split()), **more)  # type: ignore[arg-type]


WRONG_RULE = """
slightly_wrong = jax.custom_vjp(lambda x: x)
slightly_wrong.defvjp(lambda x: (x, None), lambda _, ct: (1.001 * ct,))


"""

MUTANTS = (
    mutant(
        "the layers are built in reverse order",
        "encoder:encoder",
        ("for r in jax.random.split(rng, depth)]", "for r in jax.random.split(rng, depth)][::-1]"),
        caught="parameters",
        silent="outputs gradients finding",
    ),
    mutant(
        "the layers are applied in reverse order",
        "film:film",
        ("ArrayStacked.of(self.blocks,", "ArrayStacked.of(self.blocks[::-1],"),
        caught="outputs",
        silent="parameters",
        stack="call",
    ),
    mutant(
        "the first layer is dropped where the list is built",
        "vit:vit",
        ("for i in range(depth)]", "for i in range(depth)][1:]"),
        caught="parameters",
    ),
    mutant(
        "the last layer is dropped where the list is applied",
        "film:film",
        ("ArrayStacked.of(self.blocks,", "ArrayStacked.of(self.blocks[:-1],"),
        ("x, self.films, time", "x, self.films[:-1], time"),
        caught="outputs",
        silent="parameters",
        stack="call",
    ),
    mutant(
        "the last statement of the body is dropped",
        "vit:vit",
        ("            x = x + jax.vmap(block.mlp)(jax.vmap(block.norm2)(x))\n", ""),
        caught="outputs",
        silent="parameters",
    ),
    mutant(
        "the residual is not added",
        "vit:vit",
        ("x = x + block.attn(h, h, h)", "x = block.attn(h, h, h)"),
        caught="outputs",
    ),
    mutant(
        "two statements of the body change places",
        "encoder:encoder",
        (
            "            x = self.dropout(x, key=r)\n            x = layer.feed_forward(x)\n",
            "            x = layer.feed_forward(x)\n            x = self.dropout(x, key=r)\n",
        ),
        caught="outputs",
    ),
    mutant(
        "the mask is scanned over, as there are as many tokens as layers",
        "llama:llama_training",
        ("in_axes=((None, None), ", "in_axes=((None, 0), "),
        caught="outputs",
    ),
    mutant(
        "per-layer rows are taken from the wrong axis of a square table",
        "film:film",
        ("in_axes=(0, None)", "in_axes=(1, None)"),
        caught="outputs",
    ),
    mutant(
        "every layer gets the first row of a table",
        "film:film",
        ("in_axes=(0, None)", "in_axes=(None, None)"),
        ("x, self.films, time", "x, self.films[0], time"),
        caught="outputs",
    ),
    mutant(
        "all layers get one dropout key",
        "gpt:gpt_small",
        ('in_axes=((), {"key": 0}))(x, key=keys)', 'in_axes=((), {"key": None}))(x, key=keys[0])'),
        caught="outputs",
    ),
    mutant(
        "the keys are off by one",
        "gpt:gpt_small",
        ("keys = jax.random.split(key, len(self.blocks))", "keys = jax.random.split(key, len(self.blocks) + 1)[1:]"),
        caught="outputs",
    ),
    mutant(
        "the keys are drawn from the key of the embedding's dropout",
        "gpt:gpt_small",
        ("drop_key, key = jax.random.split(key)", "key, drop_key = jax.random.split(key)"),
        caught="outputs",
    ),
    mutant(
        "one of two carries is not updated",
        "moe:moe",
        ("            x, aux_loss = block(x, aux_loss, mask)\n", "            x, _ = block(x, aux_loss, mask)\n"),
        caught="outputs",
    ),
    mutant(
        "two carries change places",
        "moe:moe",
        ("            return x, aux_loss\n", "            return aux_loss, x\n"),
        caught="outputs",
        says="cannot be traced.*carry",
    ),
    mutant(
        "the carry starts from another value",
        "moe:moe",
        ("aux_loss = jnp.zeros(())", "aux_loss = jnp.ones(())"),
        caught="outputs",
        silent="parameters gradients finding",
    ),
    mutant(
        "the carry is rounded to bfloat16 in every layer",
        "mixer:mixer",
        ("        return y.T\n", "        return y.T.astype(jnp.bfloat16).astype(jnp.float32)\n"),
        caught="outputs",
    ),
    mutant(
        "a dropout rate is changed",
        "llama:llama_training",
        ("self.dropout = eqx.nn.Dropout(config.resid_pdrop)", "self.dropout = eqx.nn.Dropout(0.1)"),
        caught="outputs",
    ),
    mutant(
        "every layer has the dropout rate of layer 0",
        "llama:llama_training",
        ("DecoderLayer(config, key=k, rate=i / 10)", "DecoderLayer(config, key=k, rate=0.0)"),
        caught="outputs",
        both=(
            (
                "self, config: LlamaConfig, *, key: PRNGKeyArray):\n        attn_key",
                "self, config: LlamaConfig, *, key: PRNGKeyArray, rate: float):\n        attn_key",
            ),
            ("eqx.nn.Dropout(config.resid_pdrop)", "eqx.nn.Dropout(rate)"),
            ("DecoderLayer(config, key=k)", "DecoderLayer(config, key=k, rate=i / 10)"),
            ("for k in layer_keys", "for i, k in enumerate(layer_keys)"),
        ),
    ),
    mutant(
        "layers with rates of their own are stacked all the same",
        "llama:llama_training",
        ("DecoderLayer(config, key=k)", "eqx.tree_at(lambda l: l.dropout.p, DecoderLayer(config, key=k), i / 10)"),
        ("for k in layer_keys", "for i, k in enumerate(layer_keys)"),
        caught="parameters",
        says=r"cannot be built.*dropout\.p",
    ),
    mutant(
        "a static field has another value",
        "llama:llama",
        ("self.eps = config.rms_eps", "self.eps = 1e-6"),
        caught="outputs",
    ),
    mutant(
        "the parameters come from another key",
        "film:film",
        ("film_key, *keys = jax.random.split(key, depth + 1)", "*keys, film_key = jax.random.split(key, depth + 1)"),
        caught="parameters",
        silent="outputs gradients finding",
    ),
    mutant(
        "gradients are stopped inside the block",
        "film:film",
        ("return x + self.proj_out(h)", "return x + self.proj_out(jax.lax.stop_gradient(h))"),
        caught="gradients",
        silent="outputs parameters finding",
    ),
    mutant(
        "gradients of the shared input are stopped",
        "film:film",
        ("x, self.films, time", "x, self.films, jax.lax.stop_gradient(time)"),
        caught="gradients",
        silent="outputs parameters finding",
    ),
    mutant(
        "a custom gradient is wrong by a factor",
        "mixer:mixer",
        ("y = self.blocks.fold(y)", "y = self.blocks.fold(slightly_wrong(y))"),
        ("class MixerBlock(", WRONG_RULE + "class MixerBlock("),
        caught="gradients",
        silent="outputs parameters finding",
    ),
    mutant(
        "rematerialisation is off where it was asked for",
        "mixer:mixer",
        ('gradient_checkpointing="nested"', "gradient_checkpointing=False"),
        caught="finding",
        silent="outputs gradients parameters",
    ),
    mutant(
        "rematerialisation saves everything where nested was asked for",
        "mixer:mixer",
        ('gradient_checkpointing="nested"', 'gradient_checkpointing="save_all"'),
        caught="finding",
        silent="outputs gradients parameters",
    ),
)


@pytest.fixture(scope="module", autouse=True)
def _caches() -> Iterator[None]:
    yield
    jax.clear_caches()


def compare(each: Mutant, folder: Path, *, abstract: bool) -> CaseResult:
    """Compare the original of a mutant's fixture with the mutant, under the policy that was asked for."""
    model = fixture(each.fixture, each.stack)
    before = replaced(model.before, model.target, *each.both)
    after = replaced(replaced(model.after, model.target, *each.both), model.target, *each.changes)
    original, rewritten = (
        fixture_helpers.thunk(fixture_helpers.write(texts, folder / name), model.target, model.case_file, each.case)
        for name, texts in (("original", before), ("rewritten", after))
    )
    return compare_case(
        each.case,
        original,
        rewritten,
        policies=(REMAT,),
        requested=REMAT,
        abstract=abstract,
        measure=False,
        files=fixture_helpers.files,
    )


def caught_by(result: CaseResult, status: tuple[Status, ...]) -> dict[str, str]:
    """Which checks found something wrong, by one of these statuses or a finding, and what they said."""
    (policy,) = result.policies
    assert result.parameters is not None
    verdicts = {"parameters": result.parameters, "outputs": policy.outputs, "gradients": policy.gradients}
    found = {name: verdict.reason for name, verdict in verdicts.items() if verdict.status in status}
    findings = (*result.findings, *policy.findings)
    return {**found, "finding": " ".join(findings)} if findings else found


@pytest.mark.parametrize("each", MUTANTS, ids=str)
def test_a_wrong_rewrite_is_not_proved_without_values(each: Mutant, tmp_path: Path) -> None:
    """With abstract weights the traced programs alone must tell."""
    result = compare(each, tmp_path, abstract=True)
    assert result.error is None
    assert not result.good
    found = caught_by(result, (Status.FAILED, Status.NOT_RUN))
    assert each.caught in found
    assert re.search(each.says, found[each.caught])
    assert not set(found) & set(each.silent), "a check that was said to see nothing tells this mutant too"


WITH_VALUES = [each for each in MUTANTS if each.fixture in QUICK or each.caught == "finding"]


@pytest.mark.parametrize("each", WITH_VALUES, ids=str)
def test_a_wrong_rewrite_fails_by_its_values(each: Mutant, tmp_path: Path) -> None:
    result = compare(each, tmp_path, abstract=False)
    assert not result.good
    found = caught_by(result, (Status.FAILED,))
    assert each.caught in found
    assert not set(found) & set(each.silent)


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_is_needed(check: str) -> None:
    """For each check there is a mutant that the others do not see."""
    others = set(CHECKS) - {check}
    assert any(each.caught == check and others <= set(each.silent) for each in WITH_VALUES)
