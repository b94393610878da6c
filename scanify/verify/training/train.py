"""Train one version of a case like its user: by a jitted step, from the parameters of its constructor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.errors import ScanifyError
from scanify.verify.cases.build import Built
from scanify.verify.cases.case import article
from scanify.verify.children.telling import tell
from scanify.verify.compare.written import Written
from scanify.verify.linen.model import LinenModel
from scanify.verify.programs.flat import flat_outputs
from scanify.verify.programs.trace import Version, under, version
from scanify.verify.training.step import sgd, updated
from scanify.verify.values.arrays import is_inexact, is_traced
from scanify.verify.values.tolerances import dtypes_of

RATE = 0.01  # for SGD
_PARAMS = "params"


@dataclass(eq=False)
class Training:
    """Trains one version with a descriptive name. `loss_of` is the case's loss, None for the output or its mean square.

    `objective` describes the minimised loss, once a step was traced.
    """

    name: str
    built: Built
    loss_of: Any = None
    objective: str = ""
    program: Version = field(init=False)

    def __post_init__(self) -> None:
        if self.loss_of is not None and not callable(self.loss_of):
            raise ScanifyError(
                "expected the case's `loss` to be a function of what the model returns and of the arguments of the "
                f"call, as in `gpt.loss = lambda logits, tokens: ...`; got {article(self.loss_of)}"
            )
        self.program = version(self.built)
        self.step = eqx.filter_jit(lambda leaves, state: self._step(leaves, state))

    @property
    def optimizer(self) -> Any:
        """Return the optimiser of the case, or SGD."""
        return sgd(RATE) if self.built.optimizer is None else self.built.optimizer

    def losses(self, leaves: Sequence[Any], steps: int, what: str = "") -> list[Any]:
        """Return the loss at each of `steps` steps from these leaves of the version, each before its update.

        `what` is appended to progress messages. Raises ScanifyError if nothing can be trained, and all errors of the
        user's code.
        """
        found, leaves = [], list(leaves)
        with under(None, self.program):
            state = self.optimizer.init(self._parameters(leaves)[0])
            for number in range(1, steps + 1):
                tell(f"training {self.name}{what}, step {number} of {steps}")
                loss, leaves, state = jax.block_until_ready(self.step(leaves, state))
                found.append(loss)
        return found

    def dtypes(self, leaves: Sequence[Any]) -> tuple[set[Any], set[Any]]:
        """Return the inexact dtypes in which a step from these leaves computes, and these with its constants' ones."""
        with under(None, self.program):
            state = self.optimizer.init(self._parameters(leaves)[0])
            program = eqx.filter_make_jaxpr(self._step)(list(leaves), state)[0]
        computed, held = (set(dtypes_of(program, held=constants)) for constants in (False, True))
        exact = {dtype for dtype in held if not jnp.issubdtype(dtype, jnp.inexact)}
        return computed - exact, held - exact

    def _parameters(self, leaves: Sequence[Any]) -> tuple[Any, Any]:
        """Return the parameters of the model, and the rest. NumPy arrays are no parameters, as in equinox."""
        model = self.program.tree(leaves)[0]
        if isinstance(model, LinenModel):
            _demand_parameters_alone(model)
        numpy = iter(self.built.numpy)
        mask = jax.tree.map(lambda x: is_traced(x) and not next(numpy, False) and is_inexact(x), model)
        params, rest = eqx.partition(model, mask)
        if not jax.tree.leaves(params):
            raise ScanifyError(f"{self.name} has no parameters to train: no leaf of it is an inexact array of jax")
        return params, rest

    def _step(self, leaves: Sequence[Any], state: Any) -> tuple[Any, list[Any], Any]:
        """Return the loss, the leaves after one update, and the optimiser's new state."""
        params, rest = self._parameters(leaves)

        def loss(params: Any) -> tuple[Any, list[Any]]:
            own = self.program.arrays(eqx.combine(params, rest), leaves)
            returned = self.program.call(own)
            result = returned.result if isinstance(returned, Written) else returned
            return self._loss(result, own), _arrays(_states(result))

        (value, states), grads = jax.value_and_grad(loss, has_aux=True)(params)
        new, state = updated(self.optimizer, grads, state, params)
        return value, self._threaded(self.program.arrays(eqx.combine(new, rest), leaves), states), state

    def _threaded(self, leaves: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
        """Replace the arrays of the input `eqx.nn.State`s in the leaves by those that the call returned.

        Raises ScanifyError if they do not match.
        """
        tree = self.program.tree(leaves)
        given = _arrays(_states(tree))
        if not arrays or not given:
            return list(leaves)
        forms = [[(x.shape, x.dtype) for x in some] for some in (given, arrays)]
        if forms[0] != forms[1]:
            raise ScanifyError(
                "the call returns other `eqx.nn.State`s than it is given, so it is not known which a next step takes: "
                "return as many, with the same arrays"
            )
        places = {id(leaf): new for leaf, new in zip(given, arrays, strict=True)}
        return [places.get(id(leaf), leaf) for leaf in leaves]

    def _loss(self, result: Any, own: Sequence[Any]) -> Any:
        """Return the loss of one call: the case's, the output if that is one real number, else its mean square."""
        if self.loss_of is not None:
            self.objective = "the case's loss"
            _, args, kwargs = self.program.tree(own)
            found = self.loss_of(result, *args, **kwargs)
            if not _is_loss(found):
                raise ScanifyError(f"expected the case's `loss` to return a scalar float, got {article(found)}")
            return found
        outputs = [x for x in flat_outputs(_without_states(result))[0] if is_inexact(x)]
        if not sum(x.size for x in outputs):
            raise ScanifyError(
                "the call returns no floats, so there is nothing to minimise: give the case a loss, as in "
                "`gpt.loss = lambda output, tokens: ...`"
            )
        if len(outputs) == 1 and _is_loss(outputs[0]):
            self.objective = "the output"
            return outputs[0]
        self.objective = "the mean square of the outputs"
        return sum(map(_sum_of_squares, outputs)) / sum(x.size for x in outputs)


def _demand_parameters_alone(model: LinenModel) -> None:
    """Raise ScanifyError if there are collections besides `params`, which a step would have to update by name."""
    if set(model.variables) != {_PARAMS}:
        raise ScanifyError(
            "only models of Flax Linen whose variables are the collection `params` are trained; got "
            f"{', '.join(sorted(model.variables)) or 'none'}"
        )


def _is_loss(value: Any) -> bool:
    return is_traced(value) and value.shape == () and bool(jnp.issubdtype(value.dtype, jnp.floating))


def _sum_of_squares(array: Any) -> Any:
    """Sum in float32 at least: in a narrower dtype the loss of a batch has no digits left."""
    wide = array.astype(jnp.promote_types(array.dtype, jnp.float32))
    return jnp.sum(jnp.real(wide * jnp.conj(wide)))


def _is_state(value: Any) -> bool:
    return isinstance(value, eqx.nn.State)


def _states(tree: Any) -> list[Any]:
    return [node for node in jax.tree.leaves(tree, is_leaf=_is_state) if _is_state(node)]


def _without_states(tree: Any) -> Any:
    return jax.tree.map(lambda node: None if _is_state(node) else node, tree, is_leaf=_is_state)


def _arrays(trees: Any) -> list[Any]:
    return [leaf for leaf in jax.tree.leaves(trees) if is_traced(leaf)]
