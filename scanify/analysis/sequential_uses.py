"""Where an `equinox.nn.Sequential` goes after it was made, and whether a stack in its place serves every use of it."""

from collections.abc import Iterator

import libcst as cst

from scanify.analysis.children import all_of
from scanify.analysis.facts import Place
from scanify.analysis.keys import qualified
from scanify.analysis.mentions import mentions
from scanify.analysis.project import Definition, Module, Project, dotted
from scanify.analysis.replaced import in_tree_at
from scanify.analysis.uses import (
    OtherUse,
    assigned,
    attributes,
    is_none_test,
    related,
    told_apart,
)
from scanify.analysis.where import Where, where

SEQUENTIAL = frozenset({"equinox.nn.Sequential", "equinox.nn._sequential.Sequential"})
# Functions that call what they are given, and do nothing else with it.
_CALLERS = frozenset(
    "vmap pmap jit checkpoint remat filter_vmap filter_pmap filter_jit filter_checkpoint partial named_call".split()
)
_MAX_DEPTH = 12


class Follow:
    """Follows one `Sequential` from the call that makes it.

    `calls` are the places where it is applied, or where a sequence that holds it is. `holders` are the attributes that
    hold the object itself. `doubts` are uses that a stack does not serve, of something that may be the object or not.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self.calls: list[Place] = []
        self.holders: list[tuple[Definition, str]] = []
        self.doubts: list[OtherUse] = []
        self._seen: set[object] = set()

    def value(self, module: Module, node: cst.CSTNode, depth: int = 0) -> OtherUse | None:
        """The first use that a stack does not serve, of an expression whose value is the object; or, with `depth` above
        zero, a list (of lists) or another `Sequential` that holds it."""
        if depth > _MAX_DEPTH:
            return self._bad(module, node, "is held too deep to be followed")
        if (replaced := in_tree_at(self.project, module, node)) is not None:
            return self._bad(module, node, replaced.replace("the list", "it"))
        if depth == 0 and (found := told_apart(self.project, module, node)) is not None:
            return self._bad(module, node, found)
        parsed = module.parsed
        parent = parsed.parent(node)
        match parent:
            case cst.Call():
                self.calls.append(parsed.place(parent))
                return None
            case cst.Arg():
                return self._argument(module, parent, node, depth)
            case cst.Element():
                display = parsed.parent(parent)
                assert display is not None
                return self.value(module, display, depth + 1)
            case cst.StarredElement():
                display = parsed.parent(parent)
                assert display is not None
                return self.value(module, display, depth) if depth else None
            case cst.ListComp() | cst.GeneratorExp() | cst.IfExp():
                if isinstance(parent, cst.IfExp):
                    return None if parent.test is node else self.value(module, parent, depth)
                return self.value(module, parent, depth + 1)
            case cst.Subscript():
                return self._taken(module, parent, node, depth)
            case cst.Attribute():
                return self._attribute_of(module, parent, node, depth)
            case cst.For() | cst.CompFor():
                return self._walked(module, parent, parent.target, depth) if parent.iter is node else None
            case cst.Assign() | cst.AnnAssign():
                return self._assigned(module, parent, node, depth)
            case cst.AssignTarget() | cst.If() | cst.While() | cst.Assert() | cst.Expr():
                return None
            case cst.UnaryOperation() if isinstance(parent.operator, cst.Not):
                return None
            case cst.Comparison() | cst.ComparisonTarget() if is_none_test(module, parent):
                return None
            case cst.Return():
                return self._bad(module, node, "is returned")
            case _:
                return self._bad(module, node, "is a value here")

    def _bad(self, module: Module, node: cst.CSTNode, reason: str) -> OtherUse:
        text = f"the `Sequential` {reason}" if reason.startswith(("is ", "itself ")) else reason
        return OtherUse(module.parsed.place(node), text)

    def _taken(self, module: Module, parent: cst.Subscript, node: cst.CSTNode, depth: int) -> OtherUse | None:
        above = module.parsed.parent(parent)
        if parent.value is not node or isinstance(above, cst.AssignTarget | cst.AugAssign | cst.Del):
            return self._bad(module, node, "an element is assigned" if parent.value is node else "is an index")
        sliced = len(parent.slice) != 1 or not isinstance(parent.slice[0].slice, cst.Index)
        if depth == 0:
            text = "a slice of a `Sequential` is a `Sequential`, and that of a stack is a list"
            return self._bad(module, node, text) if sliced else None
        return self.value(module, parent, depth if sliced else depth - 1)

    def _attribute_of(self, module: Module, parent: cst.Attribute, node: cst.CSTNode, depth: int) -> OtherUse | None:
        name = parent.attr.value
        if name == "is_stateful" or (depth and name == "append"):
            return None
        if depth and name == "layers":
            return self.value(module, parent, depth)
        return self._bad(module, node, f"`.{name}` of the {'sequence around it' if depth else '`Sequential`'} is used")

    def _assigned(
        self, module: Module, parent: cst.Assign | cst.AnnAssign, node: cst.CSTNode, depth: int
    ) -> OtherUse | None:
        if isinstance(parent, cst.AnnAssign):
            if parent.value is not node:
                return None
            targets = [parent.target]
        else:
            targets = [one.target for one in parent.targets]
        return (
            self._held(module, targets[0], depth, node)
            if len(targets) == 1
            else self._bad(module, node, "has two names")
        )

    def _held(self, module: Module, target: cst.CSTNode, depth: int, node: cst.CSTNode) -> OtherUse | None:
        at = where(module, node)
        name = dotted(target)
        if isinstance(target, cst.Name):
            return self._name(at, target.value, depth, after=node)
        head, _, last = (name or "").rpartition(".")
        if head and head == at.self_name and at.owner is not None:
            return self._attribute(at.owner, last, depth)
        return self._bad(module, node, "is assigned to something else than a name or an attribute of `self`")

    def _name(
        self, at: Where, name: str, depth: int, root: cst.CSTNode | None = None, after: cst.CSTNode | None = None
    ) -> OtherUse | None:
        inside = at.functions and name in at.locals
        root = root or (at.functions[-1] if inside else at.module.parsed.module)
        if (root, name, depth) in self._seen:
            return None
        self._seen.add((root, name, depth))
        if root is at.module.parsed.module and len(list(self.project.given_with(name))) > 1:
            return self._bad(at.module, after or root, f"is the name `{name}` of a file, which others may import")
        found = (node for node in mentions(root, name) if not self._earlier(at.module, node, after))
        return self._first(self.value(at.module, node, depth) for node in found)

    def _earlier(self, module: Module, node: cst.CSTNode, after: cst.CSTNode | None) -> bool:
        """Whether a name is read before it is given the object: `x = x.layers`."""
        if after is None or any(isinstance(one, cst.For | cst.While) for one in module.parsed.ancestors(after)):
            return False
        return module.parsed.span(node).start < module.parsed.span(after).end

    def _attribute(self, owner: Definition, attribute: str, depth: int) -> OtherUse | None:
        if (owner.node, attribute, depth) in self._seen:
            return None
        self._seen.add((owner.node, attribute, depth))
        if depth == 0:
            self.holders.append((owner, attribute))
        return self._first(self._attribute_uses(owner, attribute, depth))

    def _attribute_uses(self, owner: Definition, attribute: str, depth: int) -> Iterator[OtherUse | None]:
        for module in self.project.given_with(f".{attribute}"):
            for node in attributes(module.parsed.module, attribute):
                whose = related(self.project, where(module, node), node, owner)
                if whose == "other" or assigned(module, node):
                    continue
                found = self.value(module, node, depth)
                if found is not None and whose == "unknown" and not _same_lines(module, node, found):
                    self.doubts.append(found)
                else:
                    yield found

    def _first(self, found: Iterator[OtherUse | None]) -> OtherUse | None:
        return next((one for one in found if one is not None), None)

    def _walked(self, module: Module, loop: cst.CSTNode, target: cst.CSTNode, depth: int) -> OtherUse | None:
        """What a loop or a comprehension over it binds: layers, or what holds the object."""
        if depth == 0:
            return None
        if not isinstance(target, cst.Name):
            return self._bad(module, loop, "is walked with others")
        root = next((one for one in module.parsed.ancestors(loop) if not isinstance(one, cst.CompFor)), None)
        at = where(module, loop)
        return self._name(at, target.value, depth - 1, root if isinstance(loop, cst.CompFor) else None)

    def _argument(self, module: Module, arg: cst.Arg, node: cst.CSTNode, depth: int) -> OtherUse | None:
        call = module.parsed.parent(arg)
        if not isinstance(call, cst.Call):
            return self._bad(module, node, "is given to a class statement")
        at = where(module, call)
        name, full = dotted(call.func) or "", qualified(self.project, at, call.func) or ""
        head, _, last = name.rpartition(".")
        if full in SEQUENTIAL or name in ("list", "tuple", "reversed", "iter"):
            return self.value(module, call, depth) if depth else None
        if name == "len" or (name in ("enumerate", "zip") and depth == 0):
            return None
        if name in ("enumerate", "zip"):
            return self._beside(module, call, arg, node, depth)
        if head and last == "append" and len(call.args) == 1:
            assert isinstance(call.func, cst.Attribute)
            return self._held(module, call.func.value, depth + 1, node)
        caller = full.partition(".")[0] in ("jax", "equinox", "functools") and last in _CALLERS
        if caller and call.args[0] is arg and depth == 0:
            return self.value(module, call, 0)
        return self._bad(module, node, f"itself is given to `{name or 'a function'}`")

    def _beside(self, module: Module, call: cst.Call, arg: cst.Arg, node: cst.CSTNode, depth: int) -> OtherUse | None:
        """`for i, stage in enumerate(self.stages)`, `for stage, key in zip(self.stages, keys)`."""
        loop = module.parsed.parent(call)
        at = call.args.index(arg) + (dotted(call.func) == "enumerate")
        target = loop.target if isinstance(loop, cst.For | cst.CompFor) else None
        if loop is None or not isinstance(target, cst.Tuple | cst.List) or at >= len(target.elements):
            return self._bad(module, node, f"is given to `{dotted(call.func)}`")
        return self._walked(module, loop, target.elements[at].value, depth)


def _same_lines(module: Module, node: cst.CSTNode, use: OtherUse) -> bool:
    """Whether a use stands in the very statement: `model.features.layers[0]`, which says what is meant."""
    line = next((one for one in module.parsed.ancestors(node) if isinstance(one, cst.BaseStatement)), node)
    span = module.parsed.span(line)
    return use.place.path == module.path and span.start <= use.place.span.start < span.end


def asked_for(project: Project) -> Iterator[Place]:
    """Where the given files ask `isinstance(..., Sequential)`: of what, only a run can tell."""
    for module in project.given_with("Sequential"):
        for call in all_of(cst.Call, module.parsed.module):
            if dotted(call.func) not in ("isinstance", "issubclass") or len(call.args) != 2:
                continue
            at = where(module, call)
            asked = call.args[1].value
            types = [one.value for one in asked.elements] if isinstance(asked, cst.Tuple) else [asked]
            if any(qualified(project, at, one) in SEQUENTIAL for one in types):
                yield module.parsed.place(call)


def sequentials(project: Project, module: Module) -> Iterator[tuple[cst.Call, cst.Arg]]:
    """Every call of `equinox.nn.Sequential` with one argument, in source order."""
    if "Sequential" not in module.parsed.source.text:
        return
    for call in all_of(cst.Call, module.parsed.module):
        if len(call.args) != 1 or call.args[0].star:
            continue
        keyword = call.args[0].keyword
        named = keyword is None or keyword.value == "layers"
        if named and qualified(project, where(module, call), call.func) in SEQUENTIAL:
            yield call, call.args[0]
