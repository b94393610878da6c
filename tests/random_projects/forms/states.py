"""Loops that carry or collect more than `x`: hidden states, caches, running sums, training beside decoding."""

from tests.random_projects.forms.form import Form, tags

_ALL = tags("statement simple elastic method")
_CACHED = {
    "call": "b(x, cache, pos)",
    "signature": ", cache, pos",
    "enter": "cache = cache.at[pos].set(x)\nx = x + jnp.mean(cache, 0)",
    "gives": "Y, cache",
    "arguments": (("caches", "jnp.ones((N, 3, 4))"), ("pos", "jnp.asarray(1)")),
}


def _collect(name: str, start: str, add: str, end: str, kinds: frozenset[str] = _ALL) -> Form:
    loop = f"for b in self.BLOCKS:#@\n    @first\n{add}\n    @last"
    return Form(name, f"@before\n{start}\n{loop}\n@after\nreturn {end}", kinds)


def _cache(name: str, loop: str, kinds: str = "statement method") -> Form:
    return Form(name, f"@before\nkept = []\n{loop}\n    @last\n@after\nreturn x, kept", tags(kinds), **_CACHED)  # type: ignore[arg-type]


STATES = (
    _collect("collect", "hidden = []", "    x = BODY\n    hidden.append(x)", "x, jnp.stack(hidden)"),
    _collect("collect by +=", "hidden = []", "    x = BODY\n    hidden += [x]", "x, hidden"),
    _collect("collect in a tuple", "hidden = ()", "    x = BODY\n    hidden = hidden + (x,)", "hidden"),
    _collect("collect before", "hidden = []", "    hidden.append(x)\n    x = BODY", "x, jnp.stack(hidden)"),
    Form(
        "optional collect",
        (
            "@before\nhidden = [] if keep else None\nfor b in self.BLOCKS:#@\n    @first\n    x = BODY\n    if keep:\n"
            "        hidden.append(x)\n    @last\n@after\nreturn (x, hidden) if keep else x"
        ),
        tags("elastic method"),
        arguments=(("keep", "True"),),
    ),
    Form(
        "collect by name",
        "@before\nhidden = {}\nfor i, b in enumerate(self.BLOCKS):#@\n    @first\n    x = BODY\n    hidden[f'layer{i}'] = x\n    @last\n@after\nreturn x, hidden",
        _ALL,
    ),
    _cache(
        "cache",
        "for b, cache in zip(self.BLOCKS, caches):#@\n    @first\n    x, cache = b(x, cache, pos)\n    kept.append(cache)",
    ),
    _cache(
        "cache, counted",
        "for i, (b, cache) in enumerate(zip(self.BLOCKS, caches)):#@\n    @first\n    x, cache = b(x, cache, pos)\n    kept.append(cache * i)",
    ),
    _cache(
        "cache under a new name",
        "for b, old in zip(self.BLOCKS, caches):#@\n    @first\n    x, new = b(x, old, pos)\n    kept.append(new)",
    ),
    _cache(
        "cache by number",
        "for i, b in enumerate(self.BLOCKS):#@\n    @first\n    x, new = b(x, caches[i], pos)\n    kept.append(new)",
    ),
    Form(
        "state",
        "@before\ns = jnp.zeros(4)\nfor b in self.BLOCKS:#@\n    @first\n    x, s = b(x, s)\n    @last\n@after\nreturn x, s",
        tags("statement elastic method"),
        call="b(x, s)",
        signature=", s",
        enter="s = 0.5 * s + jnp.cos(x)\nx = x + s",
        gives="Y, s",
    ),
    Form(
        "sum of losses",
        "@before\nlosses = 0.0\nfor b in self.BLOCKS:#@\n    @first\n    x, loss = b(x)\n    losses = losses + loss\n    @last\n@after\nreturn x, losses",
        tags("statement elastic method"),
        gives="Y, jnp.mean(x**2)",
    ),
    Form(
        "residual stream",
        "@before\nh, residual = x, jnp.zeros(4)\nfor b in self.BLOCKS:#@\n    @first\n    h, residual = b(h, residual)\n    @last\n@after\nreturn h + residual",
        tags("elastic method"),
        call="b(h, residual)",
        signature=", residual",
        enter="residual = residual + x\nx = jnp.tanh(residual)",
        gives="Y, residual",
    ),
    *(
        Form(
            "training and decode",
            (
                "@before\nif cache is None:\n    for b in self.BLOCKS:#@\n        @first\n        x = b(x)\n        @last\n"
                f"    return x\nkept = []\nfor b, {old} in zip(self.BLOCKS, cache):#@\n    x, {new} = b.step(x, {old})\n    kept.append({new})\n"
                "@after\nreturn x, jnp.stack(kept)"
            ),
            tags("statement method step"),
            arguments=(("cache", "jnp.ones((N, 4))"),),
        )
        for old, new in (("c", "c"), ("c", "c"), ("old", "new"))
    ),
)
