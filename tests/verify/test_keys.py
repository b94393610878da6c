"""The use of random keys: what is counted, and what only this count tells."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import pytest

import scanify
from scanify.jaxpr.table import Table
from scanify.verify.proof.key_uses import find_key_uses
from scanify.verify.verdict import Status
from tests.verify.loop_model import CALL, REWRITE, SOURCE, changed

NO_RATE = SOURCE.replace("[0.25] * n", "[0.0] * n")
ONE_KEY = changed(CALL, CALL.replace("(None, 0)", "(None, None)").replace("jax.random.split(key, 3)", "key"))


def files(name: str) -> str | None:
    return "model.py" if name == "model_under_test.py" else None


@pytest.mark.parametrize("abstract", [False, True], ids=["concrete", "abstract"])
@pytest.mark.parametrize("key", [jax.random.key, jax.random.PRNGKey], ids=["typed", "raw"])
def test_the_keys_of_a_faithful_rewrite_are_proved(compare, key, abstract):
    result = compare(REWRITE, key=key, abstract=abstract)
    assert result.keys.status is Status.PROVED
    assert result.notes == ()
    assert result.good


@pytest.mark.parametrize(
    "key",
    [pytest.param(jax.random.key, id="typed"), pytest.param(jax.random.PRNGKey, id="raw", marks=pytest.mark.whole)],
)
def test_one_key_for_all_layers_fails_the_keys_alone_where_the_rate_is_zero(compare, key):
    result = compare(ONE_KEY, source=NO_RATE, policies=("none",), key=key, files=files)
    assert all(p.outputs.good and p.gradients.good and not p.findings for p in result.policies)
    assert result.tangents.good and result.batched.good and result.findings == ()
    assert result.keys.status is Status.FAILED
    line = 1 + NO_RATE.splitlines().index(
        "            y = jnp.where(jax.random.bernoulli(key, 1 - self.rate, y.shape), y, 0.0)"
    )
    assert "the random key key is used 3 times in the rewritten version, in the original once" in result.keys.reason
    assert f"at model.py:{line} (3 times)" in result.keys.reason
    assert (result.keys.difference.after.file, result.keys.difference.after.line) == ("model.py", line)
    assert not result.good


def test_a_key_that_both_versions_use_twice_is_a_note(compare):
    source = SOURCE.replace("x = x * self.norm", "x = x * self.norm + jax.random.normal(key, x.shape)")
    result = compare(REWRITE, source=source, policies=("none",))
    assert result.keys.status is Status.PROVED
    assert "equally often, and some more than once" in result.keys.reason
    assert "the random key key is used 2 times in both versions (random_split key<fry>[3], " in result.notes[0]
    assert result.good


def test_other_keys_that_are_used_once_are_not_proved(compare):
    """They are not the same, but nothing is reused; that the outputs differ is told by the outputs."""
    result = compare(
        changed(CALL, CALL.replace("split(key, 3)", "split(jax.random.fold_in(key, 1), 3)")),
        source=NO_RATE,
        policies=("none",),
    )
    assert result.keys.status is Status.TESTED
    assert "uses a key that the original does not use in the same way" in result.keys.reason


def test_a_model_without_keys_has_a_note(compare):
    result = compare(REWRITE, dropout=False)
    assert result.keys is None
    assert result.notes == ("no random key is used",)


def draw(key: jax.Array) -> jax.Array:
    return jax.random.normal(key, (2,))


def of_rows(key: jax.Array) -> jax.Array:
    keys = jax.random.split(key, 3)
    return draw(keys[0]) + draw(keys[1]) + sum(draw(k) for k in keys[2:])


def in_a_scan(key: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda x, k: (x + draw(k), None), jnp.zeros(2), jax.random.split(key, 3))[0]


def by_index_in_a_scan(key: jax.Array) -> jax.Array:
    keys = jax.random.split(key, 3)
    return jax.lax.scan(lambda x, i: (x + draw(keys[i]), None), jnp.zeros(2), jnp.arange(3))[0]


def chained_in_a_scan(key: jax.Array) -> jax.Array:
    def body(carry, _):
        x, key = carry
        key, one = jax.random.split(key)
        return (x + draw(one), key), None

    return jax.lax.scan(body, (jnp.zeros(2), key), length=3)[0][0]


def in_one_of_two_branches(key: jax.Array) -> jax.Array:
    return jax.lax.cond(jax.random.key_data(key)[0] > 3, draw, lambda key: -draw(key), key)


def folded(key: jax.Array) -> jax.Array:
    return draw(jax.random.fold_in(key, 0)) + draw(jax.random.fold_in(key, 1)) + draw(key)


def split_twice_alike(key: jax.Array) -> jax.Array:
    return draw(jax.random.split(key)[0]) + draw(jax.random.split(key)[1])


def batched(key: jax.Array) -> jax.Array:
    return jax.vmap(draw)(jax.random.split(key, 3)).sum(0)


def twice(key: jax.Array) -> jax.Array:
    return draw(key) + draw(key)


def split_and_drawn(key: jax.Array) -> jax.Array:
    return draw(jax.random.split(key)[0]) + draw(key)


def split_in_two_ways(key: jax.Array) -> jax.Array:
    return draw(jax.random.split(key)[0]) + draw(jax.random.split(key, 3)[1])


def one_key_in_a_scan(key: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda x, _: (x + draw(key), None), jnp.zeros(2), length=3)[0]


def a_row_of_a_batch_again(key: jax.Array) -> jax.Array:
    keys = jax.random.split(key, 3)
    return jax.vmap(draw)(keys).sum(0) + draw(keys[1])


def in_a_branch_and_after(key: jax.Array) -> jax.Array:
    return jax.lax.cond(jax.random.key_data(key)[0] > 3, draw, lambda key: jnp.zeros(2), key) + draw(key)


Draws = Callable[[jax.Array], jax.Array]
ONCE: list[Draws] = [of_rows, in_a_scan, by_index_in_a_scan, chained_in_a_scan, in_one_of_two_branches, folded]
ONCE += [split_twice_alike, batched]
REUSED: list[Draws] = [twice, split_and_drawn, split_in_two_ways, one_key_in_a_scan, a_row_of_a_batch_again]
REUSED += [in_a_branch_and_after]


def most(program: Draws, key: jax.Array) -> int:
    """The largest number of times that the program uses one key."""
    found = find_key_uses(Table(), jax.make_jaxpr(program)(key))
    assert not found.hidden
    return max(uses.times for uses in found.uses.values())


@pytest.mark.parametrize("program", ONCE, ids=lambda each: each.__name__)
@pytest.mark.parametrize("key", [jax.random.key, jax.random.PRNGKey], ids=["typed", "raw"])
def test_keys_that_are_used_once(program, key):
    if program is in_one_of_two_branches and key is jax.random.PRNGKey:
        pytest.skip("asks for the data of a typed key")
    assert most(program, key(0)) == 1


@pytest.mark.parametrize("program", REUSED, ids=lambda each: each.__name__)
def test_keys_that_are_used_again(program):
    assert most(program, jax.random.key(0)) > 1


@pytest.mark.parametrize("program", [*ONCE, *REUSED], ids=lambda each: each.__name__)
def test_jax_reports_what_is_counted_as_reuse(program):
    """Except for what its checker cannot tell apart: rows that are taken by an index, and a split made again."""
    try:
        with jax.debug_key_reuse(True):
            jax.jit(program)(jax.random.key(0))
        reported = False
    except jax.errors.KeyReuseError:
        reported = True
    if program in (split_twice_alike, of_rows, by_index_in_a_scan):
        assert most(program, jax.random.key(0)) == 1
    else:
        assert reported == (program in REUSED)


def test_a_loop_of_unknown_length_hides_its_keys():
    def draws(key):
        return jax.lax.while_loop(lambda s: s[0] < 3.0, lambda s: (s[0] + draw(s[1])[0], s[1]), (0.0, key))[0]

    found = find_key_uses(Table(), jax.make_jaxpr(draws)(jax.random.key(0)))
    assert found.uses == {} and list(found.hidden.values()) == [1]


def drawn(*keys):
    return sum(jax.random.normal(key, (2,)) * 0 for key in keys)


@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey], ids=["typed", "raw"])
def test_a_number_folded_in_is_a_row_of_a_split(make):
    """jax makes the same key of both, so two uses of them are two of one."""

    def uses(function):
        table = Table()
        found = find_key_uses(table, jax.make_jaxpr(function)(make(0)))
        return sorted(each.draws for each in found.uses.values() if each.draws)

    same = jax.random.split(make(0), 3)[1] == jax.random.fold_in(make(0), 1)
    assert same.all()
    assert uses(lambda key: drawn(jax.random.split(key, 3)[1], jax.random.fold_in(key, 1))) == [2]
    assert uses(lambda key: drawn(jax.random.fold_in(key, 1), jax.random.split(key, (2, 2))[0, 1])) == [2]
    assert uses(lambda key: drawn(jax.random.split(key, 3)[1], jax.random.fold_in(key, 2))) == [1, 1]
    inner = lambda key: jax.random.split(jax.random.fold_in(key, 0), 2)[1]  # noqa: E731
    outer = lambda key: jax.random.fold_in(jax.random.split(key, 2)[0], 1)  # noqa: E731
    assert uses(lambda key: drawn(inner(key), outer(key))) == [2]
    assert uses(lambda key: drawn(inner(key), jax.random.fold_in(jax.random.split(key, 2)[1], 1))) == [1, 1]


def test_keys_of_another_implementation_are_made_otherwise():
    def function(key):
        return drawn(jax.random.split(key, 3)[1], jax.random.fold_in(key, 1))

    found = find_key_uses(Table(), jax.make_jaxpr(function)(jax.random.key(0, impl="rbg")))
    assert sorted(each.draws for each in found.uses.values() if each.draws) == [1, 1]
    with jax.threefry_partitionable(False):
        found = find_key_uses(Table(), jax.make_jaxpr(function)(jax.random.key(0)))
    assert sorted(each.draws for each in found.uses.values() if each.draws) == [1, 1]


def by_index(key, at):
    keys = jax.random.split(key, 4)
    return draw(keys[0]) + draw(keys[at])


def by_two_indices(key, at):
    keys = jax.random.split(key, 4)
    return draw(keys[at]) + draw(keys[at * at])


def folded_in_by_number(key, at):
    return draw(jax.random.fold_in(key, at)) + draw(jax.random.split(key, 3)[2])


def gathered(key, at):
    keys = jax.random.split(key, 4)
    return draw(jnp.take(keys, at, axis=0)) + draw(keys[0])


def chosen(key, at):
    one, other = jax.random.split(key)
    return draw(jnp.where(at > 0, one, other)) + draw(one)


def seeded(key, at):
    return draw(jax.random.key(at)) + draw(jax.random.key(0)) + draw(key)


def in_a_scan_by_number(key, at):
    keys = jax.random.split(key, 4)
    return jax.lax.scan(lambda x, i: (x + draw(keys[(i + at) % 4]), None), jnp.zeros(2), jnp.arange(3))[0]


def step_first(key, at):
    one, other = jax.random.split(jax.random.fold_in(key, at))
    return draw(one) + draw(other)


def one_of_many(key, at):
    return draw(jax.random.split(key, 4)[at])


DOUBTFUL = [by_index, by_two_indices, folded_in_by_number, gathered, chosen, seeded, in_a_scan_by_number]


@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey], ids=["typed", "raw"])
@pytest.mark.parametrize("program", [*DOUBTFUL, step_first, one_of_many], ids=lambda each: each.__name__)
def test_a_key_that_is_taken_by_a_value_may_be_any(program, make):
    found = find_key_uses(Table(), jax.make_jaxpr(program)(make(0), jnp.int32(1)))
    assert max(uses.times for uses in found.uses.values()) == 1
    assert (found.doubtful is not None) == (program in DOUBTFUL)


@pytest.mark.parametrize("program", [by_index, folded_in_by_number], ids=lambda each: each.__name__)
def test_what_is_not_shown_of_such_keys_is_said(program):
    found = dict(scanify.prove_equal(program, program, jax.random.key(0), jnp.int32(1)).checks)["use of random keys"]
    assert found.status is Status.TESTED
    assert (
        "both versions use the same keys, each as often; that none is used more than once is not shown" in found.reason
    )
    assert "may be another key, as the values are" in found.reason
    same = dict(scanify.prove_equal(step_first, step_first, jax.random.key(0), jnp.int32(1)).checks)
    assert same["use of random keys"].status is Status.PROVED


@pytest.mark.whole
def test_a_rewrite_that_folds_in_what_the_original_splits_uses_the_same_keys(compare):
    folded = CALL.replace("jax.random.split(key, 3)", "jnp.stack([jax.random.fold_in(key, i) for i in range(3)])")
    result = compare(changed(CALL, folded), source=NO_RATE, policies=("none",))
    assert result.keys.status is Status.PROVED
