"""`scanify config`: the settings in effect, and where each comes from."""

import json
from pathlib import Path
from typing import Any

import click

from scanify.commands.common import or_here
from scanify.configuration.config import KEYS, load_config
from scanify.configuration.config_file import EXTEND, NAME, Table, read_table
from scanify.configuration.config_schema import KEY_SCHEMAS
from scanify.configuration.config_schema import schema as made
from scanify.report.sentences import shown
from scanify.report.terminal import tell

# Shown for a key that is not set and has no default.
_UNSET = {
    "memory-budget": "none",
    "remat": "that of the container: full",
    "stack": "init where all uses of a list are understood, else call",
    "target-version": "what is installed",
}


@click.command("config", short_help="Show the settings, and where each comes from.")
@click.argument("paths", nargs=-1, metavar="[PATHS]...", callback=or_here)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.option("--schema", is_flag=True, help="Print the JSON schema of the settings instead, for an editor.")
def command(paths: tuple[str, ...], form: str, schema: bool) -> None:
    """Show the settings for PATHS, by default for the current folder, and the file that each comes from."""
    if schema:
        click.echo(json.dumps(made(), indent=2))
        return
    config = load_config(map(Path, paths))  # reports errors in the configuration
    file = config.root / NAME
    table = read_table(file, KEYS) if file.is_file() else Table(file, {}, {})
    here = Path.cwd()
    rows = [
        (key, table.get(key, KEY_SCHEMAS[key].get("default")), table.origins.get(key))
        for key in KEYS
        if key != EXTEND or key in table.values
    ]
    if form == "json":
        settings = {key: {"value": value, "from": str(origin) if origin else None} for key, value, origin in rows}
        click.echo(json.dumps({"root": str(config.root), "settings": settings}, indent=2, ensure_ascii=False))
        return
    tell(f"project: {config.root}")
    told = [
        (key, _UNSET[key] if value is None else _written(value), shown(origin, here) if origin else "default")
        for key, value, origin in rows
    ]
    first, second = (max(len(row[at]) for row in told) for at in (0, 1))
    for key, value, origin in told:
        tell(f"{key:<{first}}  {value:<{second}}  {origin}", hang=first + 2)


def _written(value: Any) -> str:
    """Format a value as TOML on one line."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)} = {_written(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return json.dumps(value, ensure_ascii=False)
