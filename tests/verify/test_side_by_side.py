"""Both versions trained side by side: their losses, and what of a difference is more than rounding."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.errors import ScanifyError
from scanify.nn import ArrayStacked
from scanify.verify.children.telling import listening
from scanify.verify.training.side_by_side import trained_case
from scanify.verify.training.step import Optimizer
from scanify.verify.verdict import CaseResult, Status
from tests.command import Tool
from tests.verify import test_updates

WIDTH, DEPTH = 3, 3
Call = Callable[..., Any]


class Layers(eqx.Module):
    layers: Any
    call: Call = eqx.field(static=True)

    def __call__(self, *args: Any) -> Any:
        return self.call(self.layers, *args)


def loop(layers: Any, x: Any) -> Any:
    for layer in layers:
        x = x + jax.nn.tanh(layer(x))
    return x


def scan(layers: Any, x: Any) -> Any:
    return layers.fold_via(lambda layer, x: x + jax.nn.tanh(layer(x)))(x)


def layers(dtype: Any = None) -> list[Any]:
    return [eqx.nn.Linear(WIDTH, WIDTH, dtype=dtype, key=key) for key in jax.random.split(jax.random.key(0), DEPTH)]


class Version(NamedTuple):
    """A version of a case: its model, how that is called, and what the case says."""

    model: Any
    call: Call
    args: tuple[Any, ...] = (jnp.arange(1.0, 1.0 + WIDTH),)
    said: Mapping[str, Any] = MappingProxyType({})

    def case(self) -> Any:
        def built() -> Any:
            return Layers(self.model, self.call), self.args

        vars(built).update(self.said)
        return built


def trained(before: Version, after: Version, steps: int = 4) -> CaseResult:
    return trained_case("case", before.case(), after.case(), steps=steps)


def pair(
    before: Call = loop, after: Call = scan, *, dtype: Any = None, args: Any = None, **said: Any
) -> tuple[Version, Version]:
    """A list of layers and their stack."""
    args = (jnp.arange(1.0, 1.0 + WIDTH, dtype=dtype),) if args is None else args
    own = layers(dtype)
    return Version(own, before, args, said), Version(ArrayStacked.of(own), after, args, said)


def compared(*given: Any, steps: int = 4, **options: Any) -> CaseResult:
    before, after = pair(*given, **options)
    result = trained(before, after, steps)
    assert result.training is not None
    return result


def verdict(*given: Any, **options: Any) -> tuple[Status, str]:
    training = compared(*given, **options).training
    assert training is not None
    return training.status, training.reason


def losses(*given: Any, **options: Any) -> tuple[list[float], list[float]]:
    found = compared(*given, **options).losses
    assert found is not None
    return [step.before for step in found.steps], [step.after for step in found.steps]


class TestWhatIsTrained:
    def test_losses_are_those_of_gradient_descent_on_the_mean_square(self) -> None:
        model, x = layers(), jnp.arange(1.0, 1.0 + WIDTH)
        expected = []
        for _ in range(4):
            value, grads = jax.value_and_grad(lambda model: jnp.mean(loop(model, x) ** 2))(model)
            model = jax.tree.map(lambda p, g: p - 0.01 * g, model, grads)
            expected.append(float(value))
        before, after = losses()
        assert before == pytest.approx(expected, rel=1e-6) and after == pytest.approx(expected, rel=1e-6)
        result = compared()
        assert result.losses is not None
        assert (result.losses.optimizer, result.losses.loss) == ("SGD (rate 0.01)", "the mean square of the outputs")
        assert result.training is not None and result.training.status is Status.TESTED
        assert result.training.reason.startswith("4 steps: ") and "in float64 " in result.training.reason

    def test_each_run_reports_its_steps(self) -> None:
        told: list[str] = []
        with listening(told.append):
            compared(steps=2)
        runs = [f"{name}{where}" for where in ("", " in float64") for name in ("the original", "the rewritten version")]
        assert told == ["building both models", *(f"training {run}, step {at} of 2" for run in runs for at in (1, 2))]

    def test_a_model_in_float64_is_trained_once(self) -> None:
        with jax.enable_x64(True):
            result = compared(dtype=jnp.float64)
        assert result.training is not None and result.losses is not None
        assert (result.training.status, "in float64" in result.training.reason) == (Status.TESTED, False)
        assert result.losses.digits == 17

    def test_a_scalar_output_is_the_loss(self) -> None:
        def mean(call: Call) -> Call:
            return lambda layers, x: -jnp.mean(call(layers, x))

        result = compared(mean(loop), mean(scan))
        assert result.losses is not None and result.losses.loss == "the output"
        assert result.losses.steps[0].before < 0 and result.losses.steps[-1].before < result.losses.steps[0].before

    def test_a_case_names_its_loss(self) -> None:
        def to_half(output: Any, x: Any) -> Any:
            return jnp.mean((output - x / 2) ** 2)

        (first, *_), _ = losses(loss=to_half)
        assert first == pytest.approx(float(to_half(loop(layers(), jnp.arange(1.0, 4.0)), jnp.arange(1.0, 4.0))))

    @pytest.mark.parametrize(
        ("loss", "message"),
        [
            (3, "to be a function of what the model returns and of the arguments of the call, .* got an int"),
            (lambda output, x: output, r"to return a scalar float, got an array float32\[3\]"),
        ],
    )
    def test_what_is_no_loss_is_an_error(self, loss: Any, message: str) -> None:
        with pytest.raises(ScanifyError, match=message):
            compared(loss=loss)

    def test_a_call_without_floats_has_no_loss(self) -> None:
        with pytest.raises(ScanifyError, match="the call returns no floats"):
            compared(lambda layers, x: jnp.argmax(loop(layers, x)), lambda layers, x: jnp.argmax(scan(layers, x)))

    def test_a_model_without_parameters_is_not_trained(self) -> None:
        one = Version([], loop)
        with pytest.raises(ScanifyError, match="the original has no parameters to train"):
            trained(one, one)

    def test_each_version_starts_from_its_own_parameters(self) -> None:
        before, after = pair()
        other = jax.tree.map(lambda leaf: leaf * 1.001, after.model)
        training = trained(before, after._replace(model=other)).training
        assert training is not None and training.status is Status.FAILED
        assert "the losses differ at step 1 by more than rounding explains" in training.reason

    def test_constructors_may_round_differently(self) -> None:
        before, after = pair()
        other = jax.tree.map(lambda leaf: jnp.nextafter(leaf, jnp.inf), after.model)
        training = trained(before, after._replace(model=other)).training
        assert training is not None and training.status is Status.TESTED
        assert "; in float64 bit for bit equal" in training.reason or "e-16 at step" in training.reason

    def test_arrays_of_numpy_are_no_parameters(self) -> None:
        before, after = pair()
        frozen = [eqx.tree_at(lambda layer: layer.bias, layer, np.asarray(layer.bias)) for layer in before.model]
        training = trained(before._replace(model=frozen), after).training
        assert training is not None and training.status is Status.FAILED
        assert "the losses differ at step 2" in training.reason


class TestLinen:
    def case(self, *modules: Any) -> Any:
        flax = pytest.importorskip("flax.linen", reason="the model is one of Flax Linen")
        return lambda: (flax.Sequential([getattr(flax, name)(**said) for name, said in modules]), (jnp.ones((2, 3)),))

    def test_the_collection_of_parameters_is_trained(self) -> None:
        case = self.case(("Dense", {"features": 3}))
        result = trained_case("case", case, case, steps=2)
        assert result.training is not None and result.training.status is Status.TESTED
        assert result.losses is not None and result.losses.steps[1].before < result.losses.steps[0].before

    def test_other_collections_are_an_error(self) -> None:
        case = self.case(("Dense", {"features": 3}), ("BatchNorm", {"use_running_average": False}))
        with pytest.raises(
            ScanifyError, match=r"whose variables are the collection `params` are .* got batch_stats, pa"
        ):
            trained_case("case", case, case, steps=2)


class TestStates:
    """`eqx.nn.State`, which a call is given and returns."""

    INDEX = eqx.nn.StateIndex(jnp.zeros(WIDTH))

    def call(self, call: Call, moving: float = 0.5) -> Call:
        def called(layers: Any, x: Any, state: Any) -> Any:
            mean = state.get(self.INDEX)
            return call(layers, x - mean), state.set(self.INDEX, mean + moving * (x - mean))

        return called

    @property
    def args(self) -> tuple[Any, ...]:
        return jnp.arange(1.0, 4.0), eqx.nn.State(self.INDEX)

    def test_the_next_step_takes_the_state_that_the_call_returned(self) -> None:
        before, after = losses(self.call(loop), self.call(scan), args=self.args)
        assert before[0] > 2 * before[1] > 4 * before[2]  # what is left of the input when its mean is taken off
        assert after == pytest.approx(before, rel=1e-5)

    def test_another_state_after_the_rewrite_shows_from_the_second_step_on(self) -> None:
        status, reason = verdict(self.call(loop), self.call(scan, 0.4), args=self.args)
        assert status is Status.FAILED and "the losses differ at step 2" in reason

    def test_states_that_are_not_alike_are_an_error(self) -> None:
        def twice(call: Call) -> Call:
            return lambda layers, x, state: (call(layers, x), state, state)

        with pytest.raises(ScanifyError, match=r"the call returns other `eqx.nn.State`s than it is given"):
            compared(twice(loop), twice(scan), args=self.args)


class TestDifferences:
    def test_rounding_in_another_order_is_no_difference(self) -> None:
        def backwards(layers: Any, x: Any) -> Any:
            return scan(layers, x)[::-1]

        status, _ = verdict(lambda layers, x: loop(layers, x)[::-1], backwards, steps=20)
        assert status is Status.TESTED

    @pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
    def test_models_in_narrow_dtypes_are_trained_in_them(self, dtype: Any) -> None:
        result = compared(dtype=dtype)
        assert result.training is not None and result.training.status is Status.TESTED, result.training
        assert "in float64 " in result.training.reason

    @pytest.mark.parametrize(("turns", "status"), [(20, Status.TESTED), (60, Status.NOT_RUN)])
    def test_where_rounding_alone_changes_the_loss_nothing_is_shown(self, turns: int, status: Status) -> None:
        def chaotic(call: Call, turn: Call) -> Call:
            return lambda layers, x: jax.lax.fori_loop(0, turns, lambda _, y: turn(y), jax.nn.sigmoid(call(layers, x)))

        found, reason = verdict(chaotic(loop, lambda y: 4 * y * (1 - y)), chaotic(scan, lambda y: 4 * (y - y * y)))
        assert found is status
        assert reason.count("from step 1 on rounding alone changes the loss too much to tell by") == 1 + (turns > 20)

    def test_a_model_that_casts_is_not_trained_in_float64(self) -> None:
        def cast(call: Call) -> Call:
            return lambda layers, x: call(layers, x).astype(jnp.bfloat16).astype(x.dtype)

        found, reason = verdict(cast(loop), cast(scan))
        assert found is Status.TESTED
        assert reason.endswith("(not in float64: it computes in less than float32 whatever it is given)")

    def test_where_one_version_alone_keeps_float32_nothing_is_said_of_float64(self) -> None:
        half = np.float32(0.5)
        found, reason = verdict(
            lambda layers, x: 0.5 * loop(layers, x), lambda layers, x: half * scan(layers, x).astype(half.dtype)
        )
        assert found is Status.TESTED
        assert reason.endswith("(not in float64: one version computes in float32 whatever it is given)")

    def test_a_loss_that_is_never_finite_shows_nothing(self) -> None:
        status, reason = verdict(args=(jnp.full(WIDTH, jnp.nan),))
        assert (status, reason) == (Status.NOT_RUN, "no loss is finite, so that nothing is shown")

    def test_a_loss_that_only_one_version_makes_infinite_fails(self) -> None:
        status, reason = verdict(loop, lambda layers, x: scan(layers, x) / jnp.zeros(WIDTH))
        assert status is Status.FAILED and "differ at step 1" in reason

    def test_a_loss_that_never_changes_is_told(self) -> None:
        still = Optimizer(lambda params: (), lambda grads, state, params: (jax.tree.map(jnp.zeros_like, grads), state))
        status, reason = verdict(optimizer=still)
        assert status is Status.TESTED and "the loss never changes" in reason

    def test_what_the_original_raises_is_told(self) -> None:
        def endless(layers: Any, x: Any) -> Any:
            return jax.lax.while_loop(lambda x: jnp.sum(x) < 100, lambda x: loop(layers, x) + 1, x)

        status, reason = verdict(endless, endless)
        assert status is Status.NOT_RUN and reason.startswith("the original cannot be trained: ValueError")

    def test_what_only_the_rewritten_version_raises_fails(self) -> None:
        def broken(layers: Any, x: Any) -> Any:
            raise TypeError("no stack")

        status, reason = verdict(loop, broken)
        assert (status, reason) == (Status.FAILED, "the rewritten version cannot be trained: TypeError: no stack")


class TestOptimizers:
    """An optimiser that looks at whole arrays sees those of all layers in a stack."""

    def test_entry_by_entry_nothing_differs(self) -> None:
        optax = pytest.importorskip("optax", reason="the optimiser is one of optax")
        result = compared(optimizer=optax.adamw(1e-2))
        assert result.training is not None and result.training.status is Status.TESTED
        assert result.losses is not None and result.losses.optimizer == "the case's optimizer"

    def test_weight_decay_masked_by_rank_shows_in_the_losses(self) -> None:
        optax = pytest.importorskip("optax", reason="the optimiser is one of optax")
        from scanify.optim import weight_decay_mask

        def decaying(mask: Any) -> Any:
            return optax.adamw(1e-2, weight_decay=1.0, mask=mask)

        result = compared(optimizer=decaying(lambda params: jax.tree.map(lambda p: p.ndim > 1, params)))
        assert result.training is not None and result.losses is not None
        assert result.training.status is Status.FAILED
        assert "the losses differ at step 2 by more than rounding explains" in result.training.reason
        assert [step.relative < 1e-6 for step in result.losses.steps] == [True, False, False, False]
        assert verdict(optimizer=decaying(weight_decay_mask))[0] is Status.TESTED

    def test_a_difference_below_the_rounding_of_float32_shows_in_float64(self) -> None:
        optax = pytest.importorskip("optax", reason="the optimiser is one of optax")
        mask = lambda params: jax.tree.map(lambda p: p.ndim > 1, params)  # noqa: E731
        status, reason = verdict(optimizer=optax.adamw(1e-3, weight_decay=1e-4, mask=mask), steps=2)
        assert status is Status.FAILED and reason.startswith("in float64, the losses differ at step 2")


class TestWhatOneStepDoesNotShow:
    """Optimisers whose first update is the same in both versions: `updates` compares no other."""

    def shown(self, before: Any, after: Any = None) -> tuple[bool, str]:
        """Whether everything that is compared without training is good, and what training says."""
        one = test_updates.compared(before, after)
        training = trained_case("case", *test_updates.versions(before, after), steps=4).training
        assert one.updates is not None and training is not None and training.status is Status.FAILED
        return one.good, training.reason

    def test_a_rate_that_begins_at_zero(self) -> None:
        optax = pytest.importorskip("optax", reason="the optimiser is one of optax")
        good, reason = self.shown(optax.lamb(optax.linear_schedule(0.0, 0.1, 3)))
        assert good and "differ at step 3" in reason

    def test_another_decay_of_adams_moments(self) -> None:
        optax = pytest.importorskip("optax", reason="the optimiser is one of optax")
        good, reason = self.shown(optax.adam(1e-2, b2=0.999), optax.adam(1e-2, b2=0.9))
        assert good and "differ at step 3" in reason

    def test_a_norm_that_is_clipped_later(self) -> None:
        def update(grads: Any, state: Any, params: Any) -> Any:
            def moved(grad: Any) -> Any:
                return -0.01 * grad / jnp.where(state > 0, 1 + jnp.linalg.norm(grad), 1)

            return jax.tree.map(moved, grads), state + 1

        good, reason = self.shown(Optimizer(lambda params: jnp.array(0), update))
        assert good and "differ at step 3" in reason


CASES = """\
import jax
import jax.numpy as jnp
import optax


def case(module):
    return module.Model(4, 3, key=jax.random.key(0)), (jnp.ones(4),)


def ranks(params):
    return jax.tree.map(lambda p: p.ndim > 1, params)


case.optimizer = optax.adamw(1e-2, weight_decay=1.0, mask=ranks)
"""
RUN = """\
import jax
import jax.numpy as jnp
from model import Model

print(Model(4, 3, key=jax.random.key(0))(jnp.ones(4)))
"""


class TestCommand:
    OPTIONS = ("--steps", "3", "--remat", "none", "--no-measure")

    def test_losses_that_differ_are_printed_and_fail(self, tool: Tool) -> None:
        pytest.importorskip("optax", reason="the optimiser is one of optax")
        tool.write("model.py")
        tool.write("cases.py", CASES)
        done = tool("verify", "model.py", "--case", "cases.py:case", "--accept", "elsewhere", *self.OPTIONS)
        assert done.code == 3, done.err
        assert "training FAILED  the losses differ at step 2 by more than rounding" in done.out
        assert "losses of 3 steps: the mean square of the outputs, the case's optimizer" in done.out
        assert "outputs   gradients" in done.out and "PROVED    PROVED" in done.out

    @pytest.mark.whole
    def test_calls_of_a_run_are_trained(self, tool: Tool) -> None:
        tool.write("model.py")
        tool.write("train.py", RUN)
        done = tool("verify", "model.py", "--run", "python train.py", *self.OPTIONS)
        assert done.code == 0, done.err
        assert "training TESTED  3 steps: " in done.out and done.out.splitlines()[-1].startswith("PROVED")
