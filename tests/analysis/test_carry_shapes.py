"""Carries that a body may leave in another shape or dtype, and questions that only look at what a tracer knows."""

import pytest
from helpers import model, only

from scanify.analysis.plan import Plan, Refusal

BLOCK = "        return x + self.linear(x)\n"


def plan_of(body: str = "x = layer(x)", block: str = BLOCK, before: str = "") -> Plan:
    text = model(f"for layer in self.layers:\n    {body}", before=before).replace(BLOCK, block)
    found = only(text)
    assert isinstance(found, Plan), found
    return found


@pytest.mark.parametrize(
    "block",
    [
        "        return jnp.tanh(x[..., None] * self.linear(x)) if x.ndim == 1 else x\n",
        "        if x.ndim == 1:\n            x = jnp.expand_dims(x, -1)\n        return self.linear(x)\n",
        "        if len(x.shape) > 2:\n            x = x.reshape(-1, 4)\n        return self.linear(x)\n",
    ],
)
def test_a_branch_on_the_shape_of_the_carry_that_makes_axes(block):
    assert any("keeps its shape" in each for each in plan_of(block=block).obligations)


@pytest.mark.parametrize(
    "block",
    [
        "        if x.ndim != 1:\n            raise ValueError(x.shape)\n        return x + self.linear(x)\n",
        "        if x.ndim == 1:\n            x = x * 2\n        return x + self.linear(x)\n",
    ],
)
def test_a_question_about_shapes_that_changes_none(block):
    assert plan_of(block=block).safe


UNLIKE = {
    "joined parts": ("x = layer(x)\n    x = jnp.concatenate([x[1:], x[:1]])", "x[1:]"),
    "a cut that nothing shows": ("x = layer(x)\n    x = x[mask:]", "x[mask:]"),
    "the largest of all": ("x = jax.lax.top_k(layer(x), 8)[0]", "jax.lax.top_k(layer(x), 8)"),
    "picked": ("x = layer(x)[mask]", "layer(x)[mask]"),
    "axes in another order": ("x = jnp.transpose(layer(x), (1, 0))", "jnp.transpose(layer(x), (1, 0))"),
    "one axis": ("x = layer(x).reshape(-1)", "layer(x).reshape(-1)"),
    "a shape that is computed": (
        "x = layer(x).reshape(x.shape[1], x.shape[0])",
        "layer(x).reshape(x.shape[1], x.shape[0])",
    ),
    "an outer product": ("x = jnp.outer(layer(x), x)", "jnp.outer(layer(x), x)"),
    "a function that is not listed": ("x = jnp.convolve(layer(x), mask)", "jnp.convolve(layer(x), mask)"),
    "a product with itself": ("x = layer(x) @ x", "layer(x) @ x"),
    "an axis more, and broadcast": ("x = layer(x) + x[:, None]", "x[:, None]"),
    "axes by name": ("x = jnp.einsum('ij,jk->ki', layer(x), mask)", "jnp.einsum('ij,jk->ki', layer(x), mask)"),
    "walked along another axis": ("x = jax.vmap(layer, in_axes=1)(x)", "jax.vmap(layer, in_axes=1)(x)"),
    "given whole": ("x = jax.vmap(layer, in_axes=(None, 0))(x, mask)", "jax.vmap(layer, in_axes=(None, 0))(x, mask)"),
    "an array of several": ("x = jnp.array([layer(x), x])", "jnp.array([layer(x), x])"),
    "a largest of some": ("x = layer(x).max(-1)", "layer(x).max(-1)"),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_an_operation_that_is_not_shown_to_keep_the_shape_of_the_carry_is_told(name: str) -> None:
    body, what = UNLIKE[name]
    found = only(model(f"for layer in self.layers:\n    {body}"))
    if isinstance(found, Refusal):
        assert (found.rule, f"through `{what}`" in found.reason) == ("SCN216", True), found.reason
    else:
        assert any(f"keeps its shape, which `{what}`" in each for each in found.obligations), found.obligations


CAST = {
    "in the layer": ("x = layer(x).astype(jnp.bfloat16)", "layer(x).astype(jnp.bfloat16)"),
    "before it": ("x = layer.linear(x.astype(jnp.float16))", "x.astype(jnp.float16)"),
    "by a function of lax": (
        "x = layer(jax.lax.convert_element_type(x, jnp.float16))",
        "jax.lax.convert_element_type(x, jnp.float16)",
    ),
    "as it is made an array": (
        "x = jnp.asarray(layer(x), dtype=jnp.float16)",
        "jnp.asarray(layer(x), dtype=jnp.float16)",
    ),
    "by a name of a dtype": ("x = jnp.float16(layer(x))", "jnp.float16(layer(x))"),
    "to that of a parameter": ("x = x.astype(layer.linear.weight.dtype)", "x.astype(layer.linear.weight.dtype)"),
    "of a sum": (
        "x = x - layer(x).mean(keepdims=True, dtype=jnp.float32)",
        "layer(x).mean(keepdims=True, dtype=jnp.float32)",
    ),
    "by a product": (
        "x = jnp.matmul(layer(x), mask, preferred_element_type=jnp.float32)",
        "jnp.matmul(layer(x), mask, preferred_element_type=jnp.float32)",
    ),
    "by a comparison": ("x = layer(x) > 0", "layer(x) > 0"),
    "wider, and added": ("x = x + layer(x.astype(jnp.float32))", "x.astype(jnp.float32)"),
    "in a tree": ("x = jax.tree.map(lambda a: a.astype(jnp.float16), layer(x))", "a.astype(jnp.float16)"),
    "in a tree with others": (
        "x, w = jax.tree.map(lambda a: a.astype(jnp.float16), (layer(x), mask))",
        "a.astype(jnp.float16)",
    ),
    "in one branch": ("x = layer(x) if mask is None else x.astype(jnp.float16)", "x.astype(jnp.float16)"),
    "under vmap": ("x = jax.vmap(lambda a: layer(a).astype(jnp.float16))(x)", "layer(a).astype(jnp.float16)"),
}


@pytest.mark.parametrize("name", CAST)
def test_a_cast_to_another_dtype_than_the_carrys_is_told(name: str) -> None:
    body, what = CAST[name]
    obligations = plan_of(body).obligations
    assert any(f"keeps its dtype, which `{what}`" in each for each in obligations), obligations


LIKE = {
    "written into": "x = x.at[0].set(1) + layer(x)",
    "a sum that is added": "x = jnp.sum(layer(x)) + x",
    "to its own shape": "x = layer(x).reshape(-1).reshape(x.shape)",
    "to its own dtype": "x = (layer(x).astype(jnp.float32) * 2).astype(x.dtype)",
    "to its own dtype by a name": "dtype = x.dtype\n    x = jnp.asarray(layer(x.astype(jnp.float32)), dtype)",
    "narrower, and added": "x = x + layer(x.astype(jnp.bfloat16))",
    "flipped and back": "y = x.T\n    x = (y + layer(y)).T",
    "a product with parameters": "x = jnp.tanh(layer(x) @ layer.linear.weight)",
    "a product by axes": "x = jnp.einsum('td,de->te', x, layer.linear.weight)",
    "walked": "x = jax.vmap(layer)(x)",
    "walked beside keys": "x = jax.vmap(lambda a, k: layer(a, key=k))(x, keys)",
    "a choice of two": "x = jax.lax.cond(mask, layer, lambda a: a, x)",
    "what is masked": "x = jnp.where(mask > 0, layer(x), x)",
    "attention": "x = x + jnp.einsum('st,td->sd', jax.nn.softmax(x @ x.T), layer(x))",
}


@pytest.mark.parametrize("name", LIKE)
def test_what_keeps_the_shape_and_the_dtype_of_the_carry_is_safe(name: str) -> None:
    assert plan_of(LIKE[name]).safe


CARRIES = """\
class Carry(eqx.Module):
    h: jax.Array
    n: jax.Array


def helper("""
HELD = {
    "in a tuple": ("c = (x, mask)", "c = layer(c[0]).astype(jnp.float16), c[1]", "`c[0]` keeps its dtype"),
    "in a list": ("c = [x, mask]", "c = [layer(c[0]), c[1].ravel()]", "`c[1]` keeps its shape"),
    "in a dict": ("c = {'h': x}", "c = {'h': layer(c['h']).astype(jnp.float16)}", "`c['h']` keeps its dtype"),
    "in a dict that grows": ("c = {'h': x}", "c = {**c, 'y': layer(c['h'])}", "`c` keeps its shape"),
    "in a module": ("c = Carry(x, mask)", "c = Carry(layer(c.h).ravel(), c.n)", "`c.h` keeps its shape"),
    "in a changed module": (
        "c = Carry(x, mask)",
        "c = eqx.tree_at(lambda c: c.h, c, layer(c.h).ravel())",
        "`c.h` keeps its shape",
    ),
    "beside": ("t = jnp.zeros(())", "x = layer(x)\n    t = t + x.mean(0)", "`t` keeps its shape, which `x.mean(0)`"),
    "a largest one": (
        "t = jnp.zeros(())",
        "x = layer(x)\n    t = jnp.maximum(t, x)",
        "`t` has the shape and the dtype of `x`",
    ),
    "a count": ("t = jnp.array(0)", "x = layer(x)\n    t = t + x.sum()", "`t` keeps its dtype"),
    "a halved count": ("t = jnp.array(8)", "x = layer(x)\n    t = t / 2", "`t` keeps its dtype"),
}


@pytest.mark.parametrize("name", HELD)
def test_arrays_in_a_carry_and_beside_it_keep_their_shapes_too(name: str) -> None:
    before, body, told = HELD[name]
    text = model(f"for layer in self.layers:\n    {body}", before=before).replace("def helper(", CARRIES)
    found = only(text)
    assert isinstance(found, Plan)
    assert any(each.startswith(told) for each in found.obligations), found.obligations


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("c = (x, mask)", "c = layer(c[0]), c[1] + c[0]"),
        ("c = {'h': x}", "c = {'h': layer(c['h'])}"),
        ("c = Carry(x, mask)", "c = Carry(layer(c.h), c.n * 2)"),
        ("t = jnp.zeros(())", "x = layer(x)\n    t = t + jnp.mean(x**2)"),
        ("t = jnp.array(0.0)", "x = layer(x)\n    t = jnp.maximum(t, jnp.linalg.norm(x))"),
        ("t = jnp.array(0)", "x = layer(x) * t\n    t = t * 2 + 1"),
        ("n = jnp.uint32(7)", "x = layer(x)\n    n = (n * 48271) % 2147483647"),
    ],
)
def test_arrays_in_a_carry_and_beside_it_that_keep_theirs_are_safe(before, body):
    text = model(f"for layer in self.layers:\n    {body}", before=before).replace("def helper(", CARRIES)
    found = only(text)
    assert isinstance(found, Plan)
    assert found.safe, found.obligations


@pytest.mark.parametrize(
    "block",
    [
        "        return self.linear(jnp.concatenate([x, jnp.tanh(x)]))\n",
        "        return jax.vmap(self.linear)(jnp.concatenate([x, x], axis=-1))\n",
        "        a, b = jnp.split(self.linear(x), 2)\n        return self.linear(a * jax.nn.silu(b))\n",
    ],
)
def test_parameters_say_how_many_features_come_out(block):
    text = model().replace(BLOCK, block).replace("eqx.nn.Linear(dim, dim", "eqx.nn.Linear(2 * dim, dim")
    found = only(text)
    assert isinstance(found, Plan)
    assert found.safe


def test_what_only_a_flag_asks_for_is_no_carry() -> None:
    block = "        return (x, self.linear(x)) if twice else x + self.linear(x)\n"
    text = model().replace(BLOCK, block).replace("x, mask=None, *, key", "x, twice=False, *, key")
    found = only(text)
    assert isinstance(found, Plan)
    assert found.safe, found.obligations
    asked = only(text.replace("x = layer(x)", "x = layer(x, mask)"))
    assert isinstance(asked, Plan)
    assert not asked.safe


def test_a_carry_that_is_cast_before_the_loop_as_in_it_keeps_its_dtype() -> None:
    body = "x = layer(x).astype(jnp.bfloat16)"
    assert plan_of(body, before="x = x.astype(jnp.bfloat16)").safe
    named = plan_of("x = layer(x).astype(layer.dtype)", before="x = x.astype(self.dtype)")
    assert any("keeps its dtype" in each for each in named.obligations)
    found = only(model(f"for layer in self.layers:\n    {body}", before="x = x.astype(jnp.float32)"))
    assert isinstance(found, Refusal)
    assert (found.rule, "another dtype" in found.reason) == ("SCN216", True)


@pytest.mark.parametrize(
    "before",
    [
        "x = jnp.arange(8)",
        "x = jnp.arange(len(self.layers))",
        "x = jnp.zeros(8, dtype=jnp.int32)",
        "x = jnp.asarray(x, jnp.bfloat16) * 2",
        "x = jnp.argmax(x, 0)",
    ],
)
def test_a_start_of_a_narrow_dtype_is_for_a_run(before):
    assert any("dtype" in each for each in plan_of(before=before).obligations)


@pytest.mark.parametrize(
    "before",
    ["x = jnp.zeros(8)", "x = jnp.arange(8) * 0.5", "x = jnp.zeros(8, jnp.float32)", "x = jnp.arange(0.0, x, 0.1)"],
)
def test_a_start_of_floats_is_not(before):
    assert plan_of(before=before).safe


@pytest.mark.parametrize(
    "block",
    [
        "        if jnp.shape(x) != ():\n            x = x * 2\n        return self.linear(x)\n",
        "        if jnp.issubdtype(x.dtype, jnp.floating):\n            x = x * 2\n        return self.linear(x)\n",
        "        if np.prod(x.shape) > 4:\n            x = x * 2\n        return self.linear(x)\n",
        "        if jax.config.read('jax_enable_x64'):\n            x = x * 2\n        return self.linear(x)\n",
    ],
)
def test_what_a_tracer_knows_may_be_asked_for(block):
    assert plan_of(block=block).safe


def test_a_value_may_not():
    block = "        if jnp.sum(x) > 4:\n            x = x * 2\n        return self.linear(x)\n"
    found = only(model().replace(BLOCK, block))
    assert isinstance(found, Refusal)
    assert found.rule == "SCN208"


@pytest.mark.parametrize(
    "before", ["x = jnp.zeros((1,))", "x = jr.normal(mask, (1, 8))", "x = jnp.asarray([[1.0, 2.0]])"]
)
def test_one_row_may_become_several(before):
    assert any("has a single row" in each for each in plan_of(before=before).obligations)


@pytest.mark.parametrize(
    "before", ["x = jnp.zeros((2,))", "x = jnp.zeros(())", "x = jnp.zeros((1, 8)) + x", "x = x[:1]"]
)
def test_several_rows_stay_as_many(before):
    assert not any("row" in each for each in plan_of(before=before).obligations)
