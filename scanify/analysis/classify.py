"""Which part of a loop's head walks layers, and what is known of those layers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst

from scanify.analysis.answers import Built, DictOf, Elsewhere, LayerList, NotLayers, Unclear
from scanify.analysis.classes import bases, is_module, lineage
from scanify.analysis.container import annotated_class, unquoted, walked_list
from scanify.analysis.elements import ClassAnswer, ElementClass, Mixed, NotAModule, Shared, difference, element_class
from scanify.analysis.facts import Place
from scanify.analysis.handed import Handed, handed_in
from scanify.analysis.header import Header, Part, plain_walk
from scanify.analysis.layer_class import is_applied
from scanify.analysis.names import target_names
from scanify.analysis.overrides import heirs
from scanify.analysis.parts import differs_by_flags, differs_by_turn, own_size
from scanify.analysis.project import Assigned, Definition, External, Project, dotted
from scanify.analysis.several import member_classes, varied_member
from scanify.analysis.stages import element_names, unequal_stages
from scanify.analysis.where import Where

_FEW = 3  # layers written out one by one: below this a scan saves nothing
_ANY = "its class is a container for layers of any class: the loops that are its own are those of the container"
_PLAIN = frozenset(("abc.ABC", "typing.Generic", "enum.Enum"))  # bases of classes that are no modules
LIST_TYPES = frozenset("list List tuple Tuple Sequence".split())


@dataclass(frozen=True, eq=False)
class Found:
    """The part of a loop's head that walks layers, with what is known of them.

    `reason` says why nothing can be done, `unlike` why the layers may differ in more than arrays. Without a `kind`
    the source does not show that they are modules. `several` says so where each is a tuple or list of modules:
    "" where all are built alike, else what they are built with that differs; `hidden` that they may hold functions too,
    or modules of classes that are not shown.
    """

    part: Part
    layers: LayerList
    kind: ElementClass | None
    reason: tuple[str, str, Place | None] | None = None
    unlike: str | None = None
    others: tuple[ElementClass, ...] = ()
    handed: tuple[Handed, ...] = ()
    several: str | None = None
    hidden: bool = False

    @property
    def kinds(self) -> tuple[ElementClass, ...]:
        """All classes that the source shows the layers to be of."""
        return (self.kind, *self.others) if self.kind is not None else ()


def layers_of(project: Project, at: Where, head: Header, loop: cst.For) -> Found | None:
    """The part of a head that walks modules, best those that the body applies, or that may do so for all the source
    shows; None where none does. Of several the first, or one that walks a whole list where others walk parts."""
    applied = first = unclear = None
    for part in head.parts:
        names = target_names(part.target)
        if dotted(part.source) is None or not (isinstance(part.target, cst.Name) or (names and plain_walk(part))):
            continue
        layers = walked_list(project, at, part)
        found = classify(project, part, layers)
        if found is not None and found.several is None and not isinstance(part.target, cst.Name):
            found = replace(found, kind=None)
        if found is not None and found.kind is not None:
            if any(is_applied(loop, name) for name in element_names(loop, part.target)):
                found = _refused_stages(at, found, loop)
                applied = found if applied is None or (applied.part.form and not part.form) else applied
            first = first or found
        elif found is not None and unclear is None and _looks_like_layers(project, at, part, layers, loop):
            unclear = _as_they_come(found)
    return applied or first or unclear


def _as_they_come(found: Found) -> Found:
    """A list of which only the call itself can tell what it holds: a sequence that looks at the layers serves it."""
    answer, container = found.layers.answer, found.reason is not None and found.reason[1] == _ANY
    if found.reason is None or isinstance(answer, Unclear) or container:
        return found
    if found.reason[0] != "SCN201" and found.layers.element_of is None:
        return found
    return replace(found, reason=None, unlike=found.reason[1])


def _looks_like_layers(project: Project, at: Where, part: Part, layers: LayerList, loop: cst.For) -> bool:
    """Where the source does not show what a list holds: an attribute of a module whose elements the body calls, or a
    parameter that is said to hold modules."""
    answer = layers.answer
    if isinstance(answer, Elsewhere) and answer.annotation is not None:
        said = element_annotation(answer.annotation)
        if said is not None and is_module(project, project.resolve(answer.at.module, dotted(said) or "")):
            return any(is_applied(loop, target) for target in target_names(part.target))
    name = layers.element_of or dotted(part.source)
    if not any(is_applied(loop, target) for target in target_names(part.target)):
        return False
    if name is None or at.owner is None or not name.startswith(f"{at.self_name}."):
        return False
    return is_module(project, at.owner)


def classify(project: Project, part: Part, layers: LayerList) -> Found | None:
    answer = layers.answer
    if layers.views:
        return _in_views(project, part, layers)
    if isinstance(answer, NotLayers | DictOf):
        return None
    if isinstance(answer, Unclear):
        return Found(part, layers, None, (answer.rule, answer.reason, answer.at))
    if isinstance(answer, Built) and answer.others:
        return _in_branches(project, part, layers, answer)
    if isinstance(answer, Elsewhere):
        kind = _annotated(project, answer)
        reason = ("SCN201", f"the elements of {answer.what} are not shown to be modules", None)
        if _of_any_class(project, layers, answer):
            return Found(part, layers, None, ("SCN201", _ANY, None))
        found = _handed(project, Found(part, layers, kind, None if kind is not None else reason))
        return None if found.kind is None and _holds_no_modules(project, answer) else found
    return _classify_built(project, part, layers, answer)


def _handed(project: Project, found: Found) -> Found:
    """What is known of a list from elsewhere by what the project hands in, where the annotation says little."""
    given = handed_in(project, found.layers)
    built = [each for one in given if isinstance(one.answer, Built) for each in (one.answer, *one.answer.others)]
    if not given or any(not isinstance(one.answer, Built) for one in given) or not all(one.elements for one in built):
        return found
    classified = [_classify_built(project, found.part, found.layers, replace(one, others=())) for one in built]
    known = [one for one in classified if one is not None]
    unlike = next(
        (
            one.unlike or (one.reason[1] if one.reason is not None else None)
            for one in known
            if one.unlike or one.reason
        ),
        None,
    )
    found = replace(found, handed=tuple(given), unlike=unlike)
    if found.kind is not None or len(known) < len(built):
        return found
    if all(one.reason is not None and one.kind is not None for one in known):
        return known[0]
    if any(one.reason is not None or one.kind is None for one in known):
        return found
    first, *others = [each for one in known for each in one.kinds]
    return replace(found, kind=replace(first, exact=False), reason=None, others=tuple(others))


def _in_views(project: Project, part: Part, layers: LayerList) -> Found | None:
    """A local name for one of several lists: each must be one of layers, and the classes may differ."""
    found = [classify(project, part, one) for one in layers.views]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    worst = next((one for one in known if one.reason is not None or one.kind is None), None)
    if worst is not None:
        return replace(worst, layers=layers)
    kinds = [one.kind for one in known if one.kind is not None]
    exact = len(kinds) == 1 or (kinds[0].exact and all(one.exact and kinds[0].same(one) for one in kinds))
    unlike = next((one.unlike for one in known if one.unlike is not None), None)
    others = tuple(each for one in known for each in one.kinds if each is not kinds[0])
    return Found(part, layers, replace(kinds[0], exact=kinds[0].exact and exact), unlike=unlike, others=others)


def _in_branches(project: Project, part: Part, layers: LayerList, answer: Built) -> Found | None:
    """A list that one of several branches builds: each must be one of layers, and the classes may differ."""
    built = [Built(answer.elements, answer.site), *answer.others]
    found = [_classify_built(project, part, layers, one) for one in built if one.elements]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    refused = next((one for one in known if one.reason is not None), None)
    if refused is not None:
        return refused
    unknown = next((one for one in known if one.kind is None), None)
    if unknown is not None:
        return unknown
    first = known[0].kind
    assert first is not None
    same = all(one.kind is not None and one.kind.same(first) for one in known)
    unlike = next((one.unlike for one in known if one.unlike is not None), None)
    kind = first if same else replace(first, exact=False)
    others = tuple(each for one in known for each in one.kinds if each is not first)
    different = None if same else "the list is built of different classes in different branches"
    empty = None if len(found) == len(built) else "the list is empty in one of the branches"
    return Found(part, layers, kind, unlike=unlike or different or empty, others=others)


def _classify_built(project: Project, part: Part, layers: LayerList, answer: Built) -> Found | None:
    answers = [element_class(project, element) for element in answer.elements]
    if (several := _several(project, part, layers, answer, answers)) is not None:
        return several
    if any(isinstance(one, NotAModule) for one in answers):
        return None
    classes = [one for one in answers if isinstance(one, ElementClass)]
    every = [each for one in answers for each in ([one] if isinstance(one, ElementClass) else _classes(one))]
    first = answer.elements[0]
    place = first.at.module.parsed.place(first.node)
    names = list(dict.fromkeys([one.name for one in classes]))
    mixed = next((one for one in answers if isinstance(one, Mixed)), None)
    shared = next((one for one in answers if isinstance(one, Shared)), None)
    kind = classes[0] if classes else None
    size = next((own for own in (own_size(project, one) for one in answer.elements) if own is not None), None)
    if size is not None and every and all(_convolves(project, one) for one in every):
        # The widths of convolutions grow as their maps shrink, and their dilations double.
        return Found(
            part, layers, every[0], ("SCN203", f"each convolution is built with its own value of `{size}`", place)
        )
    if mixed is not None or len(names) > 1:
        names = list(mixed.names) if mixed is not None else names
        text = f"the layers are of different classes: {', '.join(f'`{name}`' for name in names)}"
        some, *others = every
        # What equinox has ready made (a Linear, a Lambda, a Dropout) is a part of a layer: few of them are equal.
        blocks = [one.name for one in classes if isinstance(one.meaning, Definition)]
        again = len(classes) >= _FEW and len(set(blocks)) < len(blocks)
        chosen = mixed is not None or bool(blocks)
        if again or (chosen and any(element.repeated for element in answer.elements)):
            return Found(part, layers, replace(some, exact=False), unlike=text, others=tuple(others))
        return Found(part, layers, some, ("SCN202", text, place))
    if shared is not None:
        text = f"every layer is the same object, `{shared.name}`"
        return Found(part, layers, kind, ("SCN204", text, place))
    if kind is None or len(classes) != len(answers):
        unknown = next(e for e, one in zip(answer.elements, answers, strict=True) if one is None)
        where_ = unknown.at.module.parsed.place(unknown.node)
        differ = difference(project, answer.elements)
        turns = [one for one in answer.elements if differs_by_turn(project, one) is not None]
        alike = any(one.repeated for one in answer.elements) and all(differs_by_flags(project, one) for one in turns)
        if differ is not None and not (alike and not classes):
            return Found(part, layers, kind, ("SCN203", f"the class of the layers is not shown, and {differ}", where_))
        return Found(part, layers, kind, ("SCN201", "the class of the layers is not shown", where_))
    differ = difference(project, answer.elements)
    if differ is not None and len(answer.elements) < _FEW and not any(one.repeated for one in answer.elements):
        return Found(part, layers, kind, ("SCN203", differ, place))
    return Found(part, layers, kind, unlike=differ)


def _convolves(project: Project, kind: ElementClass) -> bool:
    """Whether a class is a convolution, by its own name or by that of a class it inherits from."""
    meaning = kind.meaning
    names = [kind.name.rpartition(".")[2]]
    for one in lineage(project, meaning) if isinstance(meaning, Definition) else ():
        names += [base.qualname.rpartition(".")[2] for base in bases(project, one) if isinstance(base, External)]
    return any("Conv" in name for name in names)


def _several(
    project: Project, part: Part, layers: LayerList, answer: Built, answers: Sequence[ClassAnswer]
) -> Found | None:
    """Elements that are tuples or lists of layers; None where one is something else."""
    if any(isinstance(one, ElementClass | Mixed) for one in answers):
        return None
    members = [member_classes(project, element) for element in answer.elements]
    known = [[one for one in each if one is not None] for each in members]
    if not members or not all(members):
        return None
    if not all(known):
        unknown = answer.elements[known.index([])]
        place = unknown.at.module.parsed.place(unknown.node)
        return Found(part, layers, None, ("SCN201", "the classes of what each element holds are not shown", place))
    first, *others = dict.fromkeys(one for each in known for one in each)
    differ = next((found for one in answer.elements if (found := varied_member(project, one))), "")
    return Found(
        part,
        layers,
        replace(first, exact=False),
        unlike="each element is a tuple or a list of layers",
        others=tuple(others),
        several=differ,
        hidden=any(None in each for each in members),
    )


def _refused_stages(at: Where, found: Found, loop: cst.For) -> Found:
    answer = found.layers.answer
    text = unequal_stages(at, loop, found.part.target, found.several) if found.several is not None else None
    if text is None or not isinstance(answer, Built):
        return found
    first = answer.elements[0]
    return replace(found, reason=("SCN203", text, first.at.module.parsed.place(first.node)))


def _classes(answer: ClassAnswer) -> tuple[ElementClass, ...]:
    return answer.classes if isinstance(answer, Mixed) else ()


def _annotated(project: Project, answer: Elsewhere) -> ElementClass | None:
    """The element class of `list[Block]`, `tuple[Block, ...]`, `Sequence[Block]`; the layers may be of a subclass."""
    element = element_annotation(answer.annotation) if answer.annotation is not None else None
    if element is None:
        return None
    owner = annotated_class(project, answer.at, element)
    if owner is not None:
        return ElementClass(owner, exact=False) if is_module(project, owner) else None
    name = dotted(element)
    meaning = project.resolve(answer.at.module, name) if name is not None else None
    # `list[eqx.Module]` says nothing of the layers: any two may differ.
    if isinstance(meaning, External) and is_module(project, meaning) and meaning.qualname != "equinox.Module":
        return ElementClass(meaning, exact=False)
    return None


def _holds_no_modules(project: Project, answer: Elsewhere) -> bool:
    """Whether a list is said to hold objects of a class of the project that is no module, nor any that inherits from
    it: what it does to the carry is then its own business. A protocol says nothing of what a class is."""
    element = element_annotation(answer.annotation) if answer.annotation is not None else None
    owner = annotated_class(project, answer.at, element) if element is not None else None
    if owner is None or is_module(project, owner):
        return False
    inherited = [base for one in lineage(project, owner) for base in bases(project, one)]
    known = all(isinstance(one, Definition) or (one is not None and one.qualname in _PLAIN) for one in inherited)
    return known and not any(is_module(project, heir) for heir in heirs(project, owner))


def _of_any_class(project: Project, layers: LayerList, answer: Elsewhere) -> bool:
    """Whether a class is a container that is generic in the class of its layers: `class Stack(Module, Generic[M])`."""
    element = element_annotation(answer.annotation) if answer.annotation is not None else None
    name = dotted(element) if element is not None else None
    if name is None:
        return False
    node = layers.owner.node if layers.owner is not None else None
    params = node.type_parameters.params if isinstance(node, cst.ClassDef) and node.type_parameters is not None else ()
    if any(one.param.name.value == name for one in params):
        return True
    meaning = project.resolve(answer.at.module, name)
    made = meaning.value if isinstance(meaning, Assigned) else None
    return isinstance(made, cst.Call) and (dotted(made.func) or "").rpartition(".")[2] == "TypeVar"


def element_annotation(annotation: cst.BaseExpression) -> cst.BaseExpression | None:
    """`Block` of `list[Block]`, quoted or not; None for other annotations."""
    annotation = unquoted(annotation)
    if isinstance(annotation, cst.Subscript) and (dotted(annotation.value) or "").rpartition(".")[2] in LIST_TYPES:
        inner = annotation.slice[0].slice
        return inner.value if isinstance(inner, cst.Index) else None
    return None
