"""The form of what holds other values, as the structure of a pytree tells it: a list, a tuple or a dict; its length."""

from dataclasses import dataclass

from scanify.analysis.values.domain import Listed, Mapped, Value


@dataclass(frozen=True, order=True)
class Form:
    """A kind of container, and how many it holds; -1 where that is not known."""

    kind: str
    length: int = -1

    def __str__(self) -> str:
        return f"a {self.kind}" + (f" of {self.length}" if self.length >= 0 else "")

    def differs(self, other: "Form") -> bool:
        """Whether no value has both forms."""
        return self.kind != other.kind or (self.length != other.length and -1 not in (self.length, other.length))


def form_of(value: Value) -> Form | None:
    """The form of one alternative of a value; None for what is no container, or is not shown to be one."""
    if isinstance(value, Listed):
        length = value.cell.length()
        return Form("tuple" if value.cell.is_tuple else "list", -1 if length is None else length)
    return Form("dict") if isinstance(value, Mapped) else None
