#!/usr/bin/env bash
# Installs what building, testing and running weft need and is missing: Debian
# packages (as root, or with sudo), and Python packages into .venv.
#   install-deps.sh [--build] [--browser] [--python] [--jax]
# --build: compiler packages. --browser: a headless Chromium and a font, for the
# tests that look at reports. --python: numpy and safetensors, for comparing.
# --jax: what the frontend, its tests and the benchmarks need on top.
set -euo pipefail
cd "$(dirname "$0")/.."

build=(cmake ninja-build ccache g++ python3-venv python3-dev
  llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools lld-22
  clang-format-22 clang-tidy-22 libgtest-dev libzstd-dev zlib1g-dev libcurl4-openssl-dev
  libxml2-dev libffi-dev nlohmann-json3-dev)
browser=(chromium-headless-shell fonts-dejavu-core)

wanted=() need_python=0 need_jax=0
for arg in "$@"; do
  case "$arg" in
    --build) wanted+=("${build[@]}") ;;
    --browser) wanted+=("${browser[@]}") ;;
    --python) need_python=1 ;;
    --jax) need_python=1 need_jax=1 ;;
    *) echo "install-deps.sh: unknown option $arg" >&2; exit 2 ;;
  esac
done

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

if [ ${#wanted[@]} -gt 0 ]; then
  missing=()
  for package in "${wanted[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
      missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    echo "installing Debian packages: ${missing[*]}"
    as_root apt-get update -qq
    DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -qq \
      --no-install-recommends "${missing[@]}" >/dev/null
  fi
fi

# Installs the packages of a requirements file unless they are all there.
pip_install() {
  local mark=".venv/.installed-$(basename "$1" .txt)"
  if [ ! -f "$mark" ] || ! cmp -s "$1" "$mark"; then
    echo "installing Python packages: $(tr '\n' ' ' <"$1")"
    .venv/bin/pip install --quiet --disable-pip-version-check -r "$1"
    cp "$1" "$mark"
  fi
}

if [ $need_python = 1 ]; then
  [ -x .venv/bin/python ] || python3 -m venv .venv
  pip_install scripts/requirements-base.txt
  if [ $need_jax = 1 ]; then pip_install scripts/requirements-jax.txt; fi
fi
