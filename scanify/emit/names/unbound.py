"""Find the names of a file that nothing binds."""

import builtins
import symtable
import warnings
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import GlobalScope, MetadataWrapper, ScopeProvider


@dataclass(frozen=True)
class Names:
    """`unbound` are the names that some scope reads and nothing visible there binds; `bound` those bound anywhere."""

    unbound: frozenset[str]
    bound: frozenset[str]


def names_of(text: str) -> Names:
    """Read a module's scopes, by Python's own rules if this Python knows the syntax, else by libcst's."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = symtable.symtable(text, "module", "exec")
    except (SyntaxError, ValueError):
        return _by_libcst(text)
    return _by_symtable(table)


def _by_symtable(table: symtable.SymbolTable) -> Names:
    bound: set[str] = set()
    module: set[str] = set()
    read: set[str] = set()
    left = [table]
    while left:
        scope = left.pop()
        left += scope.get_children()
        top = scope.get_type() == "module"
        for symbol in scope.get_symbols():
            binds = symbol.is_assigned() or symbol.is_imported() or symbol.is_parameter() or symbol.is_namespace()
            if binds:
                bound.add(symbol.get_name())
            if binds and (top or symbol.is_declared_global()):
                module.add(symbol.get_name())
            if symbol.is_referenced() and (top or symbol.is_global()):
                read.add(symbol.get_name())
    return Names(frozenset(read - module - set(dir(builtins))), frozenset(bound))


def _by_libcst(text: str) -> Names:
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    scopes = {scope for scope in wrapper.resolve(ScopeProvider).values() if scope is not None}
    unbound = set()
    bound: set[str] = set()
    for scope in scopes:
        assigned = {item.name for item in scope.assignments}
        bound |= assigned if not isinstance(scope, GlobalScope) else assigned - set(dir(builtins))
        for access in scope.accesses:
            if not access.referents and isinstance(access.node, cst.Name):
                unbound.add(access.node.value)
    return Names(frozenset(unbound), frozenset(bound))
