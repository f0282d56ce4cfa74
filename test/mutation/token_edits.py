# SPDX-License-Identifier: Apache-2.0
"""Edits of single tokens and lines of any module's text, whatever they mean. What
comes out may be no program, or the same one."""
import re

from line_edits import LineEdits

GROUPS = [
    ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"],
    ["oeq", "one", "olt", "ole", "ogt", "oge", "une", "ord", "uno"],
    ["sum", "prod", "max", "min", "and", "or"],
    ["arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori", "arith.maxsi", "arith.minsi",
     "arith.maxui", "arith.minui", "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.shli", "arith.shrsi",
     "arith.shrui", "arith.floordivsi", "arith.ceildivsi"],
    ["arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.maximumf", "arith.minimumf", "arith.maxnumf"],
    ["arith.extsi", "arith.extui", "arith.trunci", "arith.bitcast"],
    ["arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui"],
    ["arith.index_cast", "arith.index_castui"],
    ["math.ctpop", "math.ctlz", "math.cttz", "math.absi"],
    ["math.exp", "math.exp2", "math.log", "math.tanh", "math.absf", "math.sqrt", "math.rsqrt", "math.erf"],
    ["weft.all_gather", "weft.all_reduce", "weft.reduce_scatter", "weft.all_to_all", "weft.permute"],
    ["true", "false"], ["linalg.index", "weft.axis_index"],
]  # fmt: skip
OTHERS = {word: group for group in GROUPS for word in group}
WORD = r"(?<![\w.%@#])(" + "|".join(sorted(map(re.escape, OTHERS), key=len, reverse=True)) + r")(?![\w.])"
FLOAT = r"(?<![\w.%#@\"-])-?\d+\.\d+(?:[eE][+-]?\d+)?(?![\w.])"
NUMBER = r"(?<![\w.%#@\"-])-?\d+(?![\w.])"  # none of a type
KINDS = ["number", "float", "name", "exchanged_names", "result", "word", "map", "iterator", "string", "attribute",
         "swapped_lines", "dropped_line", "doubled_line", "rank"]  # fmt: skip


class TokenEdits(LineEdits):
    """Each method yields texts, without end."""

    def choose(self, words, but):
        words = [word for word in words if word != but]
        return self.random.choice(words) if words else None

    def make_number(self):
        def edit(match):
            number = int(match[0])
            return str(self.random.choice([number + 1, number - 1, 0, 1, 2 * number, -number]))
        return self.at_matches(NUMBER, edit)

    def make_float(self):
        def edit(match):
            number = float(match[0])
            return f"{self.random.choice([number * 2, number + 1, -number, number * 0.999, 0.0]):.8e}"
        return self.at_matches(FLOAT, edit)

    def find_all(self, pattern):
        return sorted(set(re.findall(pattern, "\n".join(self.lines))))

    def find_types(self):
        """Of names, as far as their lines tell."""
        types = {}
        for i, line in enumerate(self.lines):
            made = re.match(r"\s*(%\w+) = .*(?:->|to|:) (\S+)$", line)
            for name, kind in [made.groups()] if made else re.findall(r"(%\w+): ([\w<>]+)", line):
                types.setdefault(name, (kind, i))
            body = re.match(r"\s*} -> (\S+)$", line)
            if body:  # its result stands before it
                heads = [re.match(r"    (%\w+) = [^{]*$|    (%\w+) = .*{$", before) for before in self.lines[:i]]
                heads = [head for head in heads if head]
                if heads:
                    types.setdefault(heads[-1][1] or heads[-1][2], (body[1], i))
        return types

    def make_name(self):
        """Another value of the same type that may be seen there."""
        types = self.find_types()
        for i in self.random.sample(range(len(self.lines)), len(self.lines)):
            used = [m for m in re.finditer(r"%\w+(?![\w:]| =)", self.lines[i]) if m.start() > len(self.lines[i]) - len(self.lines[i].lstrip())]
            self.random.shuffle(used)
            for match in used[:2]:
                kind, _ = types.get(match[0], (None, 0))
                new = self.choose([n for n, (k, at) in types.items() if k == kind and at < i], match[0]) if kind else None
                if new:
                    line = self.lines[i]
                    yield self.with_line(i, line[:match.start()] + new + line[match.end():])

    def make_exchanged_names(self):
        return self.at_matches(r"(%[\w#]+)(, )(%[\w#]+)", lambda m: m[3] + m[2] + m[1])

    def make_result(self):
        return self.at_matches(r"(%\w+)#(\d+)", lambda m: f"{m[1]}#{self.random.choice([0, 1, 2])}")

    def make_word(self):
        return self.at_matches(WORD, lambda match: self.choose(OTHERS[match[0]], match[0]))

    def make_map(self):
        def edit(match):
            terms = match[2].split(", ")
            dims = re.findall(r"d\d+", match[1])
            i = self.random.randrange(len(terms))
            terms[i] = self.random.choice([*dims, terms[i - 1], f"{terms[i]} + 1", "0"])
            return f"affine_map<({match[1]}) -> ({', '.join(terms)})>"
        return self.at_matches(r"affine_map<\(([^)]+)\) -> \(([^)]+)\)>", edit)

    def make_iterator(self):
        return self.at_matches(r'"(parallel|reduction)"', lambda m: '"reduction"' if m[1] == "parallel" else '"parallel"')

    def make_string(self):
        names = self.find_all(r'"\w+"')
        return self.at_matches(r'"\w+"', lambda match: self.choose(names, match[0]))

    def make_attribute(self):
        """One that is left out."""
        return self.at_matches(r"(?<=[{ ])[\w.]+ = [^,<>{}()\[\]]+(, |(?=}))", lambda match: "")

    def at_lines(self, edit):
        sites = [i for i, line in enumerate(self.lines) if re.match(r"\s+[%\w]", line)]
        self.random.shuffle(sites)
        for i in sites:
            yield self.text(edit(list(self.lines), i))

    def make_swapped_lines(self):
        def edit(lines, i):
            j = min(i + self.random.randint(1, 2), len(lines) - 1)
            lines[i], lines[j] = lines[j], lines[i]
            return lines
        return self.at_lines(edit)

    def make_dropped_line(self):
        return self.at_lines(lambda lines, i: lines[:i] + lines[i + 1:])

    def make_doubled_line(self):
        """The second one has names of its own."""
        def edit(lines, i):
            head = re.match(r"(\s+)%\w+((?::\d+)? = )", lines[i])
            second = f"{head[1]}%doubled{head[2]}{lines[i][head.end():]}" if head else lines[i]
            return lines[:i + 1] + [second] + lines[i + 1:]
        return self.at_lines(edit)

    def make_rank(self):
        """An op takes the part of another rank, or all that asked there do."""
        sites = [i for i, line in enumerate(self.lines) if re.match(r"\s+%\w+ = weft\.axis_index", line)]
        self.random.shuffle(sites)
        for i in sites:
            name = re.match(r"\s+(%\w+)", self.lines[i])[1]
            added = ["    %other_one = arith.constant 1 : index", f"    %other_rank = arith.xori {name}, %other_one : index"]
            uses = [j for j, line in enumerate(self.lines) if j > i and re.search(name + r"\b", line)]
            for some in [uses, *([use] for use in self.random.sample(uses, min(2, len(uses))))]:
                rest = [re.sub(name + r"\b", "%other_rank", line) if j in some else line
                        for j, line in enumerate(self.lines) if j > i]
                yield self.text([*self.lines[:i + 1], *added, *rest])
