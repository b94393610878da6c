"""Every kind of primitive that jax traces for real models, in a stack of layers: the loop and the scan are PROVED equal,
and a near miss (one parameter, the order of operands, one effect) is not.

Each case is the body of a layer, `x = body(x, w)`, its near miss, and the primitives it is about, which must stand in
the trace, so that no case is about something else than it says.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.custom_derivatives import linear_call
from jax.experimental import io_callback
from jax.experimental.custom_partitioning import custom_partitioning
from jax.extend.core import ClosedJaxpr
from jax.sharding import AxisType, Mesh
from jax.sharding import PartitionSpec as P

from scanify.jaxpr.calls import children, opened
from scanify.verify.prove import Proof, prove

LAYERS = 3
X = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32))
WS = jnp.asarray(np.random.default_rng(1).normal(size=(LAYERS, 3, 4)).astype(np.float32))

Body = Callable[[Any, Any], Any]


def loop(body: Body) -> Callable[[Any, Any], Any]:
    def run(x: Any, ws: Any) -> Any:
        for index in range(LAYERS):
            x = body(x, ws[index])
        return x

    return run


def scan(body: Body, **how: Any) -> Callable[[Any, Any], Any]:
    return lambda x, ws: lax.scan(lambda c, w: (body(c, w), None), x, ws, **how)[0]


def traced(function: Callable[[Any, Any], Any], *, gradients: bool = False) -> ClosedJaxpr:
    if not gradients:
        return jax.make_jaxpr(function)(X, WS)
    return jax.make_jaxpr(lambda x, ws, ct: jax.vjp(function, x, ws)[1](ct))(X, WS, X)


def compared(one: Body, other: Body, *, gradients: bool = False) -> Proof:
    """The loop of one body against the scan of another."""
    before, after = traced(loop(one), gradients=gradients), traced(scan(other), gradients=gradients)
    return prove(before, after, gradients=gradients)


def primitives(closed: Any) -> set[str]:
    found: set[str] = set()
    waiting = [closed]
    while waiting:
        for equation in opened(waiting.pop())[0].eqns:
            found.add(equation.primitive.name)
            waiting += children(equation)
            waiting += [v for value in equation.params.values() for v in _inside(value)]
    return found


def _inside(value: Any) -> list[Any]:
    return [one for one in value if hasattr(one, "eqns")] if isinstance(value, tuple) else []


# Cases ------------------------------------------------------------------------------------------------------------------


def _times(function: Callable[..., Any], n: int) -> Body:
    def body(x: Any, w: Any) -> Any:
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, function(c[1]) + w), (0, x))[1]

    return body


def _until(bound: float) -> Body:
    def body(x: Any, w: Any) -> Any:
        return lax.while_loop(lambda c: jnp.sum(c[0]) < bound, lambda c: (c[0] + 1.0, c[1] * w), (x, w))[1]

    return body


def _switch(order: tuple[int, int, int], clip: int = 0) -> Body:
    branches = [lambda x, w: x * w, lambda x, w: x + w, lambda x, w: jnp.sin(x) - w]

    def body(x: Any, w: Any) -> Any:
        return lax.switch((x[0, clip] * 2).astype(jnp.int32), [branches[i] for i in order], x, w)

    return body


def _time(reverse: bool = False, start: float = 0.0, **how: Any) -> Body:
    """A scan over time inside the layer."""

    def body(x: Any, w: Any) -> Any:
        step = lambda c, row: (jnp.tanh(c * row + w[0]), c)  # noqa: E731
        return lax.scan(step, x[0] + start, x, reverse=reverse, **how)[1]

    return body


def _time_of_time(inner: int) -> Body:
    def body(x: Any, w: Any) -> Any:
        again = lambda c, row: (lax.scan(lambda d, _: (jnp.sin(d) * row, None), c, None, length=inner)[0], c)  # noqa: E731
        return lax.scan(again, w[0], x)[1]

    return body


def _relu(scale: float) -> Body:
    @jax.custom_jvp
    def f(x: Any) -> Any:
        return jnp.sin(x) * scale

    f.defjvp(lambda primals, tangents: (f(*primals), jnp.cos(primals[0]) * tangents[0]))
    return lambda x, w: f(x) * w


def _custom_vjp(forward: Any, backward: float) -> Body:
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return forward(x)

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * backward * x,))
    return lambda x, w: f(x) * w


def _linear(scale: float) -> Body:
    return lambda x, w: linear_call(lambda r, v: r * v * scale, lambda r, ct: r * ct * scale, lax.stop_gradient(w), x)


def _partitioned(function: Callable[..., Any]) -> Body:
    @custom_partitioning
    def f(x: Any, w: Any) -> Any:
        return function(x, w)

    f.def_partition(partition=_partition, infer_sharding_from_operands=_infer, sharding_rule="i j, i j -> i j")
    return lambda x, w: f(x, w)  # type: ignore[no-any-return]


def _partition(mesh: Any, args: Any, result: Any) -> Any:
    raise NotImplementedError


def _infer(mesh: Any, args: Any, result: Any) -> Any:
    raise NotImplementedError


def _sharded(collective: Any) -> Body:
    mesh = Mesh(np.array(jax.devices()[:1]), ("d",), axis_types=(AxisType.Auto,))
    f = jax.shard_map(lambda x, w: collective(x * w), mesh=mesh, in_specs=P("d"), out_specs=P("d"))
    return lambda x, w: f(x, w)  # type: ignore[no-any-return]


def _callback(kind: Any, name: str, **how: Any) -> Body:
    return lambda x, w: kind(SEEN[name], jax.ShapeDtypeStruct((3, 4), jnp.float32), x * w, **how)


SEEN = {"a": lambda x: np.asarray(x) * np.float32(2), "b": lambda x: np.asarray(x) * np.float32(3)}


def _printing(text: str, first: bool = True) -> Body:
    def body(x: Any, w: Any) -> Any:
        if first:
            jax.debug.print(text, x=x[0, 0])
        x = x * w
        if not first:
            jax.debug.print(text, x=x[0, 0])
        return x

    return body


def _key(x: Any) -> Any:
    return jax.random.key(jnp.abs(x[0, 0] * 100).astype(jnp.int32))


def _noise(draw: Callable[[Any], Any]) -> Body:
    return lambda x, w: x * w + draw(_key(w))


def _ref(first: float, last: float) -> Body:
    def body(x: Any, w: Any) -> Any:
        ref = jax.new_ref(x)
        ref[...] = ref[...] * first + w
        ref[0] = ref[0] + last
        return ref[...]

    return body


def _reduce(init: float) -> Body:
    return lambda x, w: x + lax.reduce(w, np.float32(init), lambda a, b: a * 2 + b, (0,))


def _window(pad: str) -> Body:
    return lambda x, w: (
        x * lax.reduce_window(w, -np.inf, lax.max, (2, 2), (1, 1), "SAME")
        + (lax.reduce_window(w, 0.0, lax.add, (2, 1), (1, 1), pad).sum())
    )


def _conv(stride: int, dilation: int = 1) -> Body:
    def body(x: Any, w: Any) -> Any:
        out = lax.conv_general_dilated(
            x[None],
            w[:, :1, None].transpose(0, 2, 1),
            (stride,),
            "SAME",
            rhs_dilation=(dilation,),
            feature_group_count=3,
            dimension_numbers=("NCH", "OIH", "NCH"),
        )
        return jnp.broadcast_to(out[0, :, :1], x.shape) + w

    return body


def _ragged(sizes: tuple[int, int]) -> Body:
    return lambda x, w: x + lax.ragged_dot(x, jnp.stack([w.T @ x, x.T @ w]), jnp.array(sizes))


def _solve(scale: float) -> Body:
    return lambda x, w: (
        x + lax.custom_linear_solve(lambda v: v * scale, w, lambda matvec, b: b / scale, lambda matvec, b: b / scale)
    )


def _at(method: str, index: Any, **how: Any) -> Body:
    def body(x: Any, w: Any) -> Any:
        part = w[: len(index)] if isinstance(index, tuple) else w[0]
        rows = jnp.asarray(index) if isinstance(index, tuple) else jnp.asarray(x[0, 0] * 3, jnp.int32) + index
        return getattr(x.at[rows], method)(part, **how)

    return body


def _dus(at: int) -> Body:
    return lambda x, w: lax.dynamic_update_slice(x, w[:1] * 2, ((x[0, 0] > 0) + at, 0))


# Its name in jax 0.10 and in 0.12.
REMAT = jax.make_jaxpr(jax.checkpoint(jnp.sin))(1.0).eqns[0].primitive.name

# name: (body, near miss, primitives that it is about, whether reverse mode goes through it)
CASES: dict[str, tuple[Body, Body, tuple[str, ...], bool]] = {
    "jit": (lambda x, w: jax.jit(jnp.multiply)(x, w), lambda x, w: jax.jit(jnp.add)(x, w), ("jit",), True),
    "jit of jit": (
        lambda x, w: jax.jit(lambda a: jax.jit(jnp.sin)(a) * w)(x),
        lambda x, w: jax.jit(lambda a: jax.jit(jnp.cos)(a) * w)(x),
        ("jit",),
        True,
    ),
    "named call": (
        lambda x, w: jax.named_call(lambda a, b: a * b, name="f")(x, w),
        lambda x, w: jax.named_call(lambda a, b: a - b, name="f")(x, w),
        (),
        True,
    ),
    "checkpoint": (
        jax.checkpoint(lambda x, w: jnp.sin(x * w)),
        jax.checkpoint(lambda x, w: jnp.sin(x + w)),
        (REMAT,),
        True,
    ),
    "checkpoint in checkpoint": (
        jax.checkpoint(lambda x, w: jax.checkpoint(jnp.sin)(x * w) * w),
        jax.checkpoint(lambda x, w: jax.checkpoint(jnp.cos)(x * w) * w),
        (REMAT,),
        True,
    ),
    "checkpoint that saves products": (
        jax.checkpoint(lambda x, w: jnp.sin(x @ w.T) @ w, policy=jax.checkpoint_policies.dots_saveable),
        jax.checkpoint(lambda x, w: jnp.sin(w @ x.T) @ w, policy=jax.checkpoint_policies.dots_saveable),
        (REMAT, "dot_general"),
        True,
    ),
    "custom_jvp": (_relu(1.0), _relu(2.0), ("custom_jvp_call",), True),
    "custom_vjp": (_custom_vjp(jnp.sin, 1.0), _custom_vjp(jnp.cos, 1.0), ("custom_vjp_call",), True),
    "linear call": (_linear(2.0), _linear(3.0), ("linear_call",), True),
    "custom partitioning": (
        _partitioned(lambda x, w: x * w),
        _partitioned(lambda x, w: x - w),
        ("custom_partitioning",),
        False,
    ),
    "composite": (
        lambda x, w: lax.composite(lambda a, b: a * b, "my.f")(x, w),
        lambda x, w: lax.composite(lambda a, b: a + b, "my.f")(x, w),
        ("composite",),
        False,
    ),
    "shard_map": (_sharded(lambda v: v), _sharded(lambda v: v * 2), ("shard_map",), True),
    "shard_map over an axis": (
        _sharded(lambda v: v + lax.axis_index("d")),
        _sharded(lambda v: v + 1 + lax.axis_index("d")),
        ("shard_map",),
        False,
    ),
    "while": (_times(jnp.sin, 2), _times(jnp.sin, 3), ("while",), False),
    "body of a while": (_times(jnp.sin, 2), _times(jnp.cos, 2), ("while",), False),
    "condition of a while": (_until(20.0), _until(90.0), ("while",), False),
    "branches": (_switch((0, 1, 2)), _switch((1, 0, 2)), ("cond",), True),
    "index of branches": (_switch((0, 1, 2)), _switch((0, 1, 2), 1), ("cond",), True),
    "platform": (
        lambda x, w: lax.platform_dependent(x, w, cpu=jnp.multiply, default=jnp.add),
        lambda x, w: lax.platform_dependent(x, w, cuda=jnp.multiply, default=jnp.add),
        ("platform_index",),
        False,
    ),
    "scan inside": (_time(), _time(True), ("scan",), True),
    "start of a scan inside": (_time(), _time(start=1.0), ("scan",), True),
    "unrolled scan inside": (_time(unroll=3), _time(True, unroll=3), ("scan",), True),
    "scan in a scan inside": (_time_of_time(2), _time_of_time(3), ("scan",), True),
    "dot": (lambda x, w: x @ w.T @ w, lambda x, w: w @ x.T @ w, ("dot_general",), True),
    "precision of a dot": (
        lambda x, w: lax.dot(x, w.T, precision="highest") @ w,
        lambda x, w: lax.dot(x, w.T) @ w,
        ("dot_general",),
        True,
    ),
    "einsum": (
        lambda x, w: jnp.einsum("ij,kj,kl->il", x, w, w),
        lambda x, w: jnp.einsum("ij,kj,kl->il", w, x, w),
        ("dot_general",),
        True,
    ),
    "ragged dot": (_ragged((1, 2)), _ragged((2, 1)), ("ragged_dot_general",), False),
    "convolution": (_conv(1), _conv(2), ("conv_general_dilated",), True),
    "dilation": (_conv(1), _conv(1, 2), ("conv_general_dilated",), True),
    "gather": (
        lambda x, w: x[jnp.asarray(w[:, 0] > 0, jnp.int32)] * w,
        lambda x, w: x[jnp.asarray(w[:, 1] > 0, jnp.int32)] * w,
        ("gather",),
        True,
    ),
    "gather with a mode": (
        lambda x, w: x.at[jnp.asarray(w[:, 0] * 5, jnp.int32)].get(mode="fill", fill_value=0.0) * w,
        lambda x, w: x.at[jnp.asarray(w[:, 0] * 5, jnp.int32)].get(mode="clip") * w,
        ("gather",),
        True,
    ),
    "scatter": (_at("set", 0), _at("set", 1), ("scatter",), True),
    "scatter-add": (_at("add", (0, 1, 1)), _at("add", (1, 0, 1)), ("scatter-add",), True),
    "scatter-mul": (_at("multiply", (0, 1)), _at("multiply", (1, 0)), ("scatter-mul",), False),
    "scatter-min": (_at("min", 0), _at("max", 0), ("scatter-min",), False),
    "scatter-max": (_at("max", 0), _at("max", 1), ("scatter-max",), False),
    "scatter of a function": (
        lambda x, w: x.at[jnp.int32(w[0, 0] > 0)].apply(jnp.sin) * w,
        lambda x, w: x.at[jnp.int32(w[0, 0] > 0)].apply(jnp.cos) * w,
        ("scatter",),
        False,
    ),
    "mode of a scatter": (_at("set", 5, mode="drop"), _at("set", 5, mode="clip"), ("scatter",), True),
    "dynamic slice": (
        lambda x, w: x + lax.dynamic_slice(w, (jnp.int32(x[0, 0]), 0), (1, 4)),
        lambda x, w: x + lax.dynamic_slice(w, (jnp.int32(x[0, 1]), 0), (1, 4)),
        ("dynamic_slice",),
        True,
    ),
    "dynamic update": (_dus(0), _dus(1), ("dynamic_update_slice",), True),
    "sort": (lambda x, w: lax.sort(x * w, dimension=0), lambda x, w: lax.sort(x * w, dimension=1), ("sort",), True),
    "keys of a sort": (
        lambda x, w: lax.sort((jnp.sign(x), w), num_keys=1)[1],
        lambda x, w: lax.sort((jnp.sign(x), w), num_keys=2)[1],
        ("sort",),
        True,
    ),
    "argsort": (lambda x, w: x + jnp.argsort(w), lambda x, w: x + jnp.argsort(w, axis=0), ("sort",), False),
    "top_k": (
        lambda x, w: x + lax.top_k(w, 2)[0][:, :1],
        lambda x, w: x + lax.top_k(w, 2)[0][:, 1:],
        ("top_k",),
        True,
    ),
    "argmax": (lambda x, w: x + jnp.argmax(w, 0), lambda x, w: x + jnp.argmin(w, 0), ("argmax",), False),
    "cumsum": (lambda x, w: x + lax.cumsum(w), lambda x, w: x + lax.cumsum(w, reverse=True), ("cumsum",), True),
    "cumprod": (lambda x, w: x + lax.cumprod(w), lambda x, w: x + lax.cumprod(w, 1), ("cumprod",), True),
    "cummax": (lambda x, w: x + lax.cummax(w), lambda x, w: x + lax.cummin(w), ("cummax",), True),
    "cumlogsumexp": (
        lambda x, w: x + lax.cumlogsumexp(w),
        lambda x, w: x + lax.cumlogsumexp(w, axis=1),
        ("cumlogsumexp",),
        True,
    ),
    "reduce": (_reduce(0.0), _reduce(1.0), ("reduce",), False),
    "reductions": (
        lambda x, w: x * w.max(0) - w.prod(1, keepdims=True) + (w > 0).any() + (x > 0).all(),
        lambda x, w: x * w.min(0) - w.prod(1, keepdims=True) + (w > 0).any() + (x > 0).all(),
        ("reduce_max", "reduce_prod", "reduce_or", "reduce_and"),
        True,
    ),
    "reduce window": (_window("SAME"), _window("VALID"), ("reduce_window_max", "reduce_window_sum"), True),
    "reduce_precision": (
        lambda x, w: lax.reduce_precision(x * w, 8, 10),
        lambda x, w: lax.reduce_precision(x * w, 8, 12),
        ("reduce_precision",),
        True,
    ),
    "optimization_barrier": (
        lambda x, w: jnp.multiply(*lax.optimization_barrier((x, w))) - w,
        lambda x, w: jnp.multiply(*lax.optimization_barrier((w, w))) - w,
        ("optimization_barrier",),
        True,
    ),
    "clamp": (lambda x, w: lax.clamp(-0.5, x, 0.5) * w, lambda x, w: lax.clamp(-0.5, x, 0.6) * w, ("clamp",), True),
    "select": (lambda x, w: jnp.where(x > 0, x, w), lambda x, w: jnp.where(x > 0, w, x), ("select_n",), True),
    "integer_pow": (lambda x, w: x**3 * w, lambda x, w: x**2 * w, ("integer_pow",), True),
    "convert": (
        lambda x, w: (x.astype(jnp.bfloat16) * w.astype(jnp.bfloat16)).astype(jnp.float32),
        lambda x, w: (x.astype(jnp.float16) * w.astype(jnp.float16)).astype(jnp.float32),
        ("convert_element_type",),
        True,
    ),
    "bitcast": (
        lambda x, w: lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.int32) ^ 1, jnp.float32) * w,
        lambda x, w: lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.int32) ^ 2, jnp.float32) * w,
        ("bitcast_convert_type",),
        False,
    ),
    "complex": (
        lambda x, w: jnp.fft.ifft(jnp.fft.fft(x) * w).real,
        lambda x, w: jnp.fft.ifft(jnp.fft.fft(x) * w).imag,
        ("fft", "real"),
        True,
    ),
    "linear algebra": (
        lambda x, w: x + jnp.linalg.cholesky(w @ w.T + 9 * jnp.eye(3)).sum(),
        lambda x, w: x + jnp.linalg.cholesky(w @ w.T + 8 * jnp.eye(3)).sum(),
        ("cholesky",),
        True,
    ),
    "triangular solve": (
        lambda x, w: jax.scipy.linalg.solve_triangular(w[:, :3] + 4 * jnp.eye(3), x, lower=True),
        lambda x, w: jax.scipy.linalg.solve_triangular(w[:, :3] + 4 * jnp.eye(3), x, lower=False),
        ("triangular_solve",),
        True,
    ),
    "solve": (
        lambda x, w: jnp.linalg.solve(w[:, :3] + 4 * jnp.eye(3), x),
        lambda x, w: jnp.linalg.solve(w[:, 1:] + 4 * jnp.eye(3), x),
        ("lu", "custom_linear_solve"),
        True,
    ),
    "custom linear solve": (_solve(2.0), _solve(4.0), ("custom_linear_solve",), True),
    "special functions": (
        lambda x, w: lax.erf(x) + lax.lgamma(w) + jax.nn.gelu(x * w) + jax.nn.softmax(x),
        lambda x, w: lax.erf(x) + lax.lgamma(w) + jax.nn.silu(x * w) + jax.nn.softmax(x),
        ("erf", "lgamma"),
        True,
    ),
    "pad": (
        lambda x, w: jnp.pad(x * w, ((1, 0), (0, 0)))[:3],
        lambda x, w: jnp.pad(x * w, ((0, 1), (0, 0)))[:3],
        ("pad",),
        True,
    ),
    "pad between": (
        lambda x, w: lax.pad(x * w, 0.0, [(0, -2, 1), (0, 0, 0)]),
        lambda x, w: lax.pad(x * w, 0.0, [(-2, 0, 1), (0, 0, 0)]),
        ("pad",),
        True,
    ),
    "rev": (lambda x, w: jnp.flip(x, 0) * w, lambda x, w: jnp.flip(x, 1) * w, ("rev",), True),
    "moves": (
        lambda x, w: jnp.stack(jnp.split(x.T[:, None].squeeze(1).reshape(2, 6), 2, axis=1)).reshape(3, 4) * w,
        lambda x, w: jnp.stack(jnp.split(x.T[:, None].squeeze(1).reshape(2, 6), 2, axis=1)[::-1]).reshape(3, 4) * w,
        ("transpose", "reshape", "split", "squeeze"),
        True,
    ),
    "roll": (lambda x, w: jnp.roll(x, 1, 0) * w, lambda x, w: jnp.roll(x, 2, 0) * w, ("concatenate",), True),
    "iota": (
        lambda x, w: x * w + lax.broadcasted_iota(jnp.float32, (3, 4), 0),
        lambda x, w: x * w + lax.broadcasted_iota(jnp.float32, (3, 4), 1),
        ("iota",),
        True,
    ),
    "random bits": (
        _noise(lambda k: jax.random.normal(k, (4,))),
        _noise(lambda k: jax.random.normal(k, (3, 1))),
        ("random_seed", "random_bits"),
        True,
    ),
    "fold_in": (
        _noise(lambda k: jax.random.uniform(jax.random.fold_in(k, 1), (4,))),
        _noise(lambda k: jax.random.uniform(jax.random.fold_in(k, 2), (4,))),
        ("random_fold_in",),
        True,
    ),
    "split": (
        _noise(lambda k: jax.random.uniform(jax.random.split(k)[0], (4,))),
        _noise(lambda k: jax.random.uniform(jax.random.split(k)[1], (4,))),
        ("random_split",),
        True,
    ),
    "raw keys": (
        _noise(lambda k: jax.random.uniform(jax.random.wrap_key_data(jax.random.key_data(k) + 1), (4,))),
        _noise(lambda k: jax.random.uniform(jax.random.wrap_key_data(jax.random.key_data(k) + 2), (4,))),
        ("random_wrap", "random_unwrap"),
        True,
    ),
    "bits of a generator": (
        lambda x, w: x * w + lax.rng_bit_generator(jnp.arange(4, dtype=jnp.uint32), (4,))[1] % 7,
        lambda x, w: x * w + lax.rng_bit_generator(jnp.arange(1, 5, dtype=jnp.uint32), (4,))[1] % 7,
        ("rng_bit_generator",),
        False,
    ),
    "gamma": (
        _noise(lambda k: jax.random.gamma(k, 2.0, (4,))),
        _noise(lambda k: jax.random.gamma(k, 3.0, (4,))),
        ("random_gamma",),
        False,
    ),
    "pure callback": (_callback(jax.pure_callback, "a"), _callback(jax.pure_callback, "b"), ("pure_callback",), False),
    "callback": (_callback(io_callback, "a"), _callback(io_callback, "b"), ("io_callback",), False),
    "ordered callback": (
        _callback(io_callback, "a", ordered=True),
        _callback(io_callback, "b", ordered=True),
        ("io_callback",),
        False,
    ),
    "what is printed": (_printing("{x}"), _printing("x {x}"), (), True),
    "where it is printed": (_printing("{x}"), _printing("{x}", first=False), (), True),
    "mutable array": (_ref(2.0, 1.0), _ref(1.0, 2.0), ("get", "swap"), False),
    "equinox conditional error": (
        lambda x, w: eqx.error_if(x * w, jnp.any(x > 1e6), "too large"),
        lambda x, w: eqx.error_if(x * w, jnp.any(x > 1e5), "too large"),
        (),
        False,
    ),
}

ELEMENTWISE = (
    "abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil cos cosh digamma erf erf_inv erfc exp exp2 expm1 "
    "floor is_finite lgamma log log1p logistic neg round rsqrt sign sin sinh sqrt square tan tanh"
).split()
BINARY = "add atan2 div max min mul nextafter pow rem sub eq ge gt le lt ne igamma igammac".split()


@pytest.mark.parametrize("name", CASES)
def test_a_stack_of_layers_is_proved_and_a_near_miss_is_not(name: str) -> None:
    body, miss, about, _ = CASES[name]
    assert set(about) <= primitives(traced(loop(body))), primitives(traced(loop(body)))
    proof = compared(body, body)
    assert proof.proved, (proof.difference, proof.not_understood)
    wrong = compared(body, miss)
    assert not wrong.proved and wrong.difference is not None


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3]])
def test_the_gradients_of_a_stack_are_proved_and_those_of_a_near_miss_are_not(name: str) -> None:
    body, miss, _, _ = CASES[name]
    proof = compared(body, body, gradients=True)
    assert proof.proved, (proof.difference, proof.not_understood)
    assert name in SAME_GRADIENTS or not compared(body, miss, gradients=True).proved


# Near misses that the gradient cannot tell.
SAME_GRADIENTS = {"iota", "what is printed"}


def test_functions_of_each_element_are_told_apart_by_name() -> None:
    for names, arguments in ((ELEMENTWISE, 1), (BINARY, 2)):
        bodies = [_elementwise(name, arguments) for name in names]
        for body, miss in zip(bodies, [*bodies[1:], bodies[0]], strict=True):
            assert compared(body, body).proved and not compared(body, miss).proved
            if arguments == 2:
                assert not compared(body, lambda x, w, f=body: f(w, x)).proved


def _elementwise(name: str, arguments: int) -> Body:
    function: Any = getattr(lax, name)
    return lambda x, w: x * w + function(*(w, x)[:arguments]).astype(jnp.float32)


@pytest.mark.parametrize(
    "how", [{"reverse": True}, {"unroll": 2}, {"unroll": True}, {"reverse": True, "unroll": 2}], ids=str
)
@pytest.mark.parametrize("gradients", [False, True], ids=["outputs", "gradients"])
def test_every_way_to_run_a_scan_is_proved(how: dict[str, Any], gradients: bool) -> None:
    body: Body = lambda x, w: jnp.tanh(x * w)  # noqa: E731
    order = range(LAYERS)[::-1] if how.get("reverse") else range(LAYERS)

    def before(x: Any, ws: Any) -> Any:
        for index in order:
            x = body(x, ws[index])
        return x

    old, new = traced(before, gradients=gradients), traced(scan(body, **how), gradients=gradients)
    assert prove(old, new, gradients=gradients).proved
    other = traced(scan(body, **{**how, "reverse": not how.get("reverse")}), gradients=gradients)
    assert not prove(old, other, gradients=gradients).proved
