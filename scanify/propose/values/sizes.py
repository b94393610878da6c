"""The sizes of one proposed case: keyword parameters of the case, shared by names with the same meaning."""

import keyword
from dataclasses import dataclass, field

from scanify.propose.values.roles import DIMENSIONS, ROLES, is_head_dim, role_of, stem

# Names that the source of a case uses itself.
RESERVED = frozenset(("module", "model", "state", "key", "jax", "jnp", "eqx"))
_INPUTS = ("inputs", "channels", "dim")
_ALL_DIM = ("dim", "hidden", "inputs", "outputs", "other")


@dataclass
class Size:
    """One keyword parameter of a case: its value, the reason for it, and the parameters that it is used for."""

    variable: str
    value: int
    why: str
    names: list[str] = field(default_factory=list)


class Sizes:
    """Sizes by the names of parameters. With `equal`, all widths are equal, for models that add input and output."""

    def __init__(self, *, equal: bool = False) -> None:
        self.equal = equal
        self.variables: dict[str, Size] = {}
        self._by_name: dict[str, str] = {}

    def parameter(self, name: str) -> str | None:
        """Return the expression for an integer parameter of a constructor; None if its name is unknown."""
        if name in self._by_name:
            return self._by_name[name]
        role = role_of(name)
        if role is None:
            return None
        if is_head_dim(name):
            self._by_name[name] = f"{self._variable('dim', '')} // {self._variable('heads', '')}"
            return self._by_name[name]
        return self._named(name, role)

    def dimension(self, name: str) -> str:
        """Return the expression for a dimension in a shape: the size of the parameter of that name, or of its role."""
        same = [name, *(known for known in self._by_name if stem(known) == stem(name))]
        for known in same:
            if known in self._by_name:
                return self._by_name[known]
        role = DIMENSIONS.get(name.lower()) or role_of(name) or "other"
        if role in _INPUTS and role not in self.variables:  # A model usually has only one, whatever its name.
            role = next((each for each in _INPUTS if each in self.variables), role)
        if role != "other" and role in self.variables:
            self._by_name[name] = self._variable(role, name)
            return self._by_name[name]
        return self._named(name, role)

    def has(self, variable: str) -> bool:
        return variable in self.variables

    def _named(self, name: str, role: str) -> str:
        if self.equal and role in _ALL_DIM:
            text = self._variable("dim", name)
        elif role == "other" or (role == "dim" and self._taken_by_other(name)):
            text = self._own(name, role)
        else:
            text = self._variable(role, name)
        self._by_name[name] = text
        return text

    def _taken_by_other(self, name: str) -> bool:
        size = self.variables.get("dim")
        return size is not None and any(stem(each) != stem(name) for each in size.names)

    def _own(self, name: str, role: str) -> str:
        variable = name if name not in RESERVED | ROLES.keys() and not keyword.iskeyword(name) else f"{name}_"
        if variable not in self.variables:
            # A second width besides the model's.
            value, why = (96, "a width of its own") if role == "dim" else (ROLES[role].value, ROLES[role].why)
            self.variables[variable] = Size(variable, value, why)
        self._note(variable, name)
        return variable

    def _variable(self, role: str, name: str) -> str:
        if role not in self.variables:
            self.variables[role] = Size(role, ROLES[role].value, ROLES[role].why)
        self._note(role, name)
        return role

    def _note(self, variable: str, name: str) -> None:
        names = self.variables[variable].names
        if name and name not in names:
            names.append(name)
