"""What is computed of the number of a layer, in all ways that people write, is another value for each layer."""

import pytest
from helpers import decide

from scanify.analysis.plan import Plan

CODE = """\
import functools, itertools, math, operator, types, collections, enum
import equinox as eqx, jax, jax.numpy as jnp, jax.random as jr, numpy as np
from dataclasses import dataclass, replace
from typing import NamedTuple

class Cfg(NamedTuple):
    rate: float = 0.0
    depth: int = 4

@dataclass(frozen=True)
class Opt:
    rate: float = 0.0
    act: str = "gelu"

class Kind(enum.Enum):
    A = 0
    B = 1

def half(i, n=4):
    return i / n

def make_rate(i):
    def inner():
        return i * 0.1
    return inner

def gen_rates(n):
    for i in range(n):
        yield i * 0.1

@functools.lru_cache
def cached(i):
    return i * 0.1

class Schedule:
    def __init__(self, n):
        self.n = n
    def __call__(self, i):
        return i / self.n
    def __getitem__(self, i):
        return i / self.n
    def at(self, i):
        return i / self.n

class Block(eqx.Module):
    w: jax.Array
    rate: object = eqx.field(static=True)
    def __init__(self, d, rate, key):
        self.w = jr.normal(key, (d, d))
        self.rate = rate
    @classmethod
    def of(cls, d, rate, key):
        return cls(d, rate, key)
    @staticmethod
    def rate_of(i):
        return i * 2
    def __call__(self, x):
        return self.w @ x

class Net(eqx.Module):
    layers: list[Block]
    def __init__(self, d, n, key, acts=("gelu", "relu"), sched=None):
        keys = jr.split(key, n)
        rates = [0.1 * j for j in range(n)]
        it = iter(rates)
        tab = {{0: 1}}
        reduce_ = lambda a: a * 2
        self.layers = [Block(d, {value}, k) for i, k in enumerate(keys)]
    def __call__(self, x):
        for l in self.layers:
            x = l(x)
        return x
"""
OF_THE_NUMBER = [
    "i",
    "i * 0.1",
    "half(i)",
    "half(n, i)",
    "max(i, 2)",
    "min(1, i)",
    "i // 2",
    "i % 2",
    "i == 0",
    "i > 0 and 0.1",
    "(0.1, 0.2)[i > 1]",
    "[0.1] * i",
    "(0.1,) * i",
    "'a' * i",
    "str(i)",
    "f'layer{i}'",
    "'layer' + str(i)",
    "'layer%d' % i",
    "'l{}'.format(i)",
    "getattr(jax.nn, acts[i % 2])",
    "getattr(jnp, 'sin' if i else 'cos')",
    "functools.partial(half, i)",
    "functools.partial(half, n=i)",
    "make_rate(i)",
    "make_rate(i)()",
    "lambda: i",
    "(lambda j: j * 2)(i)",
    "types.SimpleNamespace(rate=i)",
    "Cfg(i)",
    "Cfg(rate=i)",
    "Cfg()._replace(rate=i)",
    "Opt(i)",
    "replace(Opt(), rate=i)",
    "Kind(i % 2)",
    "list(Kind)[i % 2]",
    "Kind.A if i else Kind.B",
    "next(itertools.islice(gen_rates(n), i, None))",
    "list(gen_rates(n))[i]",
    "cached(i)",
    "Schedule(n)(i)",
    "Schedule(n)[i]",
    "Schedule(n).at(i)",
    "Block.rate_of(i)",
    "math.sqrt(i)",
    "operator.mul(i, 2)",
    "np.linspace(0, 1, n)[i]",
    "float(np.linspace(0, 1, n)[i])",
    "np.linspace(0, 1, n).tolist()[i]",
    "(np.arange(n) * 0.1).tolist()[i]",
    "tuple(range(i))",
    "{'rate': i}",
    "{i: 1}",
    "{i}",
    "frozenset([i])",
    "(i, n)",
    "[i, n]",
    "dict(rate=i)",
    "sched(i)",
    "sched[i]",
    "sched.rate(i)",
    "bool(i)",
    "int(i)",
    "float(i)",
    "complex(i)",
    "-i",
    "not i",
    "~i",
    "i if i else None",
    "i or 1",
    "n - i",
    "n ** i",
    "2 ** i",
    "divmod(i, 2)[1]",
    "sum(range(i))",
    "len(range(i))",
    "len('a' * i)",
    "list(range(n))[i]",
    "sorted(range(n))[-i]",
    "[r for r in range(n)][i]",
    "{r: r for r in range(n)}[i]",
    "dict(enumerate(acts)).get(i)",
    "collections.ChainMap({'a': i})['a']",
    "np.int32(i)",
    "jnp.float32(i)",
    "type('T', (), {'i': i})",
    "slice(i)",
    "range(i)",
    "bytes(i)",
    "chr(i)",
    "hash(i)",
    "abs(i)",
    "round(i, 2)",
    "pow(i, 2)",
    "isinstance(i, int)",
    "i.__add__(1)",
    "i.bit_length()",
    "(i).real",
    "print(i)",
    "rates[i]",
    "rates.pop()",
    "next(it)",
    "tab.get(i, 0)",
    "reduce_(i)",
    "0.1 if i in (1, 2) else 0.2",
    "0.1 if i is not None else i",
    "[*range(i)]",
    "{**{'a': i}}",
    "(j := i)",
    "i < 2 < n",
    "i in acts",
    "'a' if i else 'b'",
    "acts[i]",
    "acts[i % len(acts)]",
    "acts[-1] if i == n - 1 else acts[0]",
    "functools.reduce(operator.add, range(i + 1))",
    "itertools.count(i)",
    "eqx.nn.Dropout(i * 0.1)",
    "eqx.nn.Lambda(lambda x: x * i)",
    "jax.tree.map(lambda r: r * i, 1)",
    "jax.nn.gelu if i else jax.nn.relu",
    "{0: jax.nn.gelu}.get(i, jax.nn.relu)",
    "np.random.default_rng(i).random()",
    "any(j == i for j in (1, 2))",
    "all((i, 1))",
    "zip(range(i), range(i))",
    "np.prod([i, 2])",
    "math.prod((i, 2))",
    "math.comb(n, i)",
]
OF_ALL = [
    "0.1",
    "n",
    "d",
    "acts",
    "acts[0]",
    "jax.nn.gelu",
    "Kind.A",
    "str(n)",
    "n // 2",
    "math.sqrt(d)",
    "tuple(range(n))",
    "sched",
    "len(acts)",
    "max(d, 4)",
    "(d, n)",
    "rates[0]",
]


def are_alike(value: str) -> bool:
    found = next(each for each in decide(CODE.format(value=value)) if each.container == "self.layers")
    return isinstance(found, Plan) and found.rule == "SCN101" and found.safe


@pytest.mark.parametrize("value", OF_THE_NUMBER)
def test_what_is_made_of_a_number_differs_between_layers(value):
    assert not are_alike(value)


@pytest.mark.parametrize("value", OF_ALL)
def test_what_is_made_of_what_all_have_does_not(value):
    assert are_alike(value)
