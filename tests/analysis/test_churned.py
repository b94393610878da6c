"""Objects that the constructors of layers change or draw from are other ones for each layer."""

import pytest
from helpers import decide

from scanify.analysis.plan import Plan
from scanify.analysis.stack import InitStack

CODE = """\
import collections
import heapq
import operator
import random
from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.random as jr
import numpy as np

TABLE = {{"n": 4}}
POOL = [1, 2, 3]
COUNT = 0
rng = np.random.default_rng(0)
other = random.Random(3)


@dataclass
class Config:
    n: int = 4
    sizes: list = field(default_factory=lambda: [1, 2, 3])
    extra: dict = field(default_factory=dict)

    def take(self):
        self.n -= 1
        return self.n


class Block(eqx.Module):
    w: jax.Array
    act: object = eqx.field(static=True)

    def __init__(self, d, opt, key):
        self.w = jr.normal(key, (d, d))
        {body}

    def __call__(self, x):
        return self.w @ x + self.act


{asked}def hands_out(value):
    def step():
        nonlocal value
        now, value = value, value // 2
        return now

    def grown():
        nonlocal value
        return (value := value + 1)

    def looped():
        nonlocal value
        for value in [value + 1]:
            pass
        return value

    return {{"step": step, "grown": grown, "looped": looped, "told": lambda: value}}


def taking(**options):
    options.pop("bias", None)
    return 3


def named():
    named.n = named.n + 1
    return named.n


named.n = 0


def counting(function):
    def inner():
        inner.n += 1
        return function(inner.n)

    inner.n = 0
    return inner


@counting
def numbered(n):
    return 2 * n


def counted():
    global COUNT
    now, COUNT = COUNT, COUNT + 1
    return now


class Net(eqx.Module):
    layers: list[Block]

    def __init__(self, d, n, key):
        opt = {opt}
        {make}

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
ASKED = """\
class Asked:
    def __init__(self):
        self.n = 1

    def __float__(self):
        self.n += 1
        return float(self.n)

    def __bool__(self):
        self.n += 1
        return self.n % 2 == 0

    def __contains__(self, other):
        self.n += 1
        return self.n > other

    def __eq__(self, other):
        self.n += 1
        return self.n == other

    def __format__(self, how):
        self.n += 1
        return str(self.n)

    def __getattr__(self, name):
        self.n += 1
        return self.n


"""
MAKES = {
    "a comprehension": "self.layers = [Block(d, opt, k) for k in jr.split(key, n)]",
    "a loop": "self.layers = []\n        for k in jr.split(key, n):\n            self.layers.append(Block(d, opt, k))",
}
CHANGES = [
    ("{'n': 4}", "self.act = opt['n']; opt['n'] = opt['n'] // 2"),
    ("{'n': 4}", "self.act = opt['n']; opt['n'] -= 1"),
    ("{'n': 4}", "self.act = opt.setdefault('m', 3); opt['m'] += 1"),
    ("{'n': 4}", "self.act = opt.pop('n', 0)"),
    ("{'n': 4}", "self.act = opt['n']; opt.update(n=opt['n'] + 1)"),
    ("{}", "self.act = len(opt); opt[len(opt)] = 1"),
    ("dict(n or {})", "self.act = opt['n']; opt['n'] -= 1"),
    ("n", "self.act = opt['n']; opt['n'] = 3"),
    ("n", "self.act = opt.width; opt.width += 3"),
    ("[3, 2, 1]", "self.act = opt.pop()"),
    ("[3, 2, 1]", "self.act = opt[0]; opt.reverse()"),
    ("[3, 2, 1]", "self.act = len(opt); opt.append(1)"),
    ("[3, 2, 1]", "self.act = opt[0]; opt[0] += 1"),
    ("Config()", "self.act = opt.n; opt.n -= 1"),
    ("Config()", "self.act = opt.take()"),
    ("Config()", "self.act = opt.sizes.pop()"),
    ("Config()", "self.act = opt.extra.get('a', 0); opt.extra['a'] = self.act + 1"),
    ("None", "self.act = TABLE['n']; TABLE['n'] += 1"),
    ("None", "self.act = len(POOL); POOL.append(1)"),
    ("None", "global COUNT; self.act = COUNT; COUNT += 1"),
    ("None", "self.act = counted()"),
    ("hands_out(8)['step']", "self.act = opt()"),
    ("hands_out(8)['grown']", "self.act = opt()"),
    ("hands_out(8)['looped']", "self.act = opt()"),
    ("hands_out(8)", "self.act = opt['told'](); opt['step']()"),
    ("Asked()", "self.act = float(opt)"),
    ("Asked()", "self.act = 2 if opt else 3"),
    ("Asked()", "self.act = 3 in opt"),
    ("Asked()", "self.act = opt == 3"),
    ("Asked()", "self.act = f'{opt}'"),
    ("Asked()", "self.act = opt.now"),
    ("zip([1, 2, 3])", "self.act = next(opt)[0]"),
    ("None", "self.act = named()"),
    ("None", "self.act = numbered()"),
    ("None", "self.act = len(POOL + [POOL.append(1)])"),
    ("[1, 2, 3]", "self.act = heapq.heappop(opt)"),
    ("[1, 2, 3]", "random.shuffle(opt); self.act = opt[0]"),
    ("[1]", "operator.setitem(opt, 0, 2 * opt[0]); self.act = opt[0]"),
    ("[]", "operator.iadd(opt, [1]); self.act = len(opt)"),
    ("np.ones(1)", "np.copyto(opt, opt / 2); self.act = float(opt[0])"),
    ("np.ones(1)", "np.multiply(opt, 0.5, out=opt); self.act = float(opt[0])"),
    ("np.ones(1)", "opt.fill(opt[0] / 2); self.act = float(opt[0])"),
    ("None", "self.act = Block.total; Block.total = Block.total + 1"),
    ("collections.deque([1, 2, 3])", "self.act = opt.popleft()"),
    ("np.array([3, 2])", "self.act = int(opt[0]); opt[0] -= 1"),
    ("np.array([3, 2])", "self.act = int(opt[0]); opt += 1"),
    ("None", "self.act = tuple(rng.permutation(d).tolist())"),
    ("None", "self.act = float(rng.uniform())"),
    ("None", "self.act = other.choice(['sin', 'cos'])"),
]
KEEPS = [
    ("{'n': 4}", "self.act = opt['n']"),
    ("[3, 2, 1]", "self.act = len(opt)"),
]


def is_one_stack(opt: str, body: str, make: str) -> bool:
    body, asked = body.replace("; ", "\n        "), ASKED if "Asked" in opt else ""
    found = next(
        each
        for each in decide(CODE.format(opt=opt, body=body, make=make, asked=asked))
        if each.container == "self.layers"
    )
    return isinstance(found, Plan) and found.rule == "SCN101" and isinstance(found.stack, InitStack)


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
@pytest.mark.parametrize(("opt", "body"), CHANGES)
def test_layers_that_find_it_changed_are_not_alike(opt, body, make):
    assert not is_one_stack(opt, body, make)


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
@pytest.mark.parametrize(("opt", "body"), KEEPS)
def test_layers_that_change_nothing_are_alike(opt, body, make):
    assert is_one_stack(opt, body, make)


READ_BEFORE = """\
import equinox as eqx
import jax
import jax.random as jr

TABLE = {{"n": 4}}


class Config:
    def __init__(self):
        self.n = 4


def of(opt):
    return {read}


def through(opt):
    return of(opt)


def changed(opt, i):
    opt[0] = 0.1 * i


class Block(eqx.Module):
    w: jax.Array
    scale: float = eqx.field(static=True)

    def __init__(self, d, scale, key):
        self.w = jr.normal(key, (d, d))
        self.scale = scale

    def __call__(self, x):
        return self.w @ x * self.scale


class Reading(Block):
    def __init__(self, d, opt, key):
        super().__init__(d, through(opt), key)


class Net(eqx.Module):
    layers: list[Block]

    def __init__(self, d, key):
        opt = {opt}
        before = {before}
        self.layers = []
        for i, k in enumerate(jr.split(key, 4)):
            self.layers.append({make})
            {write}

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def is_one_stack_after(read: str, opt: str, before: str, make: str, write: str) -> bool:
    code = READ_BEFORE.format(read=read, opt=opt, before=before, make=make, write=write)
    found = next(each for each in decide(code) if each.container == "self.layers")
    return isinstance(found, Plan) and found.rule == "SCN101" and isinstance(found.stack, InitStack)


@pytest.mark.parametrize(
    ("read", "opt", "write"),
    [
        ("opt['n']", "{'n': 4}", "opt['n'] = 0.1 * i"),
        ("opt.get('n', 0)", "{'n': 4}", "opt.update(n=0.1 * i)"),
        ("opt[0]", "[4, 2]", "changed(opt, i)"),
        ("opt[0]", "[4, 2]", "changed(i=i, opt=opt)"),
        ("opt.n", "Config()", "opt.n = 0.1 * i"),
        ("TABLE['n']", "None", "TABLE['n'] = 0.1 * i"),
    ],
)
@pytest.mark.parametrize(
    ("before", "make"),
    [
        ("of(opt)", "Block(d, of(opt), k)"),
        ("[of(opt) for _ in range(3)]", "Block(d, through(opt), k)"),
        ("Reading(d, opt, key)", "Reading(d, opt, k)"),
    ],
)
def test_layers_that_find_an_argument_changed_are_not_alike(read, opt, write, before, make):
    assert not is_one_stack_after(read, opt, before, make, write)
