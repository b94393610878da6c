"""What carries begin with, against what a scan carries: weak types, complex numbers, carries that change places."""

import pytest

from scanify.analysis.plan import Plan
from tests.analysis.helpers import model, only


def obligations(loop: str, before: str = "", after: str = "return x") -> tuple[str, ...]:
    found = only(model(loop, before=before, after=after))
    assert isinstance(found, Plan), found
    return found.obligations


SCALED = "for layer in self.layers:\n    x = layer(x) * scale\n    scale = scale * x.mean()"
SUMMED = "for layer in self.layers:\n    x = layer(x)\n    scale = scale + x.mean()\n"
WEAK = "`scale` keeps its dtype, though it is made of a Python number, which raises no other dtype"


@pytest.mark.parametrize(
    "start", ["jnp.asarray(1.0)", "jnp.array(1.0)", "jnp.exp(jnp.asarray(0.5))", "jnp.full((), 1.0)",
              "jnp.asarray(1.0) * 2", "jnp.where(True, 1.0, 0.5)"]
)  # fmt: skip
def test_an_array_of_a_python_number_is_weakly_typed(start: str) -> None:
    assert obligations(SCALED, f"scale = {start}") == (WEAK,)


@pytest.mark.parametrize(
    "start", ["jnp.ones(())", "jnp.asarray(1.0, jnp.float32)", "jnp.array([1.0])", "jnp.exp(x)", "np.asarray(1.0)",
              "jnp.asarray(1.0) * x", "jnp.full((3,), 1.0, dtype=x.dtype)"]
)  # fmt: skip
def test_other_arrays_are_not(start: str) -> None:
    assert WEAK not in obligations(SCALED, f"scale = {start}")


def test_one_that_each_layer_leaves_weakly_typed_is_no_matter() -> None:
    loop = SCALED.replace("scale * x.mean()", "scale * 0.5")
    assert obligations(loop, "scale = jnp.asarray(1.0)") == ()


def test_a_sum_that_raises_nothing_may_begin_with_one() -> None:
    assert obligations(SUMMED, "scale = jnp.asarray(0.0)", "return x, scale") == ()
    assert obligations(SUMMED + "    x = x * scale", "scale = jnp.asarray(0.0)", "return x, scale") == (WEAK,)


COMPLEX = "`x` is complex before the loop, as it is after each layer"


@pytest.mark.parametrize(
    "step", ["jnp.fft.fft(layer(x))", "jnp.exp(1j * layer(x))", "layer(x) * 2j", "jnp.fft.ifft(jnp.fft.fft(x)) + layer(x)",
             "jax.lax.complex(layer(x), x)", "layer(x).astype(jnp.complex64)", "jnp.conj(jnp.fft.rfft(layer(x)))"]
)  # fmt: skip
def test_a_layer_that_gives_complex_numbers_is_given_some(step: str) -> None:
    assert COMPLEX in obligations(f"for layer in self.layers:\n    x = {step}")


@pytest.mark.parametrize(
    "step", ["jnp.fft.irfft(jnp.fft.rfft(layer(x)))", "jnp.abs(jnp.fft.fft(layer(x)))", "jnp.fft.ifft(layer(x)).real",
             "jnp.real(jnp.fft.ifft(layer(x)))", "layer(x) * 2"]
)  # fmt: skip
def test_one_that_gives_real_ones_is_not(step: str) -> None:
    assert COMPLEX not in obligations(f"for layer in self.layers:\n    x = {step}")


def test_a_carry_that_is_complex_before_the_loop_stays_so() -> None:
    loop = "for layer in self.layers:\n    x = layer(x) * 2j"
    assert COMPLEX not in obligations(loop, "x = jnp.fft.fft(x)")
    assert COMPLEX not in obligations(loop, "x = jnp.asarray(x) * (1 + 0j)")


SWAPPED = "for layer in self.layers:\n    a, b = b, layer(a) + b"


def swaps(before: str, loop: str = SWAPPED) -> bool:
    said = obligations(loop, before, "return a, b")
    return any("takes its place after each layer" in each for each in said)


@pytest.mark.parametrize(
    "before", ["a, b = x, mask", "a, b = x[:3], x[3:]", "a, b = jnp.split(x, [3])", "a = x\nb = keys"]
)
def test_carries_that_change_places_have_one_shape(before: str) -> None:
    assert swaps(before)
    assert swaps(before, "for layer in self.layers:\n    new = layer(a) + b\n    a = b\n    b = new")


@pytest.mark.parametrize(
    "before", ["a, b = jnp.split(x, 2)", "a = b = x", "a, b = x, x", "a, b = x, jnp.zeros_like(x)",
               "b = mask\na = jnp.zeros_like(b)", "a, b = x, -2 * x", "a, b = x / 2, x + 1", "a, b = jnp.array_split(x, 2, axis=-1)"]
)  # fmt: skip
def test_some_are_shown_to_have_one(before: str) -> None:
    assert not swaps(before)


def test_carries_that_keep_their_places_are_no_matter() -> None:
    assert not swaps("a, b = x, mask", "for layer in self.layers:\n    a, b = layer(a), b + 1")


def test_one_that_begins_as_none_is_what_takes_its_place() -> None:
    loop = "for layer in self.layers:\n    new = layer(a) if b is None else layer(a) + b\n    b = a\n    a = new"
    assert not swaps("a, b = x, None", loop)
    assert swaps("a, b = x, mask", loop)
