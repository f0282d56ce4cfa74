# SPDX-License-Identifier: Apache-2.0
"""Edits of the text of a program, each of which could be a bug of a compiler.
What comes out may be no program, or compute the same."""
import random
import re


class Edits:
    """Edits of the lines of a function; each method yields texts."""

    def __init__(self, text, seed):
        lines = text.rstrip().split("\n")
        begin = next(i for i, line in enumerate(lines) if "func.func" in line) + 1
        end = begin + next(i for i, line in enumerate(lines[begin:]) if line == "  }")
        self.before, self.lines, self.after = lines[:begin], lines[begin:end], lines[end:]
        self.random = random.Random(seed)
        # Of each value, where that can be told from the text.
        self.types = {}
        for line in self.lines:
            match = re.match(r"\s*(%\w+) = .*?(?:->|:) (tensor<[^>]*>)$", line)
            if match:
                self.types[match[1]] = match[2]
        # The result of an op with a body stands before it, its type after.
        name = None
        for line in self.lines:
            match = re.match(r"    (%\w+) = linalg\.generic", line)
            name = match[1] if match else name
            match = re.match(r"    } -> (tensor<[^>]*>)$", line)
            if match and name:
                self.types[name] = match[1]

    def text(self, lines):
        return "\n".join(self.before + lines + self.after) + "\n"

    def sites(self, pattern):
        sites = [i for i, line in enumerate(self.lines) if re.search(pattern, line)]
        self.random.shuffle(sites)
        return sites

    def edited(self, pattern, edit):
        """One line at a time, of those that match, given to `edit`."""
        for site in self.sites(pattern):
            line = edit(self.lines[site])
            if line != self.lines[site]:
                yield self.text(self.lines[:site] + [line] + self.lines[site + 1:])

    def substituted(self, pattern, replacement):
        return self.edited(pattern, lambda line: self.substitute(pattern, replacement, line))

    def substitute(self, pattern, replacement, line):
        """At one of the places of the line."""
        match = self.random.choice(list(re.finditer(pattern, line)))
        new = replacement(match) if callable(replacement) else match.expand(replacement)
        return line[:match.start()] + new + line[match.end():]

    def make_other_op(self):
        swaps = {"addf": "subf", "subf": "addf", "mulf": "addf", "maximumf": "minimumf",
                 "divf": "mulf", "minimumf": "maximumf", "addi": "subi", "andi": "ori",
                 "ori": "andi"}
        return self.substituted(rf"arith\.({'|'.join(swaps)})\b",
                                lambda m: "arith." + swaps[m[1]])

    def make_other_function(self):
        swaps = {"exp": "exp2", "cos": "sin", "sqrt": "rsqrt"}
        return self.substituted(r"math\.(exp|log|cos|sin|sqrt|rsqrt|tanh|erf)\b",
                                lambda m: "math." + swaps.get(m[1], "exp"))

    def make_other_predicate(self):
        swaps = {"slt": "sle", "ult": "ule", "eq": "ne", "ogt": "oge", "olt": "ole",
                 "oge": "ogt", "sgt": "sge", "une": "oeq", "oeq": "une", "ole": "olt"}
        return self.substituted(rf"(arith\.cmp[if] )({'|'.join(swaps)})\b",
                                lambda m: m[1] + swaps[m[2]])

    def make_other_constant(self):
        def edit(match):
            number = match[2]
            return match[1] + (str(int(number) + 1) if number.lstrip("-").isdigit()
                               else f"{float(number) * 1.5 + 1.0:e}")
        return self.substituted(r"(arith\.constant (?:dense<)?)(-?\d[\d.e+-]*)(?= |>)", edit)

    def make_swapped_operands(self):
        return self.substituted(r"(arith\.(?:subf|divf|cmp[if] \w+,|remsi) ?)(%\w+), (%\w+)",
                                r"\1\3, \2")

    def make_swapped_choice(self):
        return self.substituted(r"(arith\.select %\w+, )(%\w+), (%\w+)", r"\1\3, \2")

    def make_no_op(self):
        """What an op makes is its first operand."""
        for site in self.sites(r"^ +(%\w+) = (arith|math)\.\w+ .*%\w+"):
            line = self.lines[site]
            result = re.match(r" +(%\w+) =", line)[1]
            operand = re.findall(r"%\w+", line)[1]
            edited = list(self.lines)
            for i in range(site + 1, len(self.lines)):
                edited[i] = re.sub(re.escape(result) + r"\b", operand, edited[i])
                if "linalg.yield" in edited[i]:
                    break
            yield self.text(edited)

    def make_other_map(self):
        def edit(match):
            results = match[2].split(", ")
            if len(results) < 2:
                return match[0]
            i = self.random.randrange(len(results) - 1)
            results[i], results[i + 1] = results[i + 1], results[i]
            return f"{match[1]}({', '.join(results)})>"
        return self.substituted(r"(affine_map<\([^)]*\) -> )\(([^)]*)\)>", edit)

    def make_other_iterator(self):
        return self.substituted(r'"(parallel|reduction)"', lambda m:
                                '"reduction"' if m[1] == "parallel" else '"parallel"')

    def make_other_index(self):
        return self.substituted(r"linalg\.index (\d)", lambda m: f"linalg.index {1 - int(m[1])}")

    def make_swapped_inputs(self):
        """Of a kernel, generic or product, of one type or not."""
        def edit(match):
            operands = match[2].split(", ")
            i, j = self.random.sample(range(len(operands)), 2)
            operands[i], operands[j] = operands[j], operands[i]
            return match[1] + ", ".join(operands) + match[3]
        yield from self.substituted(r"(ins\()(%[\w#]+(?:, %[\w#]+)+)( :)", edit)
        yield from self.substituted(r"(weft\.matmul )(%[\w#]+, %[\w#]+)( \{)", edit)

    def make_swapped_yields(self):
        def edit(match):
            values = match[2].split(", ")
            i, j = self.random.sample(range(len(values)), 2)
            values[i], values[j] = values[j], values[i]
            return match[1] + ", ".join(values) + match[3]
        return self.substituted(r"((?:yield|return) )(%[\w#]+(?:, %[\w#]+)+)( :)", edit)

    def make_other_operand(self):
        """Another tensor of the same type."""
        def edit(line):
            operands = re.search(r"ins\((%[^:]*) : ", line) or re.search(
                r"= weft\.\w+ +(?:sum |max )?(%[^{:o]*) ", line)
            if not operands:
                return line
            old = self.random.choice(re.findall(r"%\w+", operands[1]))
            same = [name for name, kind in self.types.items()
                    if kind == self.types.get(old) and name != old]
            if not same:
                return line
            return re.sub(re.escape(old) + r"\b", self.random.choice(same), line, count=1)
        return self.edited(r"linalg\.generic|weft\.", edit)

    def make_other_value(self):
        """A use of something else that is there."""
        names = sorted(set(re.findall(r"%[a-z]*\d+\b", "\n".join(self.lines))))
        return self.substituted(r"(?<== )([^%]*)(%[\w]+)", lambda m: m[1] + self.random.choice(names))

    def make_other_result(self):
        return self.substituted(r"(%\w+)#(\d)", lambda m: f"{m[1]}#{(int(m[2]) + 1) % 3}")

    def make_other_offset(self):
        return self.substituted(r"((?:extract|insert)_slice [^\[]*\[(?:\d+, )*)(\d+)",
                                lambda m: m[1] + str(max(0, int(m[2]) + self.random.choice([-1, 1, 2]))))

    def make_swapped_parts(self):
        return self.substituted(r"(tensor\.concat dim\(\d\) )(%[\w#]+), (%[\w#]+)", r"\1\3, \2")

    def make_other_extract(self):
        def edit(match):
            indices = match[2].split(", ")
            i, j = self.random.sample(range(len(indices)), 2)
            indices[i], indices[j] = indices[j], indices[i]
            return match[1] + ", ".join(indices) + "]"
        return self.substituted(r"(tensor\.extract %\w+\[)(%\w+(?:, %\w+)+)\]", edit)

    def make_other_axis_index(self):
        return self.substituted(r'(weft\.axis_index .*?)"(\w+)"', lambda m: m[1] + (
            '"tp"' if m[2] != "tp" else '"fsdp"'))

    # Collectives.

    def make_other_kind(self):
        return self.substituted(r"(weft\.(?:all_reduce|reduce_scatter) +)(sum|max)",
                                lambda m: m[1] + ("max" if m[2] == "sum" else "sum"))

    def make_other_axis(self):
        axes = re.findall(r'"(\w+)"=', next(l for l in self.before if "weft.mesh" in l))
        return self.substituted(r'(@mesh <\{)"\w+"\}>',
                                lambda m: f'{m[1]}"{self.random.choice(axes)}"}}>')

    def make_swapped_axes(self):
        return self.substituted(r'<\{"(\w+)", "(\w+)"\}>', r'<{"\2", "\1"}>')

    def make_other_moved_dim(self):
        return self.substituted(r"\b(dims|split|concat) \[(\d)", lambda m:
                                f"{m[1]} [{1 - int(m[2]) % 2}")

    # Orders.

    def make_fewer_leaves(self):
        return self.substituted(r"leaves = (8|4|2)", lambda m: f"leaves = {int(m[1]) // 2}")

    def make_more_leaves(self):
        return self.substituted(r"leaves = (\d+)", lambda m: f"leaves = {int(m[1]) * 2}")

    def make_lanes(self):
        return self.edited(r"linalg.generic.*#weft\.order<", lambda line:
                           re.sub(", lanes = 16", ", lanes = 8", line) if "lanes" in line
                           else re.sub(r"(leaves = \d+)", r"\1, lanes = 2", line))

    def make_rounded(self):
        return self.substituted(r"(weft\.matmul.*leaves = \d+)", r"\1, rounded = true")

    def make_no_order(self):
        return self.substituted(r"(, )?weft\.order = #weft\.order<[^>]*>", "")

    def make_fast_math(self):
        return self.substituted(r"(arith\.(?:addf|mulf) %\w+, %\w+) :", r"\1 fastmath<reassoc> :")

    # Harmless ones.

    def make_itself(self):
        yield self.text(self.lines)

    def make_renamed(self):
        names = re.findall(r"^    (%\d+) =", "\n".join(self.lines), re.M)
        name = self.random.choice(names)
        yield self.text([re.sub(re.escape(name) + r"\b", "%renamed", line)
                         for line in self.lines])
