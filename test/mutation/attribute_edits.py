# SPDX-License-Identifier: Apache-2.0
"""Edits of what a module in MLIR's generic form says of its ops beside their
properties, and of itself: orders, what attention weighs, shardings, meshes, the mode, the certificate, donations."""
import re

from line_edits import LineEdits

KINDS = ["order", "added_order", "attention", "sharding", "mesh", "mode", "certificate", "donation", "names"]
ORDER = r"weft\.order = #weft\.order<([^>]*)>"
# An op, or the end of one with regions.
OP = r"(?P<head>\s+(?:(?:%\S+ = )?\"(?P<name>[\w.]+)\"\([^)]*\)(?: <{.*}>)?|}\)))(?: {(?P<attributes>[^{}]*)})?(?P<type> : \(.*)"


class AttributeEdits(LineEdits):
    """Each method yields texts, without end."""

    def draw_order(self, old=""):
        leaves = int((re.search(r"leaves = (\d+)", old) or [0, 1])[1])
        fields = [f"leaves = {self.random.choice([1, 2, 4, 2 * leaves, max(1, leaves // 2), leaves])}"]
        if self.random.random() < 0.3:
            fields.append(f"lanes = {self.random.choice([1, 2, 4, 16])}")
        if self.random.random() < 0.2:
            fields.append("rounded = true")
        return f"weft.order = #weft.order<{', '.join(fields)}>"

    def make_order(self):
        return self.at_matches(ORDER, lambda match: self.draw_order(match[1]))

    def make_added_order(self):
        """On any op that has none."""
        sites = [(i, match) for i, line in enumerate(self.lines) if (match := re.fullmatch(OP, line)) and "weft.order" not in line]
        self.random.shuffle(sites)
        for i, match in sites:
            attributes = ", ".join([*([match["attributes"]] if match["attributes"] else []), self.draw_order()])
            yield self.with_line(i, f"{match['head']} {{{attributes}}}{match['type']}")

    def make_attention(self):
        """Which keys a query sees, and how it weighs them."""
        def edit(match):
            entries = dict(entry.split(" = ") for entry in match[1].split(", "))
            key = self.random.choice(["scale", "softcap", "fill", "left", "right", "dropout"])
            if key != "scale" and key in entries and self.random.random() < 0.5:
                del entries[key]
            else:
                window = key in ("left", "right")
                entries[key] = str(self.random.choice([0, 1, 2, 7])) if window else f"{self.random.choice([0.125, 0.5, 2.0, -3.0])} : f32"
            return f"#weft.attention<{', '.join(f'{key} = {value}' for key, value in entries.items())}>"
        return self.at_matches(r"#weft\.attention<([^>]*)>", edit)

    def make_sharding(self):
        """Of one value, or of all that have it: other axes cut a dimension, or it is stored in other parts."""
        known = sorted({axes for line in self.lines for text in re.findall(r"#weft\.sharding<[^>]*>", line)
                        for axes in re.findall(r"{[^{}]*}", text)} | {"{}"})
        while len(known) > 1:
            places = [(i, match) for i, line in enumerate(self.lines) for match in re.finditer(r"#weft\.sharding<[^>]*>", line)]
            i, match = self.random.choice(places)
            groups = list(re.finditer(r"{[^{}]*}", match[0]))
            if not groups:
                continue
            one, other = self.random.choice(groups), self.random.choice(known)
            new = match[0][:one.start()] + other + match[0][one.end():]
            if self.random.random() < 0.2:
                new = re.sub(r", storage = {[^}]*}", "", match[0])
            if new == match[0]:
                continue
            if self.random.random() < 0.3:
                yield self.text([line.replace(match[0], new) for line in self.lines])
            else:
                yield self.with_line(i, self.lines[i][:match.start()] + new + self.lines[i][match.end():])

    def make_mesh(self):
        """Another size of an axis, or axes that change places."""
        def edit(match):
            entries = match[1].split(", ")
            if len(entries) > 1 and self.random.random() < 0.5:
                self.random.shuffle(entries)
            else:
                i = self.random.randrange(len(entries))
                name, size = entries[i].split("=")
                entries[i] = f"{name}={self.random.choice([int(size) * 2, max(1, int(size) // 2), int(size) + 1])}"
            return f"#weft.mesh<[{', '.join(entries)}]>"
        return self.at_matches(r"#weft\.mesh<\[([^\]]*)\]>", edit)

    def make_mode(self):
        """What the whole module promises, or may round."""
        def edit(match):
            attributes = match[2].split(", weft.")
            i = self.random.randrange(len(attributes) + 1)
            if i == len(attributes):
                return f"{match[1]}{match[2]}, weft.tf32}}"
            dropped = [text for j, text in enumerate(attributes) if j != i]
            return match[1] + ", weft.".join(dropped) + "}"
        yield from self.at_matches(r"(^}\) {)(.*)}(?= : \(\))", edit)
        yield from self.at_matches(r"(?<=#weft\.invariance<axes = \[)[^\]]*(?=\])",
                                   lambda match: ", ".join(match[0].split(", ")[1:]))

    def make_certificate(self):
        """One digit, or one word."""
        def edit(match):
            i = self.random.randrange(len(match[1]))
            other = self.random.choice("0123456789abcdef")
            return f'weft.certificate = "{match[1][:i]}{other}{match[1][i + 1:]}"'
        return self.at_matches(r'weft\.certificate = "([^"]*)"', edit)

    def make_donation(self):
        def edit(match):
            return self.random.choice(["", f"weft.alias = {self.random.randrange(3)} : index, "])
        yield from self.at_matches(r"weft\.alias = \d+ : index, ", edit)
        yield from self.at_matches(r"(?<=, alias = )\d+", lambda match: str(self.random.randrange(3)))

    def make_names(self):
        """Of arguments and results: two that change places."""
        names = sorted({match for line in self.lines for match in re.findall(r'(?:weft\.name|<name) = ("[^"]*")', line)})
        while len(names) > 1:
            one, other = self.random.sample(names, 2)
            lines = [i for i, line in enumerate(self.lines) if one in line or other in line]
            some = lines if self.random.random() < 0.5 else [self.random.choice(lines)]
            swap = {one: other, other: one}
            pattern = re.compile("|".join(map(re.escape, (one, other))))
            yield self.text([pattern.sub(lambda m: swap[m[0]], line) if i in some else line for i, line in enumerate(self.lines)])
