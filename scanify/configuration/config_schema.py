"""The settings as a JSON schema, for editors that complete and check TOML."""

from typing import Any

from scanify.configuration.config import AUTO, KEYS, REMATS, STACKS, TARGETS

_PATTERNS = {"type": "array", "items": {"type": "string", "minLength": 1}}
_CODES = {"type": "array", "items": {"type": "string", "pattern": "^ *([Ss][Cc][Nn][0-9]{0,3}|[Aa][Ll][Ll]|[a-z-]+)"}}
_CASE = {"type": "string", "pattern": ":"}

# The purpose, type and default of each key.
KEY_SCHEMAS: dict[str, dict[str, Any]] = {
    "cases": {
        "description": "What a rewrite is verified on: FILE:FUNCTION by name, or with the file that it is for, or a "
        "command whose calls are recorded.",
        "type": "object",
        "additionalProperties": {
            "anyOf": [
                _CASE,
                {
                    "type": "object",
                    "properties": {"case": _CASE, "file": {"type": "string"}},
                    "required": ["case"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"run": {"type": "string", "minLength": 1}},
                    "required": ["run"],
                    "additionalProperties": False,
                },
            ]
        },
        "default": {},
    },
    "exclude": {
        "description": "Files and folders that are left alone: names at any depth, or paths from the project's folder.",
        **_PATTERNS,
        "default": [],
    },
    "extend": {
        "description": "Another TOML file whose settings hold where this one has none, by its path from this one.",
        "type": "string",
        "minLength": 1,
    },
    "ignore": {
        "description": "Rules, or beginnings of them, that are neither told nor rewritten.",
        **_CODES,
        "default": [],
    },
    "memory-budget": {
        "description": "With remat auto: the device memory that a gradient may need, such as 8GiB.",
        "type": "string",
        "pattern": "^ *[0-9]",
    },
    "per-file-ignores": {
        "description": "Rules that are ignored in files, by patterns as those of exclude.",
        "type": "object",
        "additionalProperties": _CODES,
        "default": {},
    },
    "remat": {
        "description": "The rematerialisation policy of rewritten loops.",
        "enum": [*REMATS, AUTO, True, False, "true", "false"],
    },
    "select": {"description": "The rules, or beginnings of them, that are told.", **_CODES, "default": ["ALL"]},
    "stack": {
        "description": "Where layers are stacked: where their list is built, or inside of the call.",
        "enum": list(STACKS),
    },
    "target": {"description": "What loops become.", "enum": list(TARGETS), "default": TARGETS[0]},
    "target-version": {
        "type": "string",
        "description": "The release that the target haliax writes for, as marin-haliax==0.2.224.",
    },
}


def schema() -> dict[str, Any]:
    """Return the schema of `[tool.scanify]` and of the files that it extends."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "scanify",
        "description": "Settings of scanify: [tool.scanify] of a pyproject.toml.",
        "type": "object",
        "properties": {key: KEY_SCHEMAS[key] for key in KEYS},
        "additionalProperties": False,
    }
