# SPDX-License-Identifier: Apache-2.0
"""Edits of a module in MLIR's generic form, where each op has all of its properties, also those that a pretty form
does not print: flags, lists and enums of any op, raw constants, operands, arguments of blocks and of the function."""
import re

from line_edits import LineEdits

KINDS = ["flag", "unit", "enum", "number_of_list", "list_order", "key", "raw_constant", "operands", "block_arguments", "map_order",
         "maps", "border", "regions", "types_of_cast", "axes"]  # fmt: skip

ENUMS = [
    ["none", "nsw", "nuw", "nsw, nuw"],
    ["none", "nnan", "ninf", "nsz", "contract", "reassoc", "fast"],
    ["sum", "prod", "max", "min", "and", "or"],
    ["parallel", "reduction"],
    ["all_gather", "all_reduce", "reduce_scatter", "all_to_all", "permute"],
    ["compute", "reduce", "gather", "data"],
]  # fmt: skip
# Of ops that print them only where they have them.
UNITS = {"arith.divsi": "isExact", "arith.divui": "isExact", "arith.shrsi": "isExact", "arith.shrui": "isExact",
         "arith.extui": "nonNeg", "arith.uitofp": "nonNeg", "arith.index_castui": "nonNeg", "arith.ori": "isDisjoint",
         "scf.for": "unsignedCmp", "tensor.pad": "nofold"}  # fmt: skip
AXES = r"#weft\.axes<[^>]*>"


def split(text):
    """The entries of a list, at the commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "[{(<") - (c in "]})" or c == ">" and text[i - 1] != "-")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part.strip() for part in [*parts, text[start:]]]


def find_lists(line):
    """Where there are lists, from after the bracket to the one that closes it."""
    opened = []
    for i, c in enumerate(line):
        if c == "[":
            opened.append(i + 1)
        elif c == "]" and opened:
            yield opened.pop(), i
    for match in re.finditer(r"array<\w+: ([^>]*)>", line):
        yield match.span(1)


class GenericEdits(LineEdits):
    """Each method yields texts, without end."""

    def at_spans(self, find, edit):
        """One part of a line at a time."""
        found = [(i, span) for i, line in enumerate(self.lines) for span in find(line)]
        self.random.shuffle(found)
        for i, (begin, end) in found:
            line = self.lines[i]
            new = edit(line[begin:end])
            if new is not None and new != line[begin:end]:
                yield self.with_line(i, line[:begin] + new + line[end:])

    def exchange(self, entries):
        """Two entries of a list that differ, each at the other's place."""
        pairs = [(i, j) for i in range(len(entries)) for j in range(i) if entries[i] != entries[j]]
        if not pairs:
            return None
        i, j = self.random.choice(pairs)
        entries[i], entries[j] = entries[j], entries[i]
        return ", ".join(entries)

    # ---- properties

    def make_flag(self):
        return self.at_matches(r"(?<= = )(true|false)\b|(?<= = )-?\d+(?= : )",
                               lambda m: {"true": "false", "false": "true"}.get(m[0]) or str(self.random.choice([int(m[0]) + 1, int(m[0]) - 1, 0])))  # fmt: skip

    def make_unit(self):
        """What an op promises of its operands, or does without saying so."""
        def edit(match):
            unit = UNITS[match[1]]
            return f'"{match[1]}"{match[2]} <{{{unit}{", " if match[3] else ""}{match[3] or ""}}}>'
        ops = "|".join(map(re.escape, UNITS))
        return self.at_matches(rf'"({ops})"(\([^)]*\))(?: <{{([^}}]*)}}>)?', edit)

    def make_enum(self):
        def edit(match):
            groups = [group for group in ENUMS if match[0] in group]
            return self.random.choice([word for word in self.random.choice(groups) if word != match[0]]) if groups else None
        return self.at_matches(r"(?<=[< ])[a-z_]+(?=>)", edit)

    def make_number_of_list(self):
        def edit(text):
            entries = split(text)
            numbers = [i for i, entry in enumerate(entries) if re.fullmatch(r"-?\d+", entry)]
            if not numbers:
                return None
            i = self.random.choice(numbers)
            entries[i] = str(self.random.choice([int(entries[i]) + 1, int(entries[i]) - 1, 2 * int(entries[i]), 0]))
            return ", ".join(entries)
        return self.at_spans(find_lists, edit)

    def make_list_order(self):
        return self.at_spans(find_lists, lambda text: self.exchange(split(text)))

    def make_key(self):
        """A property that is left out."""
        return self.at_matches(r"(?<=[{ ])[\w.]+ = (?:[^,<>{}()\[\]]+|[@#\w.]+<[^<>{}()\[\]]*>)(, |(?=}))", lambda match: "")

    def make_raw_constant(self):
        def edit(match):
            i = self.random.randrange(len(match[1]))
            digit = self.random.choice([d for d in "0123456789ABCDEF" if d != match[1][i]])
            return f'dense<"0x{match[1][:i]}{digit}{match[1][i + 1:]}">'
        return self.at_matches(r'dense<"0x([0-9A-F]+)">', edit)

    # ---- values

    def make_operands(self):
        def edit(match):
            new = self.exchange(match[1].split(", "))
            return new and f"({new})"
        return self.at_matches(r'(?<=")\((%[^)]*)\)', edit)

    def make_block_arguments(self):
        """Those of loops, branches and kernels: each name stands where the other did."""
        def edit(match):
            arguments = [argument.split(": ", 1) for argument in split(match[1])]
            pairs = [(i, j) for i in range(len(arguments)) for j in range(i) if arguments[i][1] == arguments[j][1]]
            if not pairs:
                return None
            i, j = self.random.choice(pairs)
            arguments[i][0], arguments[j][0] = arguments[j][0], arguments[i][0]
            return "^bb0(" + ", ".join(": ".join(argument) for argument in arguments) + "):"
        return self.at_matches(r"\^bb0\((.*)\):", edit)

    def make_regions(self):
        """What is done if a condition holds, and what if it does not."""
        for i, line in enumerate(self.lines):
            indent = re.match(r"\s*", line)[0]
            if '"scf.if"' not in line:
                continue
            middle = next((j for j in range(i, len(self.lines)) if self.lines[j] == f"{indent}}}, {{"), None)
            end = next((j for j in range(i + 1, len(self.lines)) if self.lines[j].startswith(f"{indent}}})")), None)
            if middle and end:
                yield "\n".join([*self.lines[:i + 1], *self.lines[middle + 1:end], self.lines[middle],
                                 *self.lines[i + 1:middle], *self.lines[end:]]) + "\n"  # fmt: skip

    # ---- maps

    def make_map_order(self):
        def edit(match):
            new = self.exchange(split(match[2]))
            return new and f"affine_map<({match[1]}) -> ({new})>"
        return self.at_matches(r"affine_map<\(([^)]*)\) -> \(([^)]*)\)>", edit)

    def make_maps(self):
        """Two operands have each the other's map."""
        def edit(match):
            new = self.exchange(split(match[1]))
            return new and f"indexing_maps = [{new}]"
        return self.at_matches(r"indexing_maps = \[((?:affine_map<[^>]*>[^>]*>(?:, )?)+)\]", edit)

    # ---- the function

    def make_border(self):
        """Two arguments or results have each what the other is said to be."""
        def edit(match):
            new = self.exchange(split(match[2]))
            return new and f"{match[1]}_attrs = [{new}]{match[3]}"
        return self.at_matches(r"(arg|res)_attrs = \[(.*?)\](, function_type|, res_attrs|, sym_name)", edit)

    def make_types_of_cast(self):
        """Through a narrower type, or a wider one."""
        others = {"bf16": "f16", "f16": "bf16", "f32": "f64", "f64": "f32", "i8": "i16", "i16": "i8", "i64": "i16"}
        def edit(match):
            name, kind = match[1], match[4]
            return f'{name} = "{match[2]}"{match[3]} -> {others[kind]}' if kind in others else None
        return self.at_matches(r'(%\d+) = "(arith\.(?:ext|trunc|fpto|sito|uito)\w+)"(.*) -> (\w+)$', edit)

    # ---- collectives

    def make_axes(self):
        """One collective, or two of them, along other axes, or all of the mesh: what is right of the one may be
        wrong of the other."""
        sites = [i for i, line in enumerate(self.lines) if re.search(AXES, line) and '"weft.channel"' not in line]
        names = re.findall(r'"(\w+)"=\d+', "\n".join(self.lines))
        known = {axes for i in sites for axes in re.findall(AXES, self.lines[i])}
        known.add("#weft.axes<{" + ", ".join(f'"{name}"' for name in dict.fromkeys(names)) + "}>")
        while sites and len(known) > 1:
            some = self.random.sample(sites, min(len(sites), self.random.choice([1, 2])))
            axes = self.random.choice(sorted(known))
            yield self.text([re.sub(AXES, axes, line) if i in some else line for i, line in enumerate(self.lines)])
