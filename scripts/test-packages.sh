#!/usr/bin/env bash
# What others build of weft, outside of the tree: the sdist in an empty
# environment, and a tool of their own with the compiler's installed libraries.
# Takes a build of weft more, and needs PyPI.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo "== an opt with the installed compiler"
cmake --install build --prefix "$folder/weft" >"$folder/log"
cmake -S test/Install/Inputs -B "$folder/own" -G Ninja -DCMAKE_PREFIX_PATH="$folder/weft" >"$folder/log"
cmake --build "$folder/own" >"$folder/log" || { cat "$folder/log"; exit 1; }
"$folder/own/own-opt" --weft-propagate-shardings examples/embed/step.mlir >"$folder/out.mlir"

echo "== the sdist, built in an empty environment"
.venv/bin/python -c 'import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])' \
  "$folder" >"$folder/log"
python3 -m venv "$folder/empty"
"$folder/empty/bin/pip" install --quiet "$folder"/weft-*.tar.gz
cp examples/embed/step.mlir "$folder"
cd "$folder"
empty/bin/python -I -c '
import numpy as np, weft
program = weft.compile("step.mlir", ranks=2)
w, x, y = np.zeros((4, 1), np.float32), np.ones((8, 4), np.float32), np.ones((8, 1), np.float32)
loss, w = program(w, x, y)
assert float(loss) == 8 and (w == 0.5).all(), (loss, w)
print("weft", weft.__version__, "loss", float(loss))'
