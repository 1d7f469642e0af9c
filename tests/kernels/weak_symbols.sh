#!/bin/sh
# weak_symbols.sh A B: fails when the archives A and B both define a weak symbol (the linker would keep one of
# the two and run, say, AVX-512 code in the AVX2 build), or any other symbol twice.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for side in 1 2; do
  nm --defined-only "$1" | awk 'NF == 3 && $2 ~ /^[A-Zuvw]$/ { print $3 }' | sort -u > "$scratch/$side"
  [ -s "$scratch/$side" ] || { echo "no symbols in $1"; exit 1; }
  shift
done
if ! comm -12 "$scratch/1" "$scratch/2" > "$scratch/both" || [ -s "$scratch/both" ]; then
  echo "defined by both builds of the kernels:"
  cat "$scratch/both"
  exit 1
fi
echo "no symbol in common: $(wc -l < "$scratch/1") and $(wc -l < "$scratch/2")"
