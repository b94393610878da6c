"""Independent layers one after the other against all of them at once by vmap: outputs, gradients and tangents are proved,
and near misses are not."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from scanify.verify.proof.prove import Proof, prove

N, D, T = 4, 6, 5
Layer = Callable[[Any, Any, Any], Any]


def _shapes(**shapes: tuple[int, ...]) -> list[dict[str, Any]]:
    return [{name: jax.ShapeDtypeStruct(shape, "float32") for name, shape in shapes.items()} for _ in range(N)]


def linear(p: Any, x: Any, key: Any) -> Any:
    return jax.nn.relu(p["w"] @ x + p["b"])


def norm(p: Any, x: Any, key: Any) -> Any:
    centred = x - jnp.mean(x, keepdims=True)
    return centred * lax.rsqrt(jnp.var(x, keepdims=True) + 1e-5) * p["b"] + p["c"]


def expert(p: Any, x: Any, key: Any) -> Any:
    return p["v"] @ jax.nn.gelu(p["w"] @ norm(p, x, key) + p["b"]) * p["s"]


def head(p: Any, x: Any, key: Any) -> Any:
    q, k, v = (jax.vmap(lambda row, w=w: w @ row)(x) for w in (p["q"], p["k"], p["v"]))
    seen = jnp.tril(jnp.ones((T, T), bool))
    return jax.nn.softmax(jnp.where(seen, q @ k.T / 2.0, -jnp.inf), -1) @ v


def dropped(p: Any, x: Any, key: Any) -> Any:
    return jnp.where(jax.random.bernoulli(key, 0.7, (D,)), linear(p, x, key) / 0.7, 0.0)


def noisy(p: Any, x: Any, key: Any) -> Any:
    first, second = jax.random.split(jax.random.fold_in(key, 3))
    return linear(p, x, key) + jax.random.normal(first, (D,)) * jax.random.uniform(second, ())


def ordered(p: Any, x: Any, key: Any) -> Any:
    order = jnp.sort(p["w"] @ x) + jnp.cumsum(p["b"]) + lax.cummax(x * p["b"], reverse=True)
    return order * lax.top_k(x + p["b"], 2)[0].sum() + jnp.argmax(p["b"]) * jnp.prod(p["b"])


def mixed(p: Any, x: Any, key: Any) -> Any:
    wide = jnp.broadcast_to(p["b"][:, None], (D, T)).astype(jnp.bfloat16).astype(jnp.float32)
    return (p["w"] @ (wide * x[:, None])).T.reshape(-1)[4:20]


W, B, C = (D, D), (D,), (D,)
HEAD = dict.fromkeys("qkv", (3, D))
# A layer, its parameters, and the shape of what it is given.
LAYERS: dict[str, tuple[Layer, dict[str, tuple[int, ...]], tuple[int, ...]]] = {
    "linear": (linear, {"w": W, "b": B}, (D,)),
    "norm": (norm, {"b": B, "c": C}, (D,)),
    "expert": (expert, {"w": W, "v": W, "b": B, "c": C, "s": ()}, (D,)),
    "head": (head, HEAD, (T, D)),
    "dropped": (dropped, {"w": W, "b": B}, (D,)),
    "noisy": (noisy, {"w": W, "b": B}, (D,)),
    "ordered": (ordered, {"w": W, "b": B}, (D,)),
    "mixed": (mixed, {"w": W, "b": B}, (D,)),
}
# How the layers are given x: all the same, or each its own; and what becomes of what they give.
WHAT = ("outputs", "gradients")
FORMS = ["all the same", "each its own", "put together"]


def loop(layer: Layer, form: str) -> Callable[..., Any]:
    def run(params: Any, x: Any, key: Any) -> Any:
        keys = jax.random.split(key, N)
        own = form == "each its own"
        found = [layer(p, x[i] if own else x, keys[i]) for i, p in enumerate(params)]
        return jnp.concatenate(found, -1) if form == "put together" else found

    return run


def mapped(layer: Layer, form: str, turn: Callable[[Any, Any, Any], Any] = lambda p, x, k: (p, x, k)) -> Any:
    def run(params: Any, x: Any, key: Any) -> Any:
        stacked = jax.tree.map(lambda *each: jnp.stack(each), *params)
        own = 0 if form == "each its own" else None
        found = jax.vmap(layer, in_axes=(0, own, 0))(*turn(stacked, x, jax.random.split(key, N)))
        rows = [found[i] for i in range(N)]
        return jnp.concatenate(rows, -1) if form == "put together" else rows

    return run


def given(name: str, form: str) -> tuple[Any, Any, Any]:
    _, shapes, shape = LAYERS[name]
    x = jax.ShapeDtypeStruct((N, *shape) if form == "each its own" else shape, "float32")
    return _shapes(**shapes), x, jax.eval_shape(lambda: jax.random.key(0))


def proof(one: Any, other: Any, args: Any, what: str = "outputs") -> Proof:
    if what == "outputs":
        return prove(*(jax.make_jaxpr(f)(*args) for f in (one, other)))
    params, x, _ = args
    if what == "tangents":
        traced = [
            jax.make_jaxpr(lambda p, x, k, *t, f=f: jax.jvp(lambda p, x: f(p, x, k), (p, x), t)[1])(*args, params, x)
            for f in (one, other)
        ]
        return prove(*traced, tangents=len(jax.tree.leaves((params, x))))
    made = jax.eval_shape(one, *args)
    traced = [
        jax.make_jaxpr(lambda p, x, k, ct, f=f: jax.vjp(lambda p, x: f(p, x, k), p, x)[1](ct))(*args, made)
        for f in (one, other)
    ]
    return prove(*traced, cotangents=len(jax.tree.leaves(made)))


@pytest.mark.parametrize("what", ["outputs", "tangents", "gradients"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LAYERS)
def test_a_map_is_proved_through_vmap(name: str, form: str, what: str) -> None:
    layer, args = LAYERS[name][0], given(name, form)
    found = proof(loop(layer, form), mapped(layer, form), args, what)
    if name == "ordered" and what != "outputs":
        return  # derivatives of sorting read at indices that are batched
    if what == "gradients" and name in ("norm", "expert") and form != "each its own":
        # What all layers are given goes through operations that vmap does once: its cotangents are added up before them
        # and not after. That rounds otherwise, and is not proved; the gradients of the parameters are.
        assert all(found.equal[:-1]) and not found.equal[-1]
    else:
        assert found.proved, (found.difference, found.not_understood)


def _rolled(name: str) -> Callable[[Any, Any, Any], Any]:
    return lambda p, x, k: ({**p, name: jnp.roll(p[name], 1, 0)}, x, k)


# For each rule what a wrong one would prove: a layer, what is done to it under vmap, or what stands in its place.
MISSES: dict[str, tuple[str, Any]] = {
    "a product with the weights of the layer before": ("linear", _rolled("w")),
    "a product with weights turned": ("linear", lambda p, x, k: ({**p, "w": jnp.swapaxes(p["w"], 1, 2)}, x, k)),
    "a sum with the bias of the layer before": ("linear", _rolled("b")),
    "layers in another order": ("expert", lambda p, x, k: (jax.tree.map(lambda v: v[::-1], p), x, k)),
    "a scale of another layer": ("expert", _rolled("s")),
    "one layer for all": ("norm", lambda p, x, k: (jax.tree.map(lambda v: jnp.stack([v[0]] * N), p), x, k)),
    "keys of the next layer": ("dropped", lambda p, x, k: (p, x, jnp.roll(k, 1))),
    "one key for all": ("dropped", lambda p, x, k: (p, x, k[jnp.zeros(N, int)])),
    "halves of keys the other way round": (
        "noisy",
        lambda p, x, key: (
            linear(p, x, key)
            + jax.random.normal(jax.random.split(jax.random.fold_in(key, 3))[1], (D,))
            * jax.random.uniform(jax.random.split(jax.random.fold_in(key, 3))[0], ())
        ),
    ),
    "another number folded in": (
        "noisy",
        lambda p, x, key: noisy(p, x, jax.random.fold_in(key, 1)),
    ),
    "a reduction over all layers": (
        "norm",
        lambda p, x, key: norm({**p, "b": p["b"] / lax.pmean(1.0, "layers")}, x, key) * lax.pmean(p["b"], "layers"),
    ),
    "a softmax along the other axis": (
        "head",
        lambda p, x, key: jax.nn.softmax((x @ p["q"].T) @ (x @ p["k"].T).T / 2.0, 0) @ (x @ p["v"].T),
    ),
    "sorted the other way": ("ordered", lambda p, x, key: ordered(p, x, key) - 2 * jnp.sort(p["w"] @ x)),
    "summed up from the other end": (
        "ordered",
        lambda p, x, key: ordered(p, x, key) - jnp.cumsum(p["b"]) + lax.cumsum(p["b"], reverse=True),
    ),
    "repeated along the other axis": (
        "mixed",
        lambda p, x, key: (p["w"] @ (jnp.broadcast_to(p["b"][:T][None], (D, T)) * x[:, None])).T.reshape(-1)[4:20],
    ),
}


@pytest.mark.parametrize("miss", MISSES)
def test_a_near_miss_is_not_proved(miss: str) -> None:
    name, change = MISSES[miss]
    layer = LAYERS[name][0]
    turns = change.__code__.co_varnames[:3] == ("p", "x", "k")
    named = jax.vmap  # an axis name, for what asks all layers

    def other(params: Any, x: Any, key: Any) -> Any:
        stacked = jax.tree.map(lambda *each: jnp.stack(each), *params)
        rows = named(change, in_axes=(0, None, 0), axis_name="layers")(stacked, x, jax.random.split(key, N))
        return [rows[i] for i in range(N)]

    wrong = mapped(layer, "all the same", change) if turns else other
    found = [proof(loop(layer, "all the same"), wrong, given(name, "all the same"), what) for what in WHAT]
    assert not found[0].proved
    # What is added to a layer has no part in its gradients.
    assert not found[1].proved or name in ("noisy", "ordered")


def test_a_gradient_that_leaves_out_a_layer_is_not_proved() -> None:
    def without(params: Any, x: Any, key: Any) -> Any:
        stacked = jax.tree.map(lambda *each: jnp.stack(each), *params)
        xs = jnp.stack([x, lax.stop_gradient(x), x, x])
        rows = jax.vmap(linear)(stacked, xs, jax.random.split(key, N))
        return [rows[i] for i in range(N)]

    args = given("linear", "all the same")
    assert proof(loop(linear, "all the same"), without, args).proved
    found = proof(loop(linear, "all the same"), without, args, "gradients")
    assert all(found.equal[:-1]) and not found.equal[-1]


def test_bits_of_keys_other_than_threefry_are_not_taken_apart() -> None:
    def bits(key: Any) -> list[Any]:
        keys = jax.random.split(key, N)
        return [jax.random.bits(keys[i], (3,)) for i in range(N)]

    def at_once(key: Any) -> list[Any]:
        found = jax.vmap(lambda each: jax.random.bits(each, (3,)))(jax.random.split(key, N))
        return [found[i] for i in range(N)]

    for impl, equal in (("threefry2x32", True), ("rbg", False), ("unsafe_rbg", False)):
        key = jax.random.key(0, impl=impl)
        assert prove(jax.make_jaxpr(bits)(key), jax.make_jaxpr(at_once)(key)).proved is equal


def test_a_sum_over_layers_is_one_of_cotangents_alone() -> None:
    """The order of a sum that a program writes counts."""

    def one(params: Any) -> Any:
        return jnp.sum(jnp.stack([p["b"] for p in params]), 0)

    def other(params: Any) -> Any:
        return jnp.sum(jnp.stack([p["b"] for p in params[::-1]]), 0)

    params = _shapes(b=B)
    assert not prove(*(jax.make_jaxpr(f)(params) for f in (one, other))).proved


def _loop(ws: Any, x: Any, y: Any) -> Any:
    for i in range(N):
        x = jnp.tanh(ws[i] @ x) + y
    return x


def _scan(ws: Any, x: Any, y: Any) -> Any:
    return lax.scan(lambda x, w: (jnp.tanh(w @ x) + y, None), x, ws)[0]


# Which of the weights, the input and what every layer adds have a batch axis; a scan gives its carry one at once.
UNEVEN = [(0, None, None), (None, None, 0), (None, 0, None), (0, None, 0)]


@pytest.mark.parametrize("axes", UNEVEN)
@pytest.mark.parametrize("derived", [False, True])
def test_layers_before_a_batch_axis_are_those_of_a_batch_of_equal_rows(axes: Any, derived: bool) -> None:
    def of(run: Any) -> Any:
        pulled = lambda *given: jax.vjp(run, *given[:3])[1](given[3])  # noqa: E731
        return jax.vmap(pulled if derived else run, in_axes=(*axes, 0) if derived else axes)

    shapes = [(N, D, D), (D,), (D,)]
    given = [
        jax.ShapeDtypeStruct(shape if axis is None else (3, *shape), "float32")
        for shape, axis in zip(shapes, axes, strict=True)
    ]
    given += [jax.ShapeDtypeStruct((3, D), "float32")] if derived else []
    first, second = (jax.make_jaxpr(of(run))(*given) for run in (_loop, _scan))
    assert prove(first, second, cotangents=int(derived)).proved


def test_a_row_that_only_looks_repeated_is_not_proved() -> None:
    def shared(w: Any, x: Any) -> Any:
        return jnp.broadcast_to(jnp.tanh(w @ x[0]), (3, D))

    def batched(w: Any, x: Any) -> Any:
        return jnp.tanh(jnp.broadcast_to(x[0], (3, D)).at[2].set(x[1]) @ w.T)

    given = jax.ShapeDtypeStruct((D, D), "float32"), jax.ShapeDtypeStruct((2, D), "float32")
    assert not prove(jax.make_jaxpr(shared)(*given), jax.make_jaxpr(batched)(*given)).proved
