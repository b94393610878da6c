"""Every construct of Python that may bring a model to a function of a library: none is silent."""

from pathlib import Path

import pytest

from scanify.analysis.stack import CallStack
from tests.watchers.test_plans import plan

HEAD = """\
import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import ledger
import optax

from model import Model


def loss(model, x):
    return jnp.sum(model(x))


"""
WAYS = {
    "functions that call one another": "FNS = {'map': jax.lax.map, 'cond': jax.lax.cond, 'sw': jax.lax.switch}\n\n\ndef step(x, name):\n    return jax.lax.cond(*[FNS[name], Model(x)], **FNS)\n",
    "a list of functions that is passed to each": "FNS = [jax.lax.fori_loop, jax.lax.while_loop, functools.reduce, jax.jvp, functools.partial, map]\n\n\ndef step(x):\n    for f in FNS:\n        f(FNS, FNS, FNS, FNS, k=FNS)\n        f(f, f, Model(x), *FNS)\n",
    "starmap": "def step(x):\n    return list(itertools.starmap(ledger.digest, [(Model(x), 1)]))\n",
    "walrus": "def step(x):\n    if (net := Model(x)):\n        return ledger.digest(net)\n",
    "dictcomp": "def step(x):\n    nets = {i: Model(i) for i in range(3)}\n    return {k: ledger.digest(v) for k, v in nets.items()}\n",
    "zipstar": "def step(xs):\n    for net, x in zip(map(Model, xs), xs):\n        ledger.digest(net)\n",
    "filter": "def step(xs):\n    return list(filter(ledger.digest, [Model(x) for x in xs]))\n",
    "default": "NET = Model(1)\n\n\ndef step(net=NET):\n    return ledger.digest(net)\n",
    "kwonly_default": "def step(*, report=ledger.digest):\n    return report(Model(1))\n",
    "return_fn": "def pick(name):\n    return {'a': ledger.digest}[name]\n\n\ndef step(x, name):\n    return pick(name)(Model(x))\n",
    "closure": "def hook(sink):\n    def inner(model):\n        return sink(model)\n    return inner\n\n\ndef step(x):\n    return hook(ledger.digest)(Model(x))\n",
    "property": "class Run:\n    def __init__(self, x):\n        self._net = Model(x)\n\n    @property\n    def net(self):\n        return self._net\n\n\ndef step(x):\n    return ledger.digest(Run(x).net)\n",
    "dataclass_field": "import dataclasses\n\n\n@dataclasses.dataclass\nclass S:\n    net: object\n    step: int = 0\n\n\ndef step(x):\n    s = S(Model(x))\n    s = dataclasses.replace(s, step=1)\n    return ledger.digest(s.net)\n",
    "namedtuple": "from typing import NamedTuple\n\n\nclass S(NamedTuple):\n    net: object\n\n\ndef step(x):\n    (net,) = S(Model(x))\n    return ledger.digest(net)\n",
    "lambda_default": "step = lambda x, f=ledger.digest: f(Model(x))\n",
    "tree_map_of_user_partial": "def unit(eps, g):\n    return g / (eps + jnp.linalg.norm(g))\n\n\ndef step(m, x):\n    return jax.tree.map(functools.partial(unit, 1e-6), eqx.filter_grad(loss)(m, x))\n",
    "jit_tree_map": "tmap = jax.jit(jax.tree_util.tree_map, static_argnums=0)\n\n\ndef step(m, x):\n    return tmap(lambda g: g / jnp.linalg.norm(g), eqx.filter_grad(loss)(m, x))\n",
    "vjp": "def step(x):\n    out, pull = jax.vjp(lambda m: loss(m, x), Model(x))\n    (g,) = pull(1.0)\n    return ledger.digest(g)\n",
    "jvp": "def step(x):\n    m = Model(x)\n    out, tan = jax.jvp(lambda m: m, (m,), (m,))\n    return ledger.digest(tan)\n",
    "fori": "def step(x):\n    def body(i, m):\n        return ledger.digest(m)\n    return jax.lax.fori_loop(0, 3, body, Model(x))\n",
    "cond": "def step(x):\n    return jax.lax.cond(x, ledger.digest, lambda m: 0, Model(x))\n",
    "switch": "def step(x):\n    return jax.lax.switch(x, [ledger.digest, lambda m: 0], Model(x))\n",
    "callback": "def step(x):\n    jax.debug.callback(ledger.digest, Model(x))\n",
    "io_callback": "def step(x):\n    jax.experimental.io_callback(ledger.digest, None, Model(x))\n",
    "pure_callback": "def step(x):\n    return jax.pure_callback(ledger.digest, x, Model(x))\n",
    "custom_vjp": "@jax.custom_vjp\ndef f(m):\n    return m\n\n\ndef fwd(m):\n    return m, m\n\n\ndef bwd(res, g):\n    return (ledger.digest(res),)\n\n\nf.defvjp(fwd, bwd)\n\n\ndef step(x):\n    return f(Model(x))\n",
    "chain_update": "def init(params):\n    return ledger.digest(params)\n\n\ndef update(u, s, params=None):\n    return u, s\n\n\nopt = optax.GradientTransformation(init, update)\n",
    "multi_transform": "def labels(params):\n    return ledger.labels(params)\n\n\nopt = optax.multi_transform({'a': optax.sgd(1.0)}, labels)\n",
    "mask_lambda": "opt = optax.adamw(1e-3, mask=lambda p: ledger.mask(p))\n",
    "masked_method": "class Cfg:\n    def mask(self, p):\n        return ledger.mask(p)\n\n    def opt(self):\n        return optax.masked(optax.sgd(0.1), self.mask)\n",
    "iter_next": "def step(x):\n    it = iter([Model(x)])\n    return ledger.digest(next(it))\n",
    "try_except": "def step(x):\n    try:\n        f = ledger.digest\n    except AttributeError:\n        f = None\n    return f(Model(x))\n",
    "class_attr_fn": "class R:\n    f = staticmethod(ledger.digest)\n\n\ndef step(x):\n    return R.f(Model(x))\n",
    "classmethod": "class R:\n    @classmethod\n    def go(cls, net):\n        return ledger.digest(net)\n\n\ndef step(x):\n    return R.go(Model(x))\n",
    "format": "def step(x):\n    return ledger.h('{}'.format(Model(x)))\n",
    "percent": "def step(x):\n    return len('%s' % (Model(x),))\n",
    "fstr_len": "def step(x):\n    text = f'{Model(x)!r}'\n    return len(text)\n",
    "del_yield": "def gen(x):\n    yield from [Model(x)]\n\n\ndef step(x):\n    return [ledger.digest(n) for n in gen(x)]\n",
    "send": "def gen():\n    while True:\n        net = yield\n        ledger.digest(net)\n\n\ndef step(x):\n    g = gen()\n    next(g)\n    g.send(Model(x))\n",
    "thread": "import threading\n\n\ndef step(x):\n    threading.Thread(target=print, args=(Model(x),)).start()\n",
    "nonlocal": "def step(x):\n    net = None\n\n    def fill():\n        nonlocal net\n        net = Model(x)\n    fill()\n    return ledger.digest(net)\n",
    "globals_net": "NET = None\n\n\ndef fill(x):\n    global NET\n    NET = Model(x)\n\n\ndef step():\n    return ledger.digest(NET)\n",
    "match": "def step(x):\n    match Model(x):\n        case net:\n            return ledger.digest(net)\n",
    "dunder_enter": "class S:\n    def __init__(self, net):\n        self.net = net\n\n    def __enter__(self):\n        return self.net\n\n    def __exit__(self, *a):\n        pass\n\n\ndef step(x):\n    with S(Model(x)) as n:\n        ledger.digest(n)\n",
    "getitem": "class Bag:\n    def __init__(self):\n        self.nets = {}\n\n    def __setitem__(self, k, v):\n        self.nets[k] = v\n\n    def __getitem__(self, k):\n        return self.nets[k]\n\n\ndef step(x):\n    b = Bag()\n    b['a'] = Model(x)\n    return ledger.digest(b['a'])\n",
    "operator_or": "class Pipe:\n    def __init__(self, f):\n        self.f = f\n\n    def __ror__(self, net):\n        return self.f(net)\n\n\ndef step(x):\n    return Model(x) | Pipe(ledger.digest)\n",
    "iter_dunder": "class Bag:\n    def __init__(self, *nets):\n        self.kept = nets\n\n    def __iter__(self):\n        return iter(self.kept)\n\n\ndef step(x):\n    for n in Bag(Model(x)):\n        ledger.digest(n)\n",
    "getattr_dunder": "class Proxy:\n    def __init__(self, net):\n        self.inner = net\n\n    def __getattr__(self, name):\n        return getattr(self.inner, name)\n\n\ndef step(x):\n    return ledger.digest(Proxy(Model(x)).layers)\n",
    "star_args": "def run(f, *args, **kw):\n    return f(*args, **kw)\n\n\ndef step(x):\n    return run(ledger.digest, Model(x))\n",
    "dict_star": "def run(f, kw):\n    return f(**kw)\n\n\ndef step(x):\n    return run(ledger.digest, {'net': Model(x)})\n",
    "decor_class": "class timed:\n    def __init__(self, f):\n        self.f = f\n\n    def __call__(self, *a):\n        return ledger.digest(*a)\n\n\n@timed\ndef report(net):\n    return 0\n\n\ndef step(x):\n    return report(Model(x))\n",
    "meta_reduce": "def step(xs):\n    return functools.reduce(ledger.merge, [Model(x) for x in xs])\n",
    "reduce_init": "def step(xs):\n    return functools.reduce(lambda m, x: ledger.merge(m), xs, Model(1))\n",
    "any_gen": "def step(xs):\n    return any(ledger.digest(m) for m in map(Model, xs))\n",
    "ifexp": "def step(x, a):\n    return (ledger.digest if a else print)(Model(x))\n",
    "boolop": "def step(x, a):\n    return (a or ledger.digest)(Model(x))\n",
    "import_in": "def step(x):\n    from ledger import digest\n    return digest(Model(x))\n",
    "importlib": "import importlib\n\n\ndef step(x):\n    return importlib.import_module('ledger').digest(Model(x))\n",
    "grad_argnums": "def step(x):\n    g = jax.grad(loss, argnums=0)(Model(x), x)\n    return ledger.digest(g)\n",
    "value_aux": "def step(x):\n    out = eqx.filter_value_and_grad(loss)(Model(x), x)\n    return ledger.digest(out[1])\n",
    "neg_index": "def step(x):\n    out = eqx.filter_value_and_grad(loss)(Model(x), x)\n    return ledger.digest(out[-1])\n",
    "slice": "def step(x):\n    out = (1, Model(x), 2)\n    return ledger.digest(out[1:])\n",
    "foreign call": "import runner\n\n\nclass R(runner.Base):\n    pass\n\n\ndef step(x):\n    R()(Model(x))\n",
    "foreign init": "import runner\n\n\nclass R(runner.Base):\n    pass\n\n\ndef step(x):\n    R(Model(x)).go()\n",
    "foreign super": "import runner\n\n\nclass R(runner.Base):\n    def __init__(self, m):\n        super().__init__(m)\n\n\ndef step(x):\n    R(Model(x))\n",
    "made by a class method": "class M(Model):\n    @classmethod\n    def make(cls, x):\n        return cls(x)\n\n\ndef step(x):\n    return ledger.digest(M.make(x))\n",
    "getattr_module": "import model as mm\n\n\ndef step(x):\n    return ledger.digest(getattr(mm, 'Model')(x))\n",
    "deep": "def step(x):\n    t = (1, (2, (3, (4, (5, Model(x))))))\n    return ledger.digest(t[1][1][1][1][1])\n",
    "partial of partial": "def f(a, b, c):\n    return ledger.digest(c)\n\n\ndef step(x):\n    g = functools.partial(f, 1)\n    h = functools.partial(g, 2)\n    return h(Model(x))\n",
    "a key by which a list is sorted": "def step(x):\n    nets = [Model(x)]\n    nets.sort(key=ledger.digest)\n    return nets\n",
    "a class under a decorator": "import spy\n\n\n@spy.watch\nclass Run:\n    def __init__(self, net):\n        self.net = net\n\n\ndef step(x):\n    return Run(Model(x))\n",
    "a field of equations": "import diffrax\n\n\ndef field(t, y, args):\n    return ledger.digest(args)\n\n\ndef step(x):\n    return diffrax.diffeqsolve(diffrax.ODETerm(field), args=Model(x))\n",
    "an optimiser that another is made of": "def step(x):\n    opt = optax.inject_hyperparams(ledger.make)(1e-3)\n    return opt.update(Model(x), opt.init(Model(x)))\n",
    "a mask of outside": "def step(x, mask):\n    opt = optax.masked(optax.sgd(0.1), mask)\n    return opt.update(Model(x), opt.init(Model(x)))\n",
    "the text of a failure": "def step(x):\n    net = Model(x)\n    assert x, f'{net}'\n",
    "a list or an object": "def step(x, store, small):\n    kept = [] if small else store\n    kept.put(Model(x))\n",
    "functions of outside, in a list": "def step(x, hooks):\n    for hook in [each for each in hooks]:\n        hook(Model(x))\n",
    "the class of a model": "def step(x):\n    return ledger.digest(type(Model(x))(x))\n",
    "a scan whose carry becomes a model": "def step(x):\n    def body(carry, y):\n        ledger.digest(carry)\n        return Model(y), y\n\n    return jax.lax.scan(body, None, x)\n",
    "await": "import asyncio\n\n\nasync def make(x):\n    return Model(x)\n\n\nasync def step(x):\n    net = await make(x)\n    return ledger.digest(net)\n",
}
NONE = {
    "nothing": "",
    "an attribute of an attribute without end": "import zoo\n\n\ndef step(x):\n    w = zoo.layers.weight\n    for _ in range(3):\n        w = w.T\n    return w\n",
    "a weight that computes what a function is given": (
        "from typing import Callable\n\n\nclass Head(eqx.Module):\n    last: eqx.nn.Linear\n"
        "    act: Callable = eqx.field(static=True)\n\n    def __call__(self, model, x):\n"
        "        return self.act(model.layers[0].linear.weight @ x)\n"
    ),
    "plain": "def step(x):\n    return loss(Model(x), x)\n",
    "numbers of layers": "def step(x):\n    for at, layer in enumerate(Model(x).layers):\n        print(f'{at}')\n",
    "losses of a scan": (
        "def step(xs):\n    def body(net, x):\n        value, grads = eqx.filter_value_and_grad(loss)(net, x)\n"
        "        return eqx.apply_updates(net, grads), value\n\n"
        "    net, losses = jax.lax.scan(body, Model(1), xs)\n    ledger.write(losses)\n    return net\n"
    ),
    "numbers": (
        "def step(x, log):\n    value, grads = eqx.filter_value_and_grad(loss)(Model(x), x)\n"
        "    log({'loss': value})\n    ledger.write(value)\n"
    ),
}


def is_silent(folder: Path, text: str) -> bool:
    found = plan(folder, "train.py", HEAD + text)
    return found.safe and not isinstance(found.stack, CallStack)


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_comes_to_a_library_is_not_silent(tmp_path: Path, way: str) -> None:
    assert not is_silent(tmp_path, WAYS[way])


@pytest.mark.parametrize("way", NONE)
def test_what_passes_no_model_is_safe(tmp_path: Path, way: str) -> None:
    assert is_silent(tmp_path, NONE[way])
