"""Wrong rewrites of the whole models of `fixtures/`, to an `ArrayStacked`. Without values: the traced programs must tell.

Most of them are silent: the model runs, and computes something else.
"""

from tests.fixture_helpers import fixture
from tests.mutants.mutant import REMAT, Model, Mutant


def model(name: str, case: str, stack: str, remat: str | None) -> Model:
    """Under the remat policy that was asked for, or as it is written where that is not what is looked at."""
    found = fixture(name, stack)
    cases = found.case_file.read_text()
    return Model(name, found.before, found.after, found.target, cases, case, (remat,), remat)


def mutant(
    title: str,
    where: str,
    *changes: tuple[str, str],
    caught: str,
    silent: str = "",
    stack: str = "init",
    **more: object,
) -> Mutant:
    """`where` is `fixture:case`, `silent` are checks with a space between them."""
    told = tuple(silent.split())
    of = model(*where.split(":"), stack, REMAT if caught == "remat" else None)
    return Mutant(title, of, changes, caught, silent=told, abstract=True, **more)  # type: ignore[arg-type]


WRONG_RULE = """
slightly_wrong = jax.custom_vjp(lambda x: x)
slightly_wrong.defvjp(lambda x: (x, None), lambda _, ct: (1.001 * ct,))


"""

# The stack of the llama, as one that is made of a list.
OF_A_LIST = (
    (
        (
            'ArrayStacked.init(len(layer_keys), DecoderLayer, gradient_checkpointing="nested")(\n'
            "            config, key=layer_keys\n        )"
        ),
        (
            "ArrayStacked.of([\n            DecoderLayer(config, key=k)\n            for k in layer_keys\n        ], "
            'gradient_checkpointing="nested")'
        ),
    ),
)

MUTANTS = (
    mutant(
        "the layers are built in reverse order",
        "encoder:encoder",
        ("dim, rng=jax.random.split(rng, depth)", "dim, rng=jax.random.split(rng, depth)[::-1]"),
        caught="parameters",
        only=True,
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
        ("init(depth, EncoderBlock", "init(depth - 1, EncoderBlock"),
        ("key=block_keys[:depth]", "key=block_keys[1:depth]"),
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
        silent="parameters gradients",
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
        first=OF_A_LIST,
    ),
    mutant(
        "layers with rates of their own are stacked all the same",
        "llama:llama_training",
        ("DecoderLayer(config, key=k)", "eqx.tree_at(lambda l: l.dropout.p, DecoderLayer(config, key=k), i / 10)"),
        ("for k in layer_keys", "for i, k in enumerate(layer_keys)"),
        caught="parameters",
        says=r"cannot be built.*dropout\.p",
        first=OF_A_LIST,
    ),
    mutant(
        "the first key is used for all layers",
        "llama:llama_training",
        ("config, key=layer_keys", "config, key=[layer_keys[0]] * len(layer_keys)"),
        caught="parameters",
        only=True,
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
        only=True,
    ),
    mutant(
        "gradients are stopped inside the block",
        "film:film",
        ("return x + self.proj_out(h)", "return x + self.proj_out(jax.lax.stop_gradient(h))"),
        caught="gradients",
        silent="outputs parameters",
    ),
    mutant(
        "gradients of the shared input are stopped",
        "film:film",
        ("x, self.films, time", "x, self.films, jax.lax.stop_gradient(time)"),
        caught="gradients",
        silent="outputs parameters",
    ),
    mutant(
        "a custom gradient is wrong by a factor",
        "mixer:mixer",
        ("y = self.blocks.fold(y)", "y = self.blocks.fold(slightly_wrong(y))"),
        ("class MixerBlock(", WRONG_RULE + "class MixerBlock("),
        caught="gradients",
        silent="outputs parameters",
    ),
    mutant(
        "rematerialisation is off where it was asked for",
        "mixer:mixer",
        ('gradient_checkpointing="nested"', "gradient_checkpointing=False"),
        caught="remat",
        only=True,
    ),
    mutant(
        "rematerialisation saves everything where nested was asked for",
        "mixer:mixer",
        ('gradient_checkpointing="nested"', 'gradient_checkpointing="save_all"'),
        caught="remat",
        only=True,
    ),
)
