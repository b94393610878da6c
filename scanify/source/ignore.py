"""Rules of the `.gitignore` files of a repository."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NAME = ".gitignore"


@dataclass(frozen=True)
class Ignore:
    """The rules of the `.gitignore` files at and above a folder, with the nearest file last."""

    rules: "tuple[tuple[str, GitIgnoreSpec], ...]" = ()

    def within(self, folder: Path) -> "Ignore":
        """Add the rules of the file in `folder`, if there is one."""
        try:
            if not (folder / NAME).is_file():  # reading a named pipe would block
                return self
            lines = (folder / NAME).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return self
        if not any(line.strip() and not line.startswith("#") for line in lines):
            return self
        from pathspec import GitIgnoreSpec  # imported only if needed

        return Ignore((*self.rules, (f"{folder.as_posix().rstrip('/')}/", GitIgnoreSpec.from_lines(lines))))

    def leaves_out(self, path: str, *, folder: bool) -> bool:
        """True if the nearest matching rule ignores a file or folder, named by its absolute path."""
        for top, spec in reversed(self.rules):
            if path.startswith(top):
                answer = spec.check_file(path[len(top) :] + ("/" if folder else "")).include
                if answer is not None:
                    return answer
        return False


def ignore_above(folder: Path) -> Ignore:
    """Collect the rules for files in `folder`, from the top of its repository down.

    If rules above ignore the folder itself, they are dropped, since the folder was requested explicitly.
    """
    repository = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    if repository is None:
        return Ignore().within(folder)
    rules = Ignore()
    for above in reversed(folder.parents):
        if above == repository or repository in above.parents:
            rules = rules.within(above)
    if folder != repository and rules.leaves_out(folder.as_posix(), folder=True):
        rules = Ignore()
    return rules.within(folder)
