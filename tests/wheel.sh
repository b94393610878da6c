#!/usr/bin/env bash
# Build the wheel, install it with jax into a new environment of each Python that is named, and prove a rewrite far from
# the checkout: tests/wheel.sh PYTHON...
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for python in "$@"; do
  folder="$work/$("$python" -c 'import sys; print("{}.{}".format(*sys.version_info))')"
  mkdir -p "$folder/project/.git"
  "$python" -m venv "$folder/venv"
  "$folder/venv/bin/python" -m pip wheel --quiet --no-deps --wheel-dir "$folder" "$here"
  "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$(echo "$folder"/*.whl)[jax]"
  cp "$here/fixtures/gpt/before.py" "$folder/project/model.py"
  cp "$here/fixtures/gpt/cases.py" "$folder/project/cases.py"
  cd "$folder/project"
  unset PYTHONPATH
  where=$("$folder/venv/bin/python" -c 'import scanify; print(scanify.__file__)')
  case "$where" in "$folder"/*) ;; *) echo "wheel: $where is not the installed one" >&2; exit 1 ;; esac
  "$folder/venv/bin/scanify" rewrite model.py --case cases.py:gpt_small 2>&1 | tail -n 6
  "$folder/venv/bin/python" -W error -c 'import model, cases; m, x, k = cases.gpt_small(model); print(m(*x, **k).shape)'
done
