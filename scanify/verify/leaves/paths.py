"""Key paths into the values of a case, in readable form."""

import re


def in_recorded(path: str) -> str:
    """Shorten a key path into the model of a recorded call: `layers[3].w` for `self`, `net.layers[3].w`."""
    found = re.match(r"\.(?:given|closure)\['(\w+)'\]", path)
    if found is None:
        return path
    rest = path[found.end() :]
    return rest if found[1] == "self" and rest else f"{found[1]}{rest}"


def named(path: str, parameters: list[str]) -> str:
    """Shorten a key path into `(model, args, kwargs)`: `layers[3].w`, `tokens`, `mask[0]`."""
    if path.startswith("[0]"):
        return in_recorded(path[3:]).lstrip(".")
    if positional := re.fullmatch(r"\[1\]\[(\d+)\](.*)", path):
        at = int(positional[1])
        return (parameters[at] if at < len(parameters) else f"args[{at}]") + positional[2]
    if keyword := re.fullmatch(r"\[2\]\['(\w+)'\](.*)", path):
        return keyword[1] + keyword[2]
    return {"[1]": "args", "[2]": "kwargs"}.get(path, path)
