"""`pytest --scanify`: the cases of a project as tests. The functions here need jax, imported on the first call."""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.pytest_plugin.items import cases_in
else:
    cases_in = on_call("scanify.pytest_plugin.items", "cases_in")

__all__ = ["cases_in"]
