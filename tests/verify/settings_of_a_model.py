"""Global variables of a module of the user's, which others bind anew from outside (`tests/verify/test_writes_to_modules.py`)."""

scale = 1.0
kept: list[float] = []


def put(value: float) -> None:
    global scale
    scale = value
