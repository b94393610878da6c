from collections.abc import Iterator

import jax
import pytest


@pytest.fixture
def float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module", autouse=True)
def compiled_quickly(request: pytest.FixtureRequest) -> Iterator[None]:
    """Stacks and loops are compiled alike, so what is compared is the same; but for what the compiler makes of them."""
    quickly = not getattr(request.module, "OPTIMIZED", False)
    jax.config.update("jax_disable_most_optimizations", quickly)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
