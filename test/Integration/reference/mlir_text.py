# SPDX-License-Identifier: Apache-2.0
"""Reads MLIR's generic text form: ops, regions, attributes, types.

Only what weft's modules contain. Types become strings ("f32", "index") or
Tensor values; attributes become Python values; attributes of dialects stay
text, as Opaque.
"""

import dataclasses
import re

TOKEN = re.compile(
    r"""\s*(?:
    (?P<string>"(?:[^"\\]|\\.)*") |
    (?P<number>-?(?:0x[0-9A-Fa-f]+|\d+\.\d*(?:[eE][-+]?\d+)?|\d+)) |
    (?P<name>[%@^#]?[A-Za-z_$0-9.][\w$.:]*(?<!:)) |
    (?P<punct>->|[^\s])
    )""",
    re.X,
)


@dataclasses.dataclass(frozen=True)
class Tensor:
    shape: tuple
    element: str


@dataclasses.dataclass(frozen=True)
class Opaque:
    text: str


@dataclasses.dataclass(frozen=True)
class AffineMap:
    num_dims: int
    results: tuple  # of Python expressions over a list d


@dataclasses.dataclass
class Dense:
    values: object  # nested lists, or one number
    type: Tensor


@dataclasses.dataclass
class Region:
    args: list  # of (name, type)
    ops: list


@dataclasses.dataclass
class Op:
    name: str
    results: list
    operands: list
    attrs: dict
    regions: list
    operand_types: list
    result_types: list


class ParseError(Exception):
    pass


class Parser:
    def __init__(self, text):
        self.text = re.sub(r"^\s*//.*$", "", text, flags=re.M)
        self.pos = 0
        self.aliases = {}

    # ---- tokens

    def skip(self):
        while self.pos < len(self.text) and self.text[self.pos].isspace():
            self.pos += 1

    def peek(self, literal):
        self.skip()
        return self.text.startswith(literal, self.pos)

    def accept(self, literal):
        if self.peek(literal):
            self.pos += len(literal)
            return True
        return False

    def expect(self, literal):
        if not self.accept(literal):
            near = self.text[self.pos : self.pos + 60]
            raise ParseError(f"expected {literal!r} at {near!r}")

    def match(self, pattern):
        self.skip()
        found = re.compile(pattern).match(self.text, self.pos)
        if not found:
            return None
        self.pos = found.end()
        return found.group(0)

    def need(self, pattern):
        found = self.match(pattern)
        if found is None:
            near = self.text[self.pos : self.pos + 60]
            raise ParseError(f"expected {pattern} at {near!r}")
        return found

    def balanced(self):
        """Reads <...> and returns what stands inside."""
        self.expect("<")
        start, depth = self.pos, 1
        while depth:
            c = self.text[self.pos]
            if c == '"':
                self.need(r'"(?:[^"\\]|\\.)*"')
                continue
            if self.text.startswith("->", self.pos):
                self.pos += 2
                continue
            depth += {"<": 1, ">": -1}.get(c, 0)
            self.pos += 1
        return self.text[start : self.pos - 1]

    def list_of(self, read, end):
        items = []
        while not self.accept(end):
            items.append(read())
            if not self.accept(","):
                self.expect(end)
                break
        return items

    # ---- types

    def type(self):
        if self.accept("("):
            ins = self.list_of(self.type, ")")
            self.expect("->")
            return ("func", ins, self.result_types())
        if self.accept("tensor"):
            parts = self.balanced().split("x")
            dims = []
            while parts and parts[0].strip().isdigit():
                dims.append(int(parts.pop(0)))
            return Tensor(tuple(dims), "x".join(parts).strip())
        return self.need(r"[A-Za-z]\w*")

    def result_types(self):
        if self.accept("("):
            return self.list_of(self.type, ")")
        return [self.type()]

    # ---- attributes

    def number(self):
        text = self.need(r"-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*(?:[eE][-+]?\d+)?)?)")
        if "0x" in text:
            return ("bits", int(text, 16))
        return float(text) if re.search(r"[.eE]", text) else int(text)

    def dense_value(self):
        if self.accept("["):
            return self.list_of(self.dense_value, "]")
        if self.match("true"):
            return True
        if self.match("false"):
            return False
        if self.peek('"'):
            return ("hex", self.need(r'"[^"]*"')[1:-1])
        return self.number()

    def attribute(self):
        if self.accept("["):
            return self.list_of(self.attribute, "]")
        if self.peek("{"):
            return self.dictionary("{", "}")
        if self.peek('"'):
            return self.need(r'"(?:[^"\\]|\\.)*"')[1:-1]
        if self.peek("@"):
            return self.need(r"@[\w$.]+")
        if self.peek("#"):
            return self.hash_attribute()
        if self.accept("array"):
            body = self.balanced().split(":", 1)
            items = body[1].split(",") if len(body) > 1 else []
            return [int(x) if "e" not in x else x.strip() for x in items]
        if self.accept("dense"):
            self.expect("<")
            value = [] if self.peek(">") else self.dense_value()
            self.expect(">")
            self.expect(":")
            return Dense(value, self.type())
        if self.accept("affine_map"):
            return parse_map(self.balanced())
        if self.match(r"(true|false)\b"):
            return self.text[self.pos - 4 : self.pos] == "true"
        if self.match(r"unit\b"):
            return True
        if self.match(r"(?=-?\d)") is not None:
            value = self.number()
            if self.accept(":"):
                self.type()
            return value
        return self.type()

    def hash_attribute(self):
        name = self.need(r"#[\w$.]+")
        if self.peek("<"):
            return Opaque(f"{name}<{self.balanced()}>")
        return self.aliases.get(name, Opaque(name))

    def dictionary(self, begin, end):
        def entry():
            key = self.need(r'"[^"]*"|[\w$.]+').strip('"')
            return key, (self.attribute() if self.accept("=") else True)

        self.expect(begin)
        return dict(self.list_of(entry, end))

    # ---- ops

    def value(self):
        return self.need(r"%[\w$.]+(?:#\d+)?")

    def op(self):
        results = []
        if self.peek("%"):
            while True:
                name = self.need(r"%[\w$.]+")
                count = int(self.need(r"\d+")) if self.accept(":") else 0
                results += [f"{name}#{i}" for i in range(count)] or [name]
                if not self.accept(","):
                    break
            self.expect("=")
        name = self.need(r'"[^"]*"')[1:-1]
        self.expect("(")
        operands = self.list_of(self.value, ")")
        attrs = {}
        if self.accept("<"):
            attrs.update(self.dictionary("{", "}"))
            self.expect(">")
        regions = []
        if self.accept("("):
            regions = self.list_of(self.region, ")")
        if self.peek("{"):
            attrs.update(self.dictionary("{", "}"))
        self.expect(":")
        self.expect("(")
        ins = self.list_of(self.type, ")")
        self.expect("->")
        outs = self.result_types()
        return Op(name, results, operands, attrs, regions, ins, outs)

    def region(self):
        def argument():
            name = self.value()
            self.expect(":")
            return name, self.type()

        self.expect("{")
        args = []
        if self.match(r"\^\w+"):
            if self.accept("("):
                args = self.list_of(argument, ")")
            self.expect(":")
        ops = []
        while not self.accept("}"):
            ops.append(self.op())
        return Region(args, ops)

    def module(self):
        while self.peek("#"):
            name = self.need(r"#\w+")
            self.expect("=")
            self.aliases[name] = self.attribute()
        return self.op()


def parse_map(text):
    dims, results = text.split("->", 1)
    names = [d.strip() for d in dims.strip()[1:-1].split(",") if d.strip()]
    body = results.strip()[1:-1].replace("floordiv", "//").replace("mod", "%")
    exprs = [e.strip() for e in body.split(",") if e.strip()]
    for i, name in enumerate(names):
        exprs = [re.sub(rf"\b{re.escape(name)}\b", f"d[{i}]", e) for e in exprs]
    return AffineMap(len(names), tuple(exprs))


def parse(text):
    """Returns the module op of a generic dump."""
    return Parser(text).module()
