"""Turns a text into a C++ header with one array of its bytes: embed_text.py INPUT OUTPUT NAME."""

import sys

source, target, name = sys.argv[1:]
with open(source, "rb") as file:
    data = file.read()
# Octal escapes of three digits never run into the next character, whatever it is.
keep = set(range(32, 127)) - set(b'"\\?')
text = "".join(chr(b) if b in keep else f"\\{b:03o}" for b in data)
with open(target, "w", encoding="ascii") as file:
    file.write("#pragma once\n\n#pragma GCC diagnostic push\n"
               '#pragma GCC diagnostic ignored "-Woverlength-strings"\n'
               f'inline constexpr char {name}[] =\n    "{text}";\n'
               "#pragma GCC diagnostic pop\n")
