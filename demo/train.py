"""One training step of the GPT that `make demo` rewrites. The demo proves the call of the model that it makes."""

import equinox as eqx
import jax
import jax.numpy as jnp
from model import GPT, GPTConfig

config = GPTConfig(vocab_size=96, block_size=32, n_layer=12, n_head=4, n_embd=64, dropout=0.1)
model = GPT(config, key=jax.random.key(0))
tokens = jnp.arange(64).reshape(4, 16) * 7 % 96


@eqx.filter_jit
@eqx.filter_value_and_grad
def step(model, tokens, keys):
    logits = jax.vmap(lambda row, key: model(row, key=key))(tokens, keys)
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits[:, :-1]), tokens[:, 1:, None], axis=-1)
    return -jnp.mean(chosen)


loss, gradients = step(model, tokens, jax.random.split(jax.random.key(1), 4))
