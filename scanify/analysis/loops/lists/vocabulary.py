"""Which attributes the modules of a project have: what is asked for another one is no module."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.index.project import Index
from scanify.analysis.values.classes import Classes
from scanify.analysis.values.named_code import functions_in

# The fields and methods of the classes of equinox.nn (0.13), by `dataclasses.fields` and `vars` of each.
_LIBRARY = frozenset(
    "activation axis axis_name batch_counter batch_state_index bias bias_n channels channelwise_affine depth "
    "deterministic dilation dropout dtype ema_first_time_index ema_state_index embedding_size eps final_activation fn "
    "g get groups hidden_size in_channels in_features in_size inference init input_size is_stateful kernel_size "
    "key_proj key_size layer layers marker mode momentum negative_slope num_embeddings num_heads num_power_iterations "
    "num_spatial_dims operation out_channels out_features out_size output_padding output_proj output_size p padding "
    "padding_mode precompute_freqs_cis pytree qk_size query_proj query_size rotate_half scan set shape stride "
    "target_shape theta use_bias use_ceil use_final_bias use_key_bias use_output_bias use_query_bias use_value_bias "
    "use_weight uv_index value_proj value_size vo_size weight weight_hh weight_ih weight_name where width_size".split()
)
_OWN = re.compile(r"\b(?:self|cls)\.(\w+)")
_SET = re.compile(r"setattr(?:__)?\([^,()]*,\s*f?[\"'](\w+)")  # `setattr(self, f"layer{i}", ...)`: how the name begins
_OPEN = re.compile(r"def __getattr|setattr(?:__)?\([^,()]*,\s*(?!\s|f?[\"'])|__dict__")
_INNER = re.compile(r"^[ \t]+class\s", re.MULTILINE)


@dataclass(frozen=True)
class _Names:
    """The attributes of a class: `names`, what begins with one of `prefixes`, and with `open` those of other names."""

    names: frozenset[str]
    prefixes: tuple[str, ...] = ()
    open: bool = False

    def has(self, names: frozenset[str]) -> bool:
        """Whether an object may have attributes of all these names. Of an open one one of them has to be shown."""
        shown = {each for each in names if each in self.names or each.startswith(self.prefixes)}
        return bool(shown) if self.open else len(shown) == len(names)


class Vocabulary:
    """The names that objects of each class of a project have which may be a module: inherited ones count."""

    def __init__(self, index: Index, classes: Classes) -> None:
        self._index, self._classes = index, classes
        self._known: dict[frozenset[str], bool] = {}
        self._own: dict[ast.stmt, _Names] = {}

    def has(self, names: frozenset[str]) -> bool:
        """Whether one and the same module may have attributes of all these names."""
        names = frozenset(each for each in names if not each.startswith("__"))
        if names not in self._known:
            self._known[names] = names <= _LIBRARY or any(each.has(names) for each in self._of_classes)
        return self._known[names]

    @cached_property
    def _of_classes(self) -> tuple[_Names, ...]:
        return tuple(known for known in map(self._names, self._definitions()) if known is not None)

    def _definitions(self) -> Iterator[Definition]:
        for path in self._index.paths_with("class"):
            module = self._index.module_at(path)
            if module is not None:
                yield from (Definition(module, node.name, node) for node in _classes_in(module))

    def _names(self, definition: Definition) -> _Names | None:
        """The names of a class; None for one that is no module."""
        classes = self._classes
        if classes.known_bases(definition) and not (classes.is_module(definition) or self._is_protocol(definition)):
            return None
        every = [self._own_names(owner) for owner in self._classes.lineage(definition)]
        return _Names(
            _LIBRARY.union(*(each.names for each in every)),
            tuple(prefix for each in every for prefix in each.prefixes),
            any(each.open for each in every),
        )

    def _is_protocol(self, definition: Definition) -> bool:
        """Whether a class only says what others have, which may be modules and need not inherit from it."""
        return any(getattr(each, "qualname", "") == "typing.Protocol" for each in self._classes.bases(definition))

    def _own_names(self, owner: Definition) -> _Names:
        node = owner.node
        if node not in self._own:
            text, body = owner.module.code(node), getattr(node, "body", [])
            names = {*_OWN.findall(text), *(each.name for each in functions_in(body))}
            for statement in body:
                targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
                names |= {each.id for each in targets if isinstance(each, ast.Name)}
            self._own[node] = _Names(frozenset(names), tuple(_SET.findall(text)), _OPEN.search(text) is not None)
        return self._own[node]


def _classes_in(module: Module) -> Iterator[ast.ClassDef]:
    """The classes of a file, those in functions and in other classes too."""
    if _INNER.search(module.text) is not None:
        yield from (each for each in ast.walk(module.tree) if isinstance(each, ast.ClassDef))
        return
    for statements in module.definitions.values():
        yield from (each for each in statements if isinstance(each, ast.ClassDef))
