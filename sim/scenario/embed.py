"""Writes a C++ file that holds text files as string constants: embed.py OUT NAME=FILE ..."""
import sys


def main():
    out, pairs = sys.argv[1], sys.argv[2:]
    lines = ['#include "sim/scenario/catalog.hpp"', "", "namespace skerry::reader {"]
    for pair in pairs:
        name, path = pair.split("=", 1)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if ')embedded"' in text:
            sys.exit(f"{path}: holds the end mark of the string constant")
        lines += ["", f'const char* const {name} = R"embedded({text})embedded";']
    lines += ["", "}  // namespace skerry::reader", ""]
    with open(out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


main()
