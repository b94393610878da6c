"""Readers far from the model: behind decorators, tables, generators, getters, and names in a third module."""

from pathlib import Path

import pytest

from scanify.analysis.stack import CallStack
from tests.texts import texts
from tests.watchers.test_plans import plan

HEAD = """\
import contextlib
import functools
import operator

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from model import Model


def loss(model, x):
    return jnp.sum(model(x))


"""
UNIT = "lambda g: g / (1e-6 + jnp.linalg.norm(g))"
FAR = {
    "a library that an attribute holds": {
        "train.py": (
            f"{HEAD}class Kit:\n    def __init__(self):\n        self.lib = jax\n\n"
            f"    def step(self, model, x):\n        return self.lib.tree.map({UNIT}, eqx.filter_grad(loss)(model, x))\n"
        )
    },
    "a library that is an argument": {
        "train.py": (
            f"{HEAD}def step(lib, model, x):\n    return lib.tree.map({UNIT}, eqx.filter_grad(loss)(model, x))\n\n\n"
            "step(jax, Model(1), 2)\n"
        )
    },
    "an alias of a third module, in a decorator": {
        "kit.py": "from jax import tree_util as forest\n\nover = forest.tree_map\n",
        "deco.py": (
            "import jax.numpy as jnp\n\nimport kit\n\n\ndef normed(step):\n    def inner(model, x):\n"
            f"        return kit.over({UNIT}, step(model, x))\n\n    return inner\n"
        ),
        "train.py": f"{HEAD}from deco import normed\n\n\n@normed\ndef step(model, x):\n    return eqx.filter_grad(loss)(model, x)\n",
    },
    "a partial with keywords, kept in an attribute": {
        "train.py": (
            f"{HEAD}def report(*, by, tree):\n    return by(tree)\n\n\nclass Run:\n    def __init__(self, by):\n"
            "        self.hook = functools.partial(report, by=by)\n\n    def go(self, x):\n"
            "        return self.hook(tree=Model(x))\n\n\nRun(eval('f')).go(1)\n"
        )
    },
    "a dict of functions, with the model in it": {
        "train.py": (
            f"{HEAD}def step(x, report):\n    kept = {{'model': Model(x), 'report': report}}\n"
            "    return kept['report'](kept['model'])\n"
        )
    },
    "a lambda that another function calls": {
        "tools.py": "def twice(f, value):\n    return f(f(value))\n",
        "train.py": f"{HEAD}import torch_like\nfrom tools import twice\n\n\ndef step(x):\n    return twice(lambda m: torch_like.sorted(m), Model(x))\n",
    },
    "a method that is called by its name": {
        "train.py": f"{HEAD}def step(x, bank):\n    return operator.methodcaller('fold', Model(x))(bank)\n"
    },
    "a getter of many": {
        "train.py": f"{HEAD}def step(x, names):\n    return operator.attrgetter(*names)(Model(x))\n",
    },
    "a generator that yields gradients": {
        "flows.py": "def each(grads):\n    for grad in grads:\n        yield grad\n",
        "train.py": (
            f"{HEAD}import shelf\nfrom flows import each\n\n\ndef step(model, x):\n"
            "    for grads in each([eqx.filter_grad(loss)(model, x)]):\n        shelf.store(grads)\n"
        ),
    },
    "a class that is called": {
        "train.py": (
            f"{HEAD}import ledger\n\n\nclass Report:\n    def __init__(self, sink):\n        self.sink = sink\n\n"
            "    def __call__(self, model):\n        self.sink.write(ledger.digest(model))\n\n\n"
            "def step(x, sink):\n    report = Report(sink)\n    report(Model(x))\n"
        )
    },
    "a heir of the class that is annotated": {
        "train.py": (
            f"{HEAD}import ledger\n\n\nclass Report:\n    def __call__(self, model):\n        return 0\n\n\n"
            "class Digest(Report):\n    def __call__(self, model):\n        return ledger.digest(model)\n\n\n"
            "def step(x, report: Report):\n    return report(Model(x))\n"
        )
    },
    "a context that has the model": {
        "train.py": (
            f"{HEAD}import ledger\n\n\n@contextlib.contextmanager\ndef opened(x):\n    yield Model(x)\n\n\n"
            "def step(x):\n    with opened(x) as net:\n        return ledger.digest(net)\n"
        )
    },
    "a method of another method's name": {
        "train.py": (
            f"{HEAD}import ledger\n\n\nclass Book:\n    def keep(self, item):\n        return ledger.digest(item)\n\n\n"
            "BOOKS = {'a': Book()}\n\n\ndef step(x, name):\n    return BOOKS[name].keep(Model(x))\n"
        )
    },
    "a global that a loop binds": {
        "train.py": f"{HEAD}import ledger\n\nfor hook in (ledger.digest, ledger.count):\n    print(hook(Model(1)))\n"
    },
    "an unpacked model": {
        "train.py": f"{HEAD}import ledger\n\n\ndef step(x):\n    first, *rest = [Model(x), Model(x)]\n    return ledger.digest(*rest)\n"
    },
    "keywords that are passed on": {
        "train.py": (
            f"{HEAD}import ledger\n\n\ndef log(**values):\n    return ledger.digest(**values)\n\n\n"
            "def step(x):\n    return log(loss=1, net=Model(x))\n"
        )
    },
    "an optimiser of a factory of another package": {
        "opts.py": "import newton\n\n\ndef make(rate):\n    return newton.second_order(rate)\n",
        "train.py": (
            f"{HEAD}from opts import make\n\n\ndef step(model, x):\n    opt = make(0.1)\n"
            "    state = opt.init(eqx.filter(model, eqx.is_array))\n"
            "    return opt.update(eqx.filter_grad(loss)(model, x), state)\n\n\nstep(Model(1), 2)\n"
        ),
    },
    "a scan that has its arguments early": {
        "train.py": (
            f"{HEAD}import ledger\n\n\ndef body(model, x):\n    return ledger.digest(model), x\n\n\n"
            "def step(x):\n    return functools.partial(jax.lax.scan, body, Model(x))(x)\n"
        )
    },
    "a scan that names its arguments": {
        "train.py": (
            f"{HEAD}import ledger\n\n\ndef body(model, x):\n    return ledger.digest(model), x\n\n\n"
            "def step(x):\n    return jax.lax.scan(xs=x, init=Model(x), f=body)\n"
        )
    },
    "a function that runs at the end": {
        "train.py": (
            f"{HEAD}import atexit\nimport ledger\n\n\ndef last(model):\n    ledger.digest(model)\n\n\n"
            "def step(x):\n    atexit.register(last, Model(x))\n"
        )
    },
    "a key by which models are sorted": {
        "train.py": f"{HEAD}import ledger\n\n\ndef step(x):\n    return sorted([Model(x)], key=ledger.digest)\n"
    },
    "a store that the class of a library has": {
        "train.py": (
            f"{HEAD}from runner import Runner\n\n\nclass Run(Runner):\n    def go(self, x):\n"
            "        self.store.put(Model(x))\n"
        )
    },
    "a method of the class above": {
        "train.py": (
            f"{HEAD}import ledger\n\n\nclass Base:\n    def keep(self, item):\n        ledger.digest(item)\n\n\n"
            "class Run(Base):\n    def go(self, x):\n        super().keep(Model(x))\n"
        )
    },
    "code in a text": {
        "train.py": f"{HEAD}import ledger\n\n\ndef step(x):\n    net = Model(x)\n    return eval('ledger.digest(net)')\n"
    },
    "all names of a function": {
        "train.py": f"{HEAD}import ledger\n\n\ndef step(x):\n    net = Model(x)\n    return ledger.digest(**locals())\n"
    },
    "a script that names no library and no model": {
        "build.py": "from model import Model\n\n\ndef make(x):\n    return Model(x)\n",
        "start.py": "from build import make\n\n\ndef begin(x):\n    return make(x)\n",
        "run.py": "import ledger\nfrom start import begin\n\nledger.digest(begin(1))\n",
    },
    "a function that another takes the place of": {
        "tools.py": "def report(model):\n    return model\n",
        "train.py": f"{HEAD}import ledger\nimport tools\n\ntools.report = ledger.digest\n\n\ndef step(x):\n    return tools.report(Model(x))\n",
    },
    "a hook that is None at first": {
        "tools.py": "report = None\n",
        "train.py": f"{HEAD}import ledger\nimport tools\n\ntools.report = ledger.digest\n\n\ndef step(x):\n    return tools.report(Model(x))\n",
    },
    "an operator": {
        "train.py": (
            f"{HEAD}import ledger\n\n\nclass Pipe:\n    def __init__(self, f):\n        self.f = f\n\n"
            "    def __ror__(self, left):\n        return self.f(left)\n\n\n"
            "def step(x):\n    return Model(x) | Pipe(ledger.digest)\n"
        )
    },
    "a name that is set by text": {
        "train.py": (
            f"{HEAD}import ledger\n\n\nclass Run:\n    pass\n\n\ndef step(x):\n    run = Run()\n"
            "    setattr(run, 'net', Model(x))\n    return ledger.digest(run.net)\n"
        )
    },
}


@pytest.mark.parametrize("name", FAR)
def test_a_reader_far_from_the_model_is_named(tmp_path: Path, name: str) -> None:
    for file, text in FAR[name].items():
        (tmp_path / file).write_text(text)
    found = plan(tmp_path)
    if not isinstance(found.stack, CallStack):
        assert not found.safe and texts(found.elsewhere)
