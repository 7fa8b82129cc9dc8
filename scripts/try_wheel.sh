#!/bin/sh
# Build the wheel with the given Python, install it into an empty environment, and use it there.
set -eu
python=$1
rm -rf dist
"$python" -m hatchling build -t wheel

room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
"$python" -m venv "$room/venv"
"$room/venv/bin/python" -m pip install --quiet --no-deps --require-hashes -r requirements/demo.txt
"$room/venv/bin/python" -m pip install --quiet --no-deps dist/*.whl

# Away from the sources, so that only what is in the wheel can be found.
cd "$room"
venv/bin/pointveil --help > /dev/null
venv/bin/pointveil synthesize --help > /dev/null
XDG_DATA_HOME="$room/data" venv/bin/pointveil demo demo
test -s "$(find demo -name '*.png' | head -n 1)"
