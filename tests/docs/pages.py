"""What stands in Markdown pages: links, headings, words in backticks, commands. Nothing here opens an address."""
import dataclasses
import fnmatch
import pathlib
import re
import shlex

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"!?\[[^\]\[]*\]\(([^)\s]+)\)")
PROGRAM = re.compile(r"(?<![\w./\"'$=-])((?:\.\./)*(?:build/)?skerry|tools/[a-z][\w.-]*)(?=\s|$)")
# Up to here a line of shell belongs to the command before.
ENDS = re.compile(r"\s\|\s.*$|\s:::\s.*$|\s*(?:&&|;|>|\|\|).*$|\)\s*$|\s\[?--\s.*$")
COMMENT = re.compile(r"\s#\s.*$")
GENERATED = re.compile(r"^(build[\w-]*|results/runs)(/|$)")
# Names that stand for others: RUN, NAME-hash8, PROTOCOL, …
PLACEHOLDER = re.compile(r"(?<![A-Za-z_])[A-Z]{1,}(?![a-z_])|…|<[a-z]+>|\{\}")
KINDS = (".json", ".csv", ".md", ".py", ".cpp", ".hpp", ".txt", ".jsonl", ".build", ".svg", ".sh")


@dataclasses.dataclass
class Page:
    path: pathlib.Path
    text: str

    @property
    def name(self):
        return str(self.path.relative_to(ROOT))

    @property
    def prose(self):
        """Without fenced and indented blocks."""
        return re.sub(r"(?:^|(?<=\n\n))(?:    .*\n?)+", "", FENCE.sub("", self.text))

    def spans(self):
        return SPAN.findall(self.prose)

    def links(self):
        return LINK.findall(SPAN.sub("", self.prose))

    def blocks(self):
        """Lines of fenced blocks and of those that are indented by four."""
        fenced = [line for found in FENCE.finditer(self.text) for line in found.group().splitlines()[1:-1]]
        return fenced + re.findall(r"^    (?! )(.+)$", FENCE.sub("", self.text), re.MULTILINE)

    def anchors(self):
        """Of headings, as GitHub makes them."""
        return [anchor_of(text) for text in re.findall(r"^#{1,6} +(.+?) *$", FENCE.sub("", self.text), re.MULTILINE)]

    def commands(self):
        return [command for line in self.spans() + self.blocks() for command in commands_in(line)]


def pages():
    out = []
    for path in sorted(ROOT.rglob("*.md")):
        inside = path.relative_to(ROOT)
        if any(part.startswith(".") for part in inside.parts) or GENERATED.match(str(inside)):
            continue
        out.append(Page(path, path.read_text(encoding="utf-8")))
    return out


def anchor_of(heading):
    plain = LINK.sub(lambda found: found.group().split("]")[0].lstrip("!["), heading.replace("`", ""))
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def commands_in(line):
    """Each call of the program or of a tool in a line of shell, as words; ends where another begins."""
    out = []
    line = COMMENT.sub("", line)
    for found in PROGRAM.finditer(line):
        rest = ENDS.sub("", line[found.start():], count=1)
        try:
            out.append(shlex.split(rest.replace("[", " ").replace("]", " ")))
        except ValueError:  # a quote that another line closes
            out.append(rest.split())
    return out


def broken_links(page, known):
    """Links that lead nowhere. `known`: pages by path. Addresses of hosts are not looked at."""
    out = []
    for target in page.links():
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (page.path.parent / file).resolve() if file else page.path
        if file and not path.exists():
            out.append(f"{page.name}: {target}: no such file")
        elif anchor and (path not in known or anchor not in known[path].anchors()):
            out.append(f"{page.name}: {target}: no such heading")
    return out


def looks_like_a_path(word):
    """A path of this repository, or a file's name. Targets (west.1/slice.3), pointers and texts are not."""
    if not re.fullmatch(r"[\w.*…<>{}/-]+", word) or word.startswith(("/", "-")) or GENERATED.match(word):
        return False
    top = word.split("/")[0]
    return word.endswith(KINDS) or ("/" in word and top != "" and (ROOT / top).is_dir())


def missing_path(word, folder, names):
    """True for a path that is neither below the root nor beside the page, nor among `names` (of files known
    by their names alone). A placeholder stands for any name."""
    if word in names:
        return False
    pattern = PLACEHOLDER.sub("*", word).rstrip("/")
    if "/" not in word and any(fnmatch.fnmatch(name, pattern) for name in names):
        return False
    return not any(any(top.glob(pattern)) for top in (ROOT, folder))
