"""Carries that a body may leave in another shape or dtype, and questions that only look at what a tracer knows."""

import pytest
from helpers import model, only

from scanify.analysis.plan import Plan
from tests.texts import texts

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
    assert any("keeps its shape" in each for each in texts(plan_of(block=block).obligations))


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
    "joined parts": "x = layer(x)\n    x = jnp.concatenate([x[1:], x[:1]])",
    "a cut that nothing shows": "x = layer(x)\n    x = x[mask:]",
    "the largest of all": "x = jax.lax.top_k(layer(x), 8)[0]",
    "picked": "x = layer(x)[mask]",
    "axes in another order": "x = jnp.transpose(layer(x), (1, 0))",
    "one axis": "x = layer(x).reshape(-1)",
    "a shape that is computed": "x = layer(x).reshape(x.shape[1], x.shape[0])",
    "an outer product": "x = jnp.outer(layer(x), x)",
    "a function that is not listed": "x = jnp.convolve(layer(x), mask)",
    "an axis more, and broadcast": "x = layer(x) + x[:, None]",
    "axes by name": "x = jnp.einsum('ij,jk->ki', layer(x), mask)",
    "walked along another axis": "x = jax.vmap(layer, in_axes=1)(x)",
    "given whole": "x = jax.vmap(layer, in_axes=(None, 0))(x, mask)",
    "an array of several": "x = jnp.array([layer(x), x])",
    "a largest of some": "x = layer(x).max(-1)",
}


@pytest.mark.parametrize("name", UNLIKE)
def test_an_operation_that_is_not_shown_to_keep_the_shape_of_the_carry_is_a_condition(name: str) -> None:
    found = only(model(f"for layer in self.layers:\n    {UNLIKE[name]}"))
    assert isinstance(found, Plan) and "keeps its shape" in " ".join(texts(found.obligations))


CAST = {
    "in the layer": "x = layer(x).astype(jnp.bfloat16)",
    "before it": "x = layer.linear(x.astype(jnp.float16))",
    "by a function of lax": "x = layer(jax.lax.convert_element_type(x, jnp.float16))",
    "as it is made an array": "x = jnp.asarray(layer(x), dtype=jnp.float16)",
    "by a name of a dtype": "x = jnp.float16(layer(x))",
    "to that of a parameter": "x = x.astype(layer.linear.weight.dtype)",
    "of a sum": "x = x - layer(x).mean(keepdims=True, dtype=jnp.float32)",
    "by a product": "x = jnp.matmul(layer(x), mask, preferred_element_type=jnp.float32)",
    "by a comparison": "x = layer(x) > 0",
    "wider, and added": "x = x + layer(x.astype(jnp.float32))",
    "in one branch": "x = layer(x) if mask is None else x.astype(jnp.float16)",
    "under vmap": "x = jax.vmap(lambda a: layer(a).astype(jnp.float16))(x)",
}


@pytest.mark.parametrize("name", CAST)
def test_a_cast_to_another_dtype_than_that_of_the_carry_is_a_condition(name: str) -> None:
    obligations = texts(plan_of(CAST[name]).obligations)
    assert any("keeps its dtype, though it is cast" in each for each in obligations), obligations


LIKE = {
    "written into": "x = x.at[0].set(1) + layer(x)",
    "a sum that is added": "x = jnp.sum(layer(x)) + x",
    "to its own dtype": "x = (layer(x).astype(jnp.float32) * 2).astype(x.dtype)",
    "flipped and back": "y = x.T\n    x = (y + layer(y)).T",
    "a product with parameters": "x = jnp.tanh(layer(x) @ layer.linear.weight)",
    "walked": "x = jax.vmap(layer)(x)",
    "walked beside keys": "x = jax.vmap(lambda a, k: layer(a, key=k))(x, keys)",
    "what is masked": "x = jnp.where(mask > 0, layer(x), x)",
    "attention": "x = x + jnp.einsum('st,td->sd', jax.nn.softmax(x @ x.T), layer(x))",
}


@pytest.mark.parametrize("name", LIKE)
def test_what_keeps_the_shape_and_the_dtype_of_the_carry_is_safe(name: str) -> None:
    assert plan_of(LIKE[name]).safe


@pytest.mark.parametrize("body", ["layer(x).reshape(-1).reshape(x.shape)", "jax.lax.cond(mask, layer, lambda a: a, x)"])
def test_a_shape_that_is_not_shown_is_a_condition(body: str) -> None:
    assert not plan_of(f"x = {body}").safe


@pytest.mark.parametrize("step", ["t + x.sum()", "t / 2"])
def test_an_array_of_a_python_number_gets_the_dtype_of_what_is_added_in_a_scan_too(step: str) -> None:
    assert only(model(f"for layer in self.layers:\n    x = layer(x)\n    t = {step}", before="t = jnp.array(8)")).safe


CARRIES = """\
class Carry(eqx.Module):
    h: jax.Array
    n: jax.Array


def helper("""
HELD = {
    "in a tuple": ("c = (x, mask)", "c = layer(c[0]).astype(jnp.float16), c[1]", "`c` keeps its structure"),
    "in a list": ("c = [x, mask]", "c = [layer(c[0]), c[1].ravel()]", "`c` keeps its structure"),
    "in a dict": ("c = {'h': x}", "c = {'h': layer(c['h']).astype(jnp.float16)}", "`c` keeps its structure"),
    "in a dict that grows": ("c = {'h': x}", "c = {**c, 'y': layer(c['h'])}", "`c['h']` is not understood"),
    "in a module": ("c = Carry(x, mask)", "c = Carry(layer(c.h).ravel(), c.n)", "`c` keeps its structure"),
    "a largest one": ("t = jnp.zeros(())", "x = layer(x)\n    t = jnp.maximum(t, x)", "`t` keeps its shape"),
}


@pytest.mark.parametrize("name", HELD)
def test_arrays_in_a_carry_and_beside_it_keep_their_shapes_too(name: str) -> None:
    before, body, condition = HELD[name]
    text = model(f"for layer in self.layers:\n    {body}", before=before).replace("def helper(", CARRIES)
    found = only(text)
    assert isinstance(found, Plan)
    assert any(each.startswith(condition) for each in texts(found.obligations)), texts(found.obligations)


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("t = jnp.zeros(())", "x = layer(x)\n    t = t + jnp.mean(x**2)"),
        ("t = jnp.zeros(())", "x = layer(x)\n    t = jnp.maximum(t, jnp.linalg.norm(x))"),
    ],
)
def test_arrays_in_a_carry_and_beside_it_that_keep_theirs_are_safe(before, body):
    text = model(f"for layer in self.layers:\n    {body}", before=before).replace("def helper(", CARRIES)
    found = only(text)
    assert isinstance(found, Plan)
    assert found.safe, texts(found.obligations)


@pytest.mark.parametrize(
    "before",
    [
        "x = jnp.arange(8)",
        "x = jnp.zeros(8, dtype=jnp.int32)",
        "x = jnp.asarray(x, jnp.bfloat16) * 2",
        "x = jnp.argmax(x, 0)",
    ],
)
def test_a_start_of_a_narrow_dtype_is_for_a_run(before):
    assert any("dtype" in each for each in texts(plan_of(before=before).obligations))


@pytest.mark.parametrize(
    "before",
    ["x = jnp.zeros(8)", "x = jnp.arange(8) * 0.5", "x = jnp.zeros(8, jnp.float32)"],
)
def test_a_start_of_floats_is_not(before):
    assert plan_of(before=before).safe


@pytest.mark.parametrize("test", ["jnp.issubdtype(x.dtype, jnp.floating)", "np.prod(x.shape) > 4", "x.shape[0] > 4"])
def test_what_a_tracer_knows_may_be_read(test):
    assert plan_of(block=f"        if {test}:\n            x = x * 2\n        return self.linear(x)\n").safe


@pytest.mark.parametrize("test", ["jnp.sum(x) > 4", "x[0]", "x.any()"])
def test_a_value_may_not(test):
    found = plan_of(block=f"        if {test}:\n            x = x * 2\n        return self.linear(x)\n")
    assert any("needs the value of an array" in each for each in texts(found.obligations))


@pytest.mark.parametrize(
    "before", ["x = jnp.zeros((1,))", "x = jr.normal(mask, (1, 8))", "x = jnp.asarray([[1.0, 2.0]])"]
)
def test_one_row_may_become_several(before):
    assert any("an axis of size 1" in each for each in texts(plan_of(before=before).obligations))


@pytest.mark.parametrize("before", ["x = jnp.zeros((2,))", "x = jnp.zeros(())", "x = x[:1]"])
def test_several_rows_stay_as_many(before):
    assert not any("size 1" in each for each in texts(plan_of(before=before).obligations))
