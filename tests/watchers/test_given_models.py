"""Whatever is given a model, its parameters, gradients or updates reads them, unless it is on a closed list."""

from pathlib import Path

import pytest

from scanify.analysis.stack import CallStack
from tests.texts import texts
from tests.watchers.test_plans import plan

HEAD = """\
import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from model import Model


def loss(model, x):
    return jnp.sum(model(x))


"""
ROWS = "jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec('x'))"
READERS = {
    "a sharding of axes": f"def step(x, mesh):\n    return jax.device_put(Model(x), {ROWS})\n",
    "a sharding of axes by a name": f"def step(x, mesh):\n    rows = {ROWS}\n    return eqx.filter_shard(Model(x), rows)\n",
    "a sharding that the caller gives": "def step(x, rows):\n    return jax.lax.with_sharding_constraint(Model(x), rows)\n",
    "a sharding of each leaf": f"def step(x, mesh):\n    return jax.tree.map(lambda a: jax.device_put(a, {ROWS}), Model(x))\n",
    "a sharding in a starred argument": (
        f"def step(x, mesh):\n    args = (Model(x), {ROWS})\n    return jax.device_put(*args)\n"
    ),
    "a sharding of a context": (
        f"def step(x, mesh):\n    rows = None\n    with contextlib.nullcontext({ROWS}) as rows:\n"
        "        return jax.device_put(Model(x), rows)\n"
    ),
    "a sharding of an argument of jit": (
        f"def step(x, mesh):\n    place = jax.jit(lambda m: m, in_shardings={ROWS})\n    return place(Model(x))\n"
    ),
    "shardings of results, in a dict": (
        f"def step(x, mesh):\n    given = {{'out_shardings': {ROWS}}}\n    return jax.jit(lambda m: m, **given)(Model(x))\n"
    ),
    "axes of a mapped function": (
        "def step(x, mesh):\n    axes = jax.sharding.PartitionSpec('x')\n"
        "    return jax.shard_map(lambda m: m, mesh=mesh, in_specs=(axes,), out_specs=axes)(Model(x))\n"
    ),
    "axes of a mapped function, by place": (
        "from jax.experimental.shard_map import shard_map as over\n\n\n"
        "def step(x, mesh):\n    axes = jax.sharding.PartitionSpec('x')\n"
        "    return over(lambda m: m, mesh, axes, axes)(Model(x))\n"
    ),
    "a sharding by partial": f"def step(x, mesh):\n    put = functools.partial(jax.device_put, device={ROWS})\n    return put(Model(x))\n",
    "a layer of equinox that calls a function": (
        "class Told(eqx.Module):\n    told: eqx.nn.Lambda\n\n    def __init__(self, f):\n"
        "        self.told = eqx.nn.Lambda(f)\n\n    def __call__(self, model):\n        return self.told(model)\n\n\n"
        "def step(x):\n    return Told(eval('f'))(Model(x))\n"
    ),
    "a library that no table lists": "import wandb\n\n\ndef step(x):\n    wandb.log({'grads': eqx.filter_grad(loss)(Model(x), x)})\n",
    "a library by a part of the model": "import shampoo_x\n\n\nopt = shampoo_x.make()\n\n\ndef step(x):\n    opt.step(eqx.filter(Model(x), eqx.is_array))\n",
    "a table of functions that is chosen from": "def step(x, table, name):\n    return getattr(table, name)(Model(x))\n\n\nstep(1, object(), 'a')\n",
    "a function that is differentiated": "def step(x):\n    return jax.grad(eval('f'))(Model(x))\n",
    "a function that a call maps": "def step(x):\n    return list(map(eval('f'), [Model(x)]))\n",
    "a function that a call gives": "def find(name):\n    return eval(name)\n\n\ndef step(x):\n    return find('f')(Model(x))\n",
    "the parameter of a function": "def step(x, f):\n    return f(Model(x))\n\n\nstep(1, eval('f'))\n",
    "its attribute": "class Run:\n    def __init__(self, x):\n        self.model = Model(x)\n\n    def report(self):\n        return eval('f')(self.model)\n",
    "a model from another function": "def make(x):\n    return Model(x), x\n\n\ndef step(x):\n    model, x = make(x)\n    return eval('f')(model)\n",
    "a model in a dict": "def step(x):\n    kept = {}\n    kept['best'] = Model(x)\n    return eval('f')(kept)\n",
    "a model in a list": "def step(x):\n    kept = []\n    kept.append(Model(x))\n    return eval('f')(kept)\n",
    "a model that a dataclass has": "@dataclasses.dataclass\nclass State:\n    model: object\n    step: int\n\n\ndef step(x):\n    return eval('f')(State(Model(x), 0))\n",
    "a model behind partial": "def report(f, model):\n    return f(model)\n\n\ndef step(x):\n    return functools.partial(report, eval('f'))(Model(x))\n",
    "a model in a scan": "def step(x):\n    def body(model, x):\n        return eval('f')(model), x\n\n    return jax.lax.scan(body, Model(x), x)\n",
    "a model of many": "def step(keys):\n    return eval('f')(eqx.filter_vmap(Model)(keys))\n",
    "a model of outside, called": "def call(net, x):\n    return net(x)\n\n\ndef report(net):\n    return eval('f')(net)\n",
    "a model of outside, its layers": "def count(net):\n    return len(net.layers) + eval('f')(net)\n",
    "gradients with a value": "def step(model, x):\n    value, grads = eqx.filter_value_and_grad(loss)(model, x)\n    return eval('f')(grads)\n",
    "gradients with more": "def two(model, x):\n    return loss(model, x), x\n\n\ndef step(model, x):\n    (value, aux), grads = eqx.filter_value_and_grad(two, has_aux=True)(model, x)\n    return eval('f')(grads)\n",
    "gradients by vjp": "def step(x):\n    value, pull = eqx.filter_vjp(loss, Model(x), x)\n    return eval('f')(pull(1.0))\n",
    "updates": "def step(x):\n    opt = optax.adam(1e-3)\n    state = opt.init(Model(x))\n    updates, state = opt.update(Model(x), state)\n    return eval('f')(updates)\n",
    "an optimiser of outside": "def step(model, opt, state, x):\n    return opt.update(eqx.filter_grad(loss)(model, x), state)\n",
    "a function of outside": "def step(x, report):\n    report(Model(x))\n    return x\n",
    "an optimiser that is not shown": "def step(x):\n    opt = eval('opt')\n    return opt.update(Model(x), opt.init(Model(x)))\n",
    "its own transformation": "def update(updates, state, params=None):\n    return eval('f')(updates), state\n\n\nopt = optax.chain(optax.scale(1.0), optax.GradientTransformation(lambda p: (), update))\n",
    "an optimiser whose rates are state": (
        "def main(x):\n    opt = optax.inject_hyperparams(optax.lamb)(learning_rate=1e-3)\n"
        "    return opt.update(eqx.filter_grad(loss)(Model(x), x), opt.init(Model(x)))\n"
    ),
    "a decorator of a library": "import spy\n\n\n@spy.watch(Model)\ndef step(x):\n    return x\n",
    "members": "import inspect\n\n\ndef step(x):\n    return inspect.getmembers(Model(x))\n",
    "fields of the class": "def names():\n    return [field.name for field in dataclasses.fields(Model)]\n",
    "annotations": "import typing\n\n\ndef names():\n    return typing.get_type_hints(Model)\n",
    "its dict": "def names(x):\n    return [*Model(x).__dict__]\n",
    "how it is pickled": "def names(x):\n    return Model(x).__reduce__()\n",
    "its variables": "def names(x):\n    return len(vars(Model(x)))\n",
    "its size": "import sys\n\n\ndef size(x):\n    return sys.getsizeof(Model(x))\n",
    "objects of the collector": "import gc\n\n\ndef count():\n    return len(gc.get_objects())\n",
    "its dict, by its name": "def names(x):\n    return [*getattr(Model(x), '__dict__')]\n",
    "its dict, in another file's words": "def names(node):\n    return getattr(node, '__dict__', None)\n",
    "a field whose name is put together": "def count(x):\n    return len(getattr(Model(x), 'lay' + 'ers'))\n",
    "a digest of its text": "def tell(x):\n    print(hash(repr(Model(x)).encode()))\n",
    "its fields, matched": (
        "def count(x):\n    match Model(x):\n        case Model(layers=list(layers)):\n            return len(layers)\n"
    ),
    "a decorator that makes another function of what a map applies": (
        "def unit(f):\n    @functools.wraps(f)\n    def inner(g):\n        return f(g) / jnp.linalg.norm(g)\n\n"
        "    return inner\n\n\n@unit\ndef twice(g):\n    return 2 * g\n\n\n"
        "def step(model, x):\n    return jax.tree.map(twice, eqx.filter_grad(loss)(model, x))\n"
    ),
    "a map that a function puts into a global": (
        "tmap = None\n\n\ndef setup():\n    global tmap\n    tmap = jax.tree.map\n\n\n"
        "def step(model, x):\n    return tmap(lambda g: g / jnp.linalg.norm(g), eqx.filter_grad(loss)(model, x))\n"
    ),
    "a map that takes the place of another": (
        "tmap = jax.tree_util.tree_leaves_with_path\n\n\ndef setup(over):\n    global tmap\n    tmap = over\n\n\n"
        "def step(model, x):\n    setup(jax.tree.leaves)\n    return tmap(eqx.filter_grad(loss)(model, x))[0]\n"
    ),
    "its text, printed": "def main(x):\n    print(Model(x))\n",
    "its text, logged": "import logging\n\n\ndef main(x):\n    logging.info('%s', Model(x))\n",
    "its text, raised": "def main(x):\n    raise ValueError(f'{Model(x)}')\n",
    "its text, counted": "def count(x):\n    return repr(Model(x)).count('Block(')\n",
    "its text in another": "def count(x):\n    return len(f'{Model(x)}')\n",
    "its text by a library": "def count(x):\n    return eqx.tree_pformat(Model(x)).count('f32')\n",
}


@pytest.mark.parametrize("name", READERS)
def test_what_is_given_a_model_and_is_on_no_list_reads_it(tmp_path: Path, name: str) -> None:
    found = plan(tmp_path, "train.py", HEAD + READERS[name])
    if isinstance(found.stack, CallStack):  # code that uses the list by its name keeps it
        assert found.stack.at is not None and found.stack.at.path.name == "train.py"
    else:
        assert not found.safe and any("train.py" in each for each in texts(found.elsewhere))


def test_a_list_that_a_function_of_an_optimiser_replaces_stays_a_list(tmp_path: Path) -> None:
    flags = "def flags(layers):\n    return [p.ndim > 1 for p in layers]\n\n\n"
    mask = "lambda p: eqx.tree_at(lambda m: m.layers, p, replace_fn=flags)"
    found = plan(tmp_path, "train.py", f"{HEAD}{flags}opt = optax.adamw(1e-3, mask={mask})\n")
    assert isinstance(found.stack, CallStack) and found.stack.rule == "SCN316"


TRAINING = """\
def make(x, name="adamw"):
    table = {"adamw": optax.adamw, "sgd": optax.sgd}
    return Model(x), optax.chain(optax.clip_by_global_norm(1.0), table[name](1e-3))


@eqx.filter_jit
def step(model, state, opt, x):
    (value, aux), grads = eqx.filter_value_and_grad(two, has_aux=True)(model, x)
    updates, state = opt.update(grads, state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), state, value


def two(model, x):
    out = jax.vmap(model)(x)
    return jnp.mean(out), {"out": out}


def train(x, log):
    model, opt = make(x)
    state = opt.init(eqx.filter(model, eqx.is_array))
    average = model
    for number in range(3):
        model, state, value = step(model, state, opt, x)
        average = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b if eqx.is_array(a) else a, average, model)
        log({"loss": value, "step": number})
    eqx.tree_serialise_leaves("model.eqx", model)
    return eqx.nn.inference_mode(average)
"""
HARMLESS = {
    "shardings of no axis, of a function": (
        "def step(x, mesh):\n    none = jax.sharding.PartitionSpec()\n"
        "    mapped = jax.shard_map(lambda m: m, mesh=mesh, in_specs=(none, None), out_specs=none)\n"
        "    return jax.jit(mapped, out_shardings=None)(Model(x), x)\n"
    ),
    "a sharding of no axis, and a device": (
        "WHOLE = jax.sharding.PartitionSpec()\n\n\ndef step(x, mesh):\n    whole = jax.sharding.NamedSharding(mesh, WHOLE)\n"
        "    model = eqx.filter_shard(Model(x), whole)\n    model = jax.device_put(model, jax.devices()[0])\n"
        "    return jax.tree.map(lambda a: jax.device_put(a, whole), jax.device_put(model))\n"
    ),
    "layers of equinox, of a state": (
        "class Norm(eqx.Module):\n    norm: eqx.nn.BatchNorm\n\n    def __init__(self):\n"
        "        self.norm = eqx.nn.BatchNorm(4, 'batch')\n\n"
        "    def __call__(self, x, state):\n        return self.norm(x, state)\n\n\n"
        "def step(x):\n    model, state = eqx.nn.make_with_state(Model)(x)\n    return Norm()(model(x), state)\n"
    ),
    "training": TRAINING,
    "a trainer": (
        "class Trainer:\n    def __init__(self, model, opt):\n        self.model, self.opt = model, opt\n"
        "        self.state = opt.init(eqx.filter(model, eqx.is_array))\n\n    def step(self, x):\n"
        "        grads = eqx.filter_grad(loss)(self.model, x)\n"
        "        updates, self.state = self.opt.update(grads, self.state)\n"
        "        self.model = eqx.apply_updates(self.model, updates)\n\n\n"
        "def main(x):\n    trainer = Trainer(Model(x), optax.adam(1e-3))\n    trainer.step(x)\n    return trainer.model(x)\n"
    ),
    "a scan over steps": (
        "def main(x):\n    opt = optax.adam(1e-3)\n    params, rest = eqx.partition(Model(x), eqx.is_array)\n\n"
        "    def body(carry, x):\n        params, state = carry\n"
        "        value, grads = jax.value_and_grad(lambda p: loss(eqx.combine(p, rest), x))(params)\n"
        "        updates, state = opt.update(grads, state, params)\n"
        "        return (optax.apply_updates(params, updates), state), value\n\n"
        "    return jax.lax.scan(body, (params, opt.init(params)), x)\n"
    ),
    "numbers for a library": "import wandb\n\n\ndef main(x):\n    model = Model(x)\n    wandb.log({'loss': loss(model, x), 'out': model(x)})\n",
    "an optimiser whose rates are state": (
        "def main(x):\n    opt = optax.inject_hyperparams(optax.adam)(learning_rate=1e-3)\n"
        "    return opt.update(eqx.filter_grad(loss)(Model(x), x), opt.init(Model(x)))\n"
    ),
    "its casts": "import jmp\n\n\ndef main(x):\n    return jmp.get_policy('half').cast_to_compute(Model(x))(x)\n",
    "fields of a configuration": "@dataclasses.dataclass\nclass Config:\n    depth: int\n\n\ndef main(x):\n    return dataclasses.asdict(Config(3)), vars(Config(3))\n",
    "a function in a field": (
        "class Head(eqx.Module):\n    model: Model\n    activation: object = eqx.field(static=True, default=jax.nn.relu)\n\n"
        "    def __call__(self, x):\n        return self.activation(self.model(x))\n\n\n"
        "def main(x):\n    return Head(Model(x))(x)\n"
    ),
    "kinds": "def main(x):\n    return isinstance(Model(x), Model), type(Model(x)), callable(Model)\n",
    "an ensemble": "def main(keys, x):\n    models = eqx.filter_vmap(Model)(keys)\n    return eqx.filter_vmap(lambda m: m(x))(models)\n",
    "a wrapper": "class Both(eqx.Module):\n    one: Model\n    two: Model\n\n    def __call__(self, x):\n        return self.one(x) + self.two(x)\n\n\ndef main(x):\n    return Both(Model(x), Model(x))(x)\n",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_treats_each_number_alike_or_reads_none_is_harmless(tmp_path: Path, name: str) -> None:
    found = plan(tmp_path, "train.py", HEAD + HARMLESS[name])
    assert found.safe, texts(found.elsewhere)
