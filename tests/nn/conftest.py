from collections.abc import Iterator

import pytest


@pytest.fixture
def float64() -> Iterator[None]:
    import jax  # not above: this file may be loaded before `tests/conftest.py` has said how to compile

    with jax.enable_x64(True):
        yield
