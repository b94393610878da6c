"""Small models as loops and as scans, and certificates of their being equal."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp

from scanify.replay.check import seal
from scanify.replay.form import FORMAT
from scanify.verify.certificate.write import Certificate, Proved

LAYERS, WIDTH, TOKENS, HEADS = 4, 8, 4, 2
Params = list[dict[str, jax.Array]]


def attention(layer: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """Heads are split, turned and flattened again."""
    q, k, v = (jnp.reshape(part, (TOKENS, HEADS, -1)) for part in jnp.split(x @ layer["qkv"], 3, axis=-1))
    scores = jax.nn.softmax(jnp.einsum("thd,shd->hts", q, k))
    return jnp.einsum("hts,shd->thd", scores, v).reshape(TOKENS, WIDTH) @ layer["out"]


def block(layer: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    x = x + attention(layer, x * layer["scale"])
    return x + jax.nn.gelu(x @ layer["up"]).astype(jnp.bfloat16).astype(jnp.float32)[:, :WIDTH]


def loop(layers: Params, x: jax.Array, embedding: jax.Array, tokens: jax.Array) -> jax.Array:
    x = x + embedding[tokens]
    for index, layer in enumerate(layers):
        x = block(layer, x) * (1.0 if index < 2 else 0.5)
    return x @ embedding.T


def scanned(layers: Params, x: jax.Array, embedding: jax.Array, tokens: jax.Array) -> jax.Array:
    x = x + embedding[tokens]
    stacked = jax.tree.map(lambda *each: jnp.stack(each), *layers)

    def body(x: jax.Array, row: tuple[dict[str, jax.Array], jax.Array]) -> tuple[jax.Array, None]:
        layer, index = row
        return block(layer, x) * jnp.where(index < 2, 1.0, 0.5), None

    x, _ = jax.lax.scan(jax.checkpoint(body), x, (stacked, jnp.arange(LAYERS)))
    return x @ embedding.T


def given() -> tuple[Any, ...]:
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "scale": (WIDTH,), "up": (WIDTH, 2 * WIDTH)}
    layers = [{name: jax.ShapeDtypeStruct(shape, "float32") for name, shape in shapes.items()} for _ in range(LAYERS)]
    x, embedding = (jax.ShapeDtypeStruct((size, WIDTH), "float32") for size in (TOKENS, 16))
    return layers, x, embedding, jax.ShapeDtypeStruct((TOKENS,), "int32")


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    def of(layers: Params, x: jax.Array, embedding: jax.Array, tokens: jax.Array, cotangent: jax.Array) -> Any:
        return jax.vjp(lambda *each: function(*each, tokens), layers, x, embedding)[1](cotangent)

    return of


def certificate_of(*proofs: Proved) -> tuple[dict[str, Any], list[str]]:
    """A certificate, and what is not in it."""
    kept = Certificate("toy")
    for proof in proofs:
        kept.add(proof)
    case = json.loads(json.dumps(kept.written()))
    return sealed({"format": FORMAT, "made by": {}, "cases": [case]}), kept.unwritten


def sealed(certificate: dict[str, Any]) -> dict[str, Any]:
    return {**certificate, "sha256": seal(certificate)}


@cache
def text() -> str:
    """A certificate of outputs and gradients."""
    cotangent = jax.ShapeDtypeStruct((TOKENS, 16), "float32")
    traced = [jax.make_jaxpr(each)(*given()) for each in (loop, scanned)]
    derived = [jax.make_jaxpr(gradient(each))(*given(), cotangent) for each in (loop, scanned)]
    certificate, unwritten = certificate_of(
        Proved("outputs", traced[0], traced[1], 0, 0), Proved("gradients", derived[0], derived[1], 1, 0)
    )
    assert unwritten == []
    return json.dumps(certificate)
