"""`scanify completion`: shell completion for commands, options and rules."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from scanify.errors import Exit, ScanifyError
from scanify.report.terminal import tell

_VARIABLE = "_SCANIFY_COMPLETE"
# Makes zsh search the folder that the script is written to.
_ZSHRC = "fpath=({folder} $fpath); autoload -Uz compinit && compinit  # completion of scanify"


@click.command("completion", short_help="Complete commands and options in a shell.")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.option("--install", is_flag=True, help="Write it where the shell looks for it, in place of printing it.")
def command(shell: str, install: bool) -> int:
    """Print the script with which SHELL completes commands, options and their values, or install it."""
    made = get_completion_class(shell)
    assert made is not None
    root = click.get_current_context().find_root()
    script = made(root.command, {}, "scanify", _VARIABLE).source()
    if not install:
        click.echo(script)
        return Exit.OK
    file = _place(shell)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{script}\n", encoding="utf-8")
        also = _look_into(file.parent) if shell == "zsh" else None
    except OSError as error:
        raise ScanifyError(f"{error.filename or file}: cannot be written: {error.strerror}") from None
    needs = (
        "; it needs the package bash-completion" if shell == "bash" else f"; {also} names its folder" if also else ""
    )
    tell(f"{file}: completion for {shell}, from the next shell on{needs}")
    return Exit.OK


def _place(shell: str) -> Path:
    """Return the path where a shell looks for completions; for zsh, in a folder that is added to its search path."""
    home = Path.home()
    if shell == "zsh":
        return Path(os.environ.get("ZDOTDIR") or home) / ".zfunc" / "_scanify"
    if shell == "fish":
        return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "fish" / "completions" / "scanify.fish"
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    folder = Path(os.environ.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion")
    return folder / "completions" / "scanify"


def _look_into(folder: Path) -> Path:
    """Add the folder to the search path in .zshrc, once, and return the path of .zshrc."""
    file, line = folder.parent / ".zshrc", _ZSHRC.format(folder=folder)
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    if line not in before:
        with file.open("a", encoding="utf-8") as opened:
            opened.write(f"{'' if before.endswith(chr(10)) or not before else chr(10)}{line}\n")
    return file
