"""A module of the project may be asked for names that it does not bind (PEP 562): what it runs then, a layer runs."""

import pytest
from helpers import LOOP, only

from scanify.analysis.plan import Plan

MODEL = f"""\
{{imports}}
import equinox as eqx
import jax


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, key):
        self.linear = eqx.nn.Linear(4, 4, key=key)

    def __call__(self, x):
        {{within}}
        return x + {{read}} * self.linear(x)


class Net(eqx.Module):
    layers: list[Block]

    def __init__(self, key):
        self.layers = [Block(k) for k in jax.random.split(key, 5)]

    def __call__(self, x):
        {LOOP.replace(chr(10), chr(10) + " " * 8)}
        return x
"""
COUNTING = """\
ASKED = [1.0]
scale = 2.0


def __getattr__(name):
    {body}
    return len(ASKED)
"""
READS = {
    "an attribute": ("import config", "pass", "config.rate"),
    "an attribute of a module in a package": ("import pack.config", "pass", "pack.config.rate"),
    "under another name": ("import config as c", "pass", "c.rate"),
    "called": ("import config", "pass", "config.rate()"),
    "a part of it": ("import config", "pass", "config.model.rate"),
    "imported in the layer": ("", "from config import rate", "rate"),
    "a module that is imported in the layer": ("", "import config", "config.rate"),
}


def is_safe(name: str, body: str) -> bool:
    imports, within, read = READS[name]
    module = COUNTING.format(body=body)
    files = {"config.py": module, "pack/__init__.py": "", "pack/config.py": module}
    found = only(MODEL.format(imports=imports, within=within, read=read), files=files)
    return isinstance(found, Plan) and not found.obligations


@pytest.mark.parametrize("name", READS)
def test_one_that_counts_is_seen(name: str) -> None:
    assert not is_safe(name, "ASKED.append(name)")


def test_a_name_that_the_module_binds_asks_nobody() -> None:
    files = {"config.py": COUNTING.format(body="ASKED.append(name)")}
    found = only(MODEL.format(imports="import config", within="pass", read="config.scale"), files=files)
    assert isinstance(found, Plan) and not found.obligations
