"""Features of versions that show along some directions, in some batches, for rare keys or at some points alone.

Most of them are not seen by running a version as it stands.
"""

from tests.soundness.versions.features import Parts, feature

FROZEN = """
@eqx.filter_custom_vjp
def frozen(given):
    w, b, z = given
    return w * z + b


frozen.def_fwd(lambda perturbed, given: (given[0] * given[2] + given[1], None))


@frozen.def_bwd
def frozen_bwd(kept, ct, perturbed, given):
    w, b, z = given
    return (2.0 if {0} else 1.0) * ct * z, ct, ct * w
"""
UNREAD = """
@jax.custom_vjp
def unread(z, by):
    return z * by, z + by


def unread_bwd(kept, cts):
    z, by = kept
    read = [not isinstance(ct, jax.custom_derivatives.SymbolicZero) for ct in cts]
    one, other = (ct if reads else 0.0 * z for ct, reads in zip(cts, read))
    return (2.0 if {0} else 1.0) * (one * by + other), one * z + other


unread.defvjp(
    lambda z, by: ((z.value * by.value, z.value + by.value), (z.value, by.value)), unread_bwd, symbolic_zeros=True
)
"""
BATCHED = """
def ruled(plain, rule):
    made = jax.custom_batching.custom_vmap(plain)
    made.def_vmap(lambda size, given, *args: (rule(size, given, *args), True))
    return made


def spread(given, args):
    return [z if moved else z[None] for z, moved in zip(args, given)]


def forwards(function):
    made = jax.custom_vjp(lambda z, by: function(z, by))
    made.defvjp(lambda z, by: (function(z, by), (z, by)), lambda kept, ct: (ct * kept[1], ct * kept[0]))
    return made


"""


@feature("a derivative that reads what is frozen", seen=False)
def reads_frozen(value: int, spelling: int) -> Parts:
    when = "False", "perturbed[0] and not perturbed[1]", "perturbed[0] and not perturbed[1] and not perturbed[2]"
    end = "out = frozen((self.layers[0].w[0], self.layers[0].b, x0)) + out"
    fields, init = "b: jax.Array", "self.b = jax.random.normal(key, (3,))"
    return Parts(top=FROZEN.format(when[value]), fields=fields, init=init, end=end)


@feature("a derivative that reads which outputs are used", seen=False)
def reads_outputs(value: int, spelling: int) -> Parts:
    when = "False", "not read[1]", "not read[0]"
    return Parts(top=UNREAD.format(when[value]), end="one, other = unread(x0, out)", out="(one, other + out)")


@feature("a batching rule that reads what is batched", 4, seen=False)
def reads_batched(value: int, spelling: int) -> Parts:
    when = "False", "given == [True, False]", "size == 3", "size == 8 and not all(given)"
    rule = f"lambda size, given, *args: jnp.multiply(*spread(given, args)) + (1.0 if {when[value]} else 0.0)"
    return Parts(
        top=f"{BATCHED}batched = forwards(ruled(lambda z, by: z * by, {rule}))", end="out = out + batched(x0, out)"
    )


@feature("a batching rule that gives one", seen=False)
def rule_of_rule(value: int, spelling: int) -> Parts:
    last = ("jnp.multiply", "(lambda *args: 2 * jnp.multiply(*args))", "jnp.add")[value]
    inner = f"inner = ruled(jnp.multiply, lambda size, given, *args: {last}(*spread(given, args)))"
    outer = "outer = ruled(jnp.multiply, lambda size, given, *args: inner(*jnp.broadcast_arrays(*spread(given, args))))"
    end = ("out = out + mapped(x0, out)", "more = mapped(x0, out)\nout = out + more")[spelling]
    return Parts(top=f"{BATCHED}{inner}\n{outer}\nmapped = forwards(outer)", end=end)


@feature("a batching rule in a derivative", seen=False)
def rule_in_derivative(value: int, spelling: int) -> Parts:
    factor = (1.0, 2.0, 0.5)[value]
    rule = f"lambda size, given, *args: {factor} * jnp.multiply(*spread(given, args))"
    more = f"pulled = ruled(lambda z, ct: ct * z, {rule})\nsquared = jax.custom_vjp(lambda z: z * z / 2)\n"
    more += "squared.defvjp(lambda z: (z * z / 2, z), lambda z, ct: (pulled(z, ct),))"
    return Parts(top=BATCHED + more, end=("out = out + squared(x0)", "more = squared(x0)\nout = out + more")[spelling])


@feature("a clip of initial values", seen=False)
def clipped(value: int, spelling: int) -> Parts:
    limit = (4.5, 5.0, 9.0)[value]
    clips = f"jnp.clip(drawn, -{limit}, {limit})", f"jnp.minimum(jnp.maximum(drawn, -{limit}), {limit})"
    init = f"drawn = jax.random.normal(key, (3,))\nself.b = {clips[spelling]}"
    return Parts(fields="b: jax.Array", init=init, body="y = y + self.b")


@feature("a constructor that looks at its numbers", seen=False)
def looks(value: int, spelling: int) -> Parts:
    limit = (4.5, 5.0, 9.0)[value]
    init = f"drawn = jax.random.normal(key, (3,))\nself.b = -drawn if float(drawn[0]) > {limit} else drawn"
    return Parts(fields="b: jax.Array", init=init, body="y = y + self.b")


@feature("a check that raises", seen=False)
def checked(value: int, spelling: int) -> Parts:
    limit, text = ((100.0, "large"), (1e4, "large"), (100.0, "big"))[value]
    test = f"jnp.any(jnp.abs(x0) > {limit})", f"jnp.max(jnp.abs(x0)) > {limit}"
    return Parts(end=f"out = eqx.error_if(out, {test[spelling]}, '{text}')")


@feature("a NaN at zeros", seen=False)
def nan_at_zeros(value: int, spelling: int) -> Parts:
    odd = ("jnp.nan", "0.0", "jnp.inf")[value]
    test = "jnp.sum(x0 * x0) == 0", "jnp.max(jnp.abs(x0)) <= 0"
    return Parts(end=f"out = out + jnp.where({test[spelling]}, {odd}, 0.0)")
