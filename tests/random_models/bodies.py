"""The body of a loop: statements that a layer loop may hold, chosen by what its head binds and its layers take."""

import random

from tests.random_models.heads import Head
from tests.random_models.named import BODIES as NAMED

# Statements that every layer does alike.
PLAIN = [
    "h = layer.attend(x)\nx = x + h",
    "h: jax.Array = x * 2\nx = h - x",
    "x = (h := jnp.sin(x)) + h * h",
    "parts = [x, *(x * c for c in (0.5, 0.25))]\nx = sum(parts)",
    "f = lambda y, by=0.5: layer.norm(y) * by + x\nx = f(x)",
    "def f(y, by=0.5):\n    return layer.norm(y) * by + x\nx = f(x)",
    "def step(c, u):\n    c = layer.norm(c) + u * x\n    return c, c\nx, hs = jax.lax.scan(step, x, jnp.ones(2))",
    "@jax.checkpoint\ndef inner(y):\n    return layer.attend(y, mask)\nx = inner(x)",
    "def later(y):\n    return y + bias\nbias = layer.weight[0]\nx = later(x)",
    "if flag:\n    x = x * 0.5\nelse:\n    x = x + mask",
    "if not flag:\n    continue",
    "for u in range(2):\n    if u == 1:\n        break\n    x = x + u * mask",
    "x += mask",
    "x -= 0.1 * layer.weight[0]",
    "y = z = layer.norm(x)\nx = y + z",
    "x = squash(x)",
    "x = self.mix(x, mask)",
    "x = self.out(x)",
    "table = {'x': x}\ntable['x'] = table['x'] * 2\nx = table['x']",
    "options = dict(mask=mask)\nx = layer.attend(x, **options)",
    "x, *rest = x * 2, mask, mask\nx = x + rest[0]",
    "x = jax.vmap(lambda a, b: a * b)(x, mask)",
    "x = jax.checkpoint(lambda y: layer.norm(y))(x)",
    "x = functools.partial(layer.attend, mask=mask)(x)",
    "assert x.shape == mask.shape",
    "with jax.named_scope('inner'):\n    x = x * 1.5",
    "x = x.at[0].add(1.0)",
    "(x, h) = (x, x)\nx = x + h / len(self.layers)",
    "x = [layer(x) for _ in range(1)][0]",
    "s = s * 0.5 + x",
    "s, x = x, s",
    "if mask is None:\n    raise ValueError(mask)",
    "x = x * self.scale",
    "x = jax.lax.fori_loop(0, 2, lambda u, y: jnp.sin(y), x)",
    "x = jax.lax.cond(x[0] > 0, lambda y: y * 2, lambda y: y - 1, x)",
    "if self.taps:\n    x = x + 0.1",
    "total = total + jnp.sum(x)",
    "key, sub_key = (None, None) if key is None else jr.split(key)\nx = layer(x, key=sub_key)",
    "if key is not None:\n    key, sub_key = jr.split(key)\n    x = x + 0.1 * jr.normal(sub_key, x.shape)",
    "if layer.rate > 0.15:\n    x = x * 0.5",
    "x = x + float(layer.rate)",
    "if isinstance(layer, Gate):\n    x = x * 0.5",
    "x = layer.act(x)",
    "x = x if layer.drop.p == 0 else x * layer.drop.p",
    "outs.append(x)",
    "outs.append(layer.attend(x, mask))",
    "outs += [x * 2]",
    "tail.append(layer.attend(tail[-1], mask))",
    "tail += [layer(tail[-1]) * 0.5]\nx = x + tail[-1]",
    "tail = [*tail, x, tail[-1] + x]",
    "x = jnp.sin(tail[-1])\ntail.append(x)",
    "x = layer(x) if prev is None else layer(x) + prev\nprev = x",
    "final = layer.attend(x)\nx = x + final",
    "final, x = x * 2, layer(x)",
    "if flag:\n    final = jnp.sin(x)",
    "if mask is None:\n    break",
    "if not flag:\n    return x, s, state",
]
CALLS = [
    "x = layer(x)",
    "x = layer(x)",
    "x = layer(x, mask)",
    "x = layer(x, mask=mask * 2)",
    "x = layer(x, key=key)",
    "x = layer.attend(x)",
    "x = layer.attend(x, mask)",
    "x = x + layer(x) * 0.5",
    "x, s = layer.step(x, s)",
    "(x, s) = layer.step(x, s, 0.3)",
    "x = jax.vmap(layer, in_axes=1, out_axes=1)(jnp.stack([x, x], 1))[:, 0]",
    "x = eqx.filter_checkpoint(layer)(x, mask)",
    "x = eqx.filter_jit(layer)(x)",
]
BESIDE = {
    "name": NAMED,
    "k": [
        "x = x + k",
        "x = x - (k2 := k * 2)",
        "x = layer(x, k=k)",
        "f = lambda x, k=k: x + k\nx = f(x)",
        "x, s = layer.step(x, s, k)",
        "x = layer(x, k * 2)",
        "x = layer(x, mask, k=k)",
    ],
    "j": ["x = x * j"],
    "r": ["x = x * r", "x = layer(x) * r", "x = layer(x, k=r)", "x, s = layer.step(x, s, r)"],
    "norm": ["x = norm(x)", "x = layer(norm(x))", "x = x + layer(norm(x), mask)", "x = jax.vmap(norm)(x[None])[0]"],
    "sub": ["x = layer(x, key=sub)", "x = layer(x, mask, key=sub)", "x = x + layer(x, key=sub)"],
}
# Python values walked beside the layers that the code branches on.
STATIC = {
    "r": ["if r > 0.15:\n    x = x + mask", "x = x if r else -x"],
    "sub": ["if sub is not None:\n    x = x + 0.1 * jr.normal(sub, x.shape)"],
}
# `{i}` is the layer's place in the walk, and `i` what `enumerate` says.
COUNTED = [
    "if i % 2:\n    x = layer(x)\nelse:\n    x = layer.attend(x)",
    "if i in self.taps:\n    x = x + mask",
    "if {i} < {count} - 1:\n    x = jnp.tanh(x)",
    "if {i} == 0:\n    continue",
    "if {i} == self.half:\n    break",
    "x = layer(x)\nif {i} + 1 == {count}:\n    break",
    "last = {i} == {count} - 1\nif flag and last:\n    break",
    "if {i} > 2:\n    return x * 0.5, s, state",
    "if {i} < {count} - 1:\n    x = jnp.sin(x)\nelse:\n    return layer.attend(x), s, state",
    "if {i} == {count} - 1:\n    x = x * 2",
    "x = x * self.scales[{i}]",
    "x = x * self.table[{i}]",
    "x = x + ks[{i}]",
    "x = x + i",
    "x = layer(x) * i",
    "x = x * 0.5**i",
    "x = layer(x, key=None if key is None else jr.fold_in(key, i))",
    "if key is not None:\n    x = layer(x, key=jax.random.fold_in(key, i))",
    "x = layer(x, key=keys[{i}])",
    "x = self.norms[{i} % 2](x)",
    "x = self.norms[{i}](x) + layer(x)",
    "x = layer(x, **self.options.get(i, {{}}))",
    "with jax.named_scope(f'layer{{i}}'):\n    x = layer(x)",
    "x = jax.lax.cond(i % 2 == 0, jnp.sin, jnp.cos, x)",
    "h = x if {i} == 0 else h * 0.5 + x\nx = x + 0.1 * h",
    "x = (jnp.sin, jnp.cos)[i % 2](x)",
    "n = {i} + 1\nx = x / n",
    "x = layer(x, mask if i > 1 else None)",
    "x = x.at[i % 4].set(0.5)",
    "total = total + i * jnp.sum(x)",
    "if i == 1:\n    final = layer.attend(x)",
    "x, slots[{i}] = layer.step(x, slots[{i}])",
    "h = slots[{i}]\nx = x + h\nslots[{i}] = h * 0.5 + jnp.sin(x)",
    "slots[{i}] = x if slots[{i}] is None else slots[{i}] + x",
]
MATES = [
    "x = mate(x)",
    "x = x + mate(layer(x))",
    "x = jax.vmap(mate)(x[None])[0]",
    "for f in (layer, mate):\n    x = f(x)",
]
WIDE = ["x = jnp.tanh(x)", "x = x * 2", "h = x\nx = h * h", "x = jax.nn.relu(x)", "if flag:\n    x = -x"]
WIDE_COUNTED = [
    "if {i} == {count} - 1:\n    break",
    "if {i} < {count} - 1:\n    x = jnp.sin(x)",
    "x = x + i",
    "if i % 2:\n    x = x * self.scales[{i}]",
]
STATE = [
    "x = x * 2",
    "x, state = layer(x, state)",
    "h = jnp.sin(x)\nx = x + h",
    "if flag:\n    x = x * 0.5",
    "s = s + x",
]
STATE_COUNTED = ["if {i} == 2:\n    break", "if i % 2:\n    x = x * 0.5", "x = x * self.scales[{i}]", "x = x + i"]
# What a scan would get wrong, or could not do.
HAZARDS = [
    "print('layer')\n",
    "x = noisy(x)",
    "x = jax.vmap(noisy)(x)",
    "CALLS.append('x')",
    "log['n'] = log['n'] + 1",
    "mine = log\nmine['n'] = mine['n'] + 1",
    "log['all'].pop()",
    "x = x + log['all'].pop()",
    "if layer is self.layers[-1]:\n    x = x * 0",
    "if layer is not self.layers[0]:\n    x = x + 1",
    "if id(layer) == id(self.layers[1]):\n    x = x + 1",
    "if float(x[0]) > 0.0:\n    break",
    "try:\n    x = layer(x)\nexcept TypeError:\n    pass",
    "x = x + log['rng'].normal()",
    "x = x + next(log['counter'])",
    "x = x + log['counter'].__next__()",
    "count = count + 1\nx = x * count",
    "array += 1.0\nx = x + array",
    "last = x",
    "grown = grown + [x]\nx = x + len(grown)",
    "self_ = self\nx = x + see()",
    "del h\n",
    "if len(grown) < 2:\n    grown.append(x)",
    "grown.append(grown[-1] * 0.5)\nx = x + grown[0]",
    "grown[-1] = x\ngrown.append(grown[-1] * 0.5)\nx = grown[-1]",
    "x = (lambda: grown[-1])() + x\ngrown.append(x)",
    "x = x + grown.pop()\ngrown.append(grown[-1] if grown else x)",
    "i = 1\nx = x + i",
    "layer = layer.norm\nx = layer(x)",
    "global COUNT\nCOUNT = COUNT + 1\nx = x * COUNT",
    "x = x + sum(1 for one in self.layers if one is layer)",
    "x = x + hash(layer.act) % 2",
    "log['n'] += 1\nx = x * log['n']",
    "seen = log.setdefault('seen', [])\nseen.append(1)\nx = x * len(seen)",
    "if any(layer is one for one in log['all']):\n    x = x + 1",
    "x = (lambda: (CALLS.append('y'), x)[1])()",
    "setattr(squash, 'calls', getattr(squash, 'calls', 0) + 1)\nx = x * squash.calls",
]


def random_body(pick: random.Random, family: str, head: Head) -> list[str]:
    """The statements of a body without hazards, in order."""
    if family == "wide":
        own, counted, calls = WIDE, WIDE_COUNTED, ["x = layer(x)", "x = layer(x)", "h = layer(x)\nx = h * 0.5"]
    elif family in ("state", "normed"):
        own, counted, calls = STATE, STATE_COUNTED, ["x, state = layer(x, state)", "(x, state) = layer(x, state)"]
    else:
        own, counted, calls = PLAIN, COUNTED, CALLS
    body = pick.sample(own, pick.choices([0, 1, 2, 3], [5, 5, 3, 1])[0])
    if head.index is not None:
        body += pick.sample(counted, pick.choices([0, 1, 2], [1, 6, 2])[0])
    if family == "pair":
        body += pick.sample(MATES, pick.choice([1, 1, 2]))
    for name in sorted(head.names) if family in ("plain", "pair") else ():
        if pick.random() < 0.7:
            body.append(pick.choice(BESIDE[name] + STATIC.get(name, []) if pick.random() < 0.3 else BESIDE[name]))
    pick.shuffle(body)
    body.insert(pick.randrange(len(body) + 1) if pick.random() < 0.2 else len(body), pick.choice(calls))
    return body


def written(statement: str, head: Head) -> str:
    """A statement with the head's index in it."""
    if statement not in COUNTED + WIDE_COUNTED + STATE_COUNTED:
        return statement
    return statement.format(i=head.index, count=head.count)
