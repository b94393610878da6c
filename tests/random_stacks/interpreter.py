"""A traced program run one primitive after another, so that thousands of programs need no compilation."""

from typing import Any

import jax
import jax.numpy as jnp

from scanify.jaxpr.reading.calls import callee, opened
from scanify.jaxpr.reading.scan import read_scan


def interpret(fn: Any, *args: Any) -> Any:
    """`fn(*args)`, traced as under `jax.jit` and run without being compiled."""
    closed, shapes = jax.make_jaxpr(fn, return_shape=True)(*args)
    leaves = _run(closed.jaxpr, closed.consts, jax.tree.leaves(args))
    return jax.tree.unflatten(jax.tree.structure(shapes), leaves)


def _run(jaxpr: Any, consts: Any, args: Any) -> list[Any]:
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Any) -> Any:
        return atom.val if hasattr(atom, "val") else values[atom]

    for equation in jaxpr.eqns:
        operands = [read(atom) for atom in equation.invars]
        called = callee(equation)
        if equation.primitive.name == "scan":
            results: Any = _scan(equation, operands)
        elif called is not None:
            results = _run(*called, operands)
        else:
            results = equation.primitive.bind(*operands, **equation.primitive.get_bind_params(equation.params))
        results = results if equation.primitive.multiple_results else [results]
        values.update(zip(equation.outvars, results, strict=True))
    return [jnp.asarray(read(out)) for out in jaxpr.outvars]


def _scan(equation: Any, operands: list[Any]) -> list[Any]:
    scan = read_scan(equation.params)
    assert scan is not None
    body, body_consts = opened(scan.jaxpr)
    consts, carry = operands[: scan.consts], operands[scan.consts : scan.consts + scan.carry]
    xs = operands[scan.consts + scan.carry :]
    ys: list[Any] = [None] * scan.length
    for at in range(scan.length)[:: -1 if scan.reverse else 1]:
        out = _run(body, body_consts, [*consts, *carry, *(x[at] for x in xs)])
        carry, ys[at] = out[: scan.carry], out[scan.carry :]
    return [*carry, *(jnp.stack(column) for column in zip(*ys, strict=True))]
