# SPDX-License-Identifier: Apache-2.0

"""Terms of real numbers, written as Python writes them, and the formulas of complex functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.jax._builder import element_of, shape_of


@dataclass
class Pair:
    """A complex number: two values of the new function, or two terms."""
    real: Any
    imag: Any

    def values(self):
        return Pair(self.real.value, self.imag.value)

    def __add__(self, other):
        return Pair(self.real + other.real, self.imag + other.imag)

    def __sub__(self, other):
        return Pair(self.real - other.real, self.imag - other.imag)

    def __mul__(self, other):
        return Pair(self.real * other.real - self.imag * other.imag, self.real * other.imag + self.imag * other.real)

    def __truediv__(self, other):
        """Both are scaled first: squares of large and of small numbers are no numbers."""
        scale = abs(other.real).max(abs(other.imag))
        scale = scale.where(scale.equals(0), scale.of(1))
        c, d = other.real / scale, other.imag / scale
        square = c * c + d * d
        return Pair((self.real * c + self.imag * d) / square / scale, (self.imag * c - self.real * d) / square / scale)


def parts_of(pair):
    return [pair.real, pair.imag]


@dataclass
class Term:
    build: Any
    value: Any

    def of(self, number):
        """A number, in this term's shape and type."""
        return Term(self.build, self.build.splat(number, shape_of(self.value), element_of(self.value)))

    def _binary(self, name, other):
        other = other if isinstance(other, Term) else self.of(other)
        return Term(self.build, self.build.binary(name, self.value, other.value))

    def __add__(self, other):
        return self._binary("add", other)

    def __sub__(self, other):
        return self._binary("subtract", other)

    def __mul__(self, other):
        return self._binary("multiply", other)

    def __truediv__(self, other):
        return self._binary("divide", other)

    def max(self, other):
        return self._binary("maximum", other)

    def min(self, other):
        return self._binary("minimum", other)

    def atan2(self, other):
        return self._binary("atan2", other)

    def __neg__(self):
        return self.call("negate")

    def __abs__(self):
        return self.call("abs")

    def call(self, name):
        return Term(self.build, self.build.unary(name, self.value))

    def equals(self, number):
        return self.build.compare("EQ", self.value, self.of(number).value)

    def is_below(self, number):
        return self.build.compare("LT", self.value, self.of(number).value)

    def where(self, condition, other):
        """The other term where the condition holds."""
        return Term(self.build, self.build.select(condition, other.value, self.value))


def magnitude(z):
    """Scaled, as a quotient is."""
    large, small = abs(z.real).max(abs(z.imag)), abs(z.real).min(abs(z.imag))
    ratio = small / large.where(large.equals(0), large.of(1))
    root = large * (ratio * ratio + 1).call("sqrt")
    # The ratio of two infinities is no number.
    return root.where(large.equals(float("inf")), large)


def _cos_sin(angle):
    return angle.call("cosine"), angle.call("sine")


def _cosh_sinh(x):
    less_one = x.call("exponential_minus_one")
    inverse = less_one / (less_one + 1)
    exponential = x.call("exponential")
    return (exponential + exponential.of(1) / exponential) * 0.5, (less_one + inverse) * 0.5


def exponential(z):
    size, (cos, sin) = z.real.call("exponential"), _cos_sin(z.imag)
    return Pair(size * cos, size * sin)


def exponential_minus_one(z):
    """exp(a) cos(b) - 1 is (exp(a) - 1) cos(b) - 2 sin(b / 2)^2."""
    cos, sin = _cos_sin(z.imag)
    half = (z.imag * 0.5).call("sine")
    return Pair(z.real.call("exponential_minus_one") * cos - half * half * 2, z.real.call("exponential") * sin)


def _log_of_root(square_less_one):
    return square_less_one.call("log_plus_one") * 0.5


def log(z):
    """Near one a^2 + b^2 - 1 is (a - 1) (a + 1) + b^2, where a is the larger one."""
    large, small = abs(z.real).max(abs(z.imag)), abs(z.real).min(abs(z.imag))
    size = magnitude(z).call("log").where(abs(large - 1).is_below(0.5), _log_of_root((large - 1) * (large + 1) + small * small))
    return Pair(size, z.imag.atan2(z.real))


def log_plus_one(z):
    """Where z is small |1 + z|^2 - 1 is a (2 + a) + b^2."""
    made = log(Pair(z.real + 1, z.imag))
    near = _log_of_root(z.real * (z.real + 2) + z.imag * z.imag)
    return Pair(made.real.where(abs(z.real).max(abs(z.imag)).is_below(0.5), near), made.imag)


def sqrt(z):
    """The root whose real part is not negative."""
    size = magnitude(z)
    root = ((size + abs(z.real)) * 0.5).call("sqrt")
    other = abs(z.imag) / (root * 2).where(root.equals(0), root.of(1))
    left = z.real.is_below(0)
    imag = other.where(left, root)
    return Pair(root.where(left, other), imag.where(z.imag.is_below(0), -imag))


def tanh(z):
    t, (cos, sin) = z.real.call("tanh"), _cos_sin(z.imag)
    size = cos * cos + t * t * sin * sin
    return Pair(t / size, sin * cos * (t.of(1) - t * t) / size)


def tan(z):
    """-i tanh(iz)."""
    turned = tanh(Pair(-z.imag, z.real))
    return Pair(turned.imag, -turned.real)


def sine(z):
    (cos, sin), (cosh, sinh) = _cos_sin(z.real), _cosh_sinh(z.imag)
    return Pair(sin * cosh, cos * sinh)


def cosine(z):
    (cos, sin), (cosh, sinh) = _cos_sin(z.real), _cosh_sinh(z.imag)
    return Pair(cos * cosh, -(sin * sinh))


def sinh(z):
    """-i sin(iz)."""
    turned = sine(Pair(-z.imag, z.real))
    return Pair(turned.imag, -turned.real)


def cosh(z):
    return cosine(Pair(-z.imag, z.real))


def sign(z):
    size = magnitude(z)
    size = size.where(size.equals(0), size.of(1))
    return Pair(z.real / size, z.imag / size)


def one_over(z):
    return Pair(z.real.of(1), z.real.of(0)) / z


def logistic(z):
    down = exponential(Pair(-z.real, -z.imag))
    return one_over(Pair(down.real + 1, down.imag))


def power(z, exponent):
    """exp(w log(z)); of zero it is zero for exponents with a positive real part, and one for zero."""
    made = exponential(exponent * log(z))
    is_zero, is_one = magnitude(z).equals(0), magnitude(exponent).equals(0)
    has_size = (-exponent.real).is_below(0)

    def settle(part, one):
        return part.where(is_zero, part.where(has_size, part.of(0))).where(is_one, part.of(one))

    return Pair(settle(made.real, 1), settle(made.imag, 0))


FORMULAS: dict[str, Callable[..., Any]] = {
    "add": Pair.__add__, "subtract": Pair.__sub__, "multiply": Pair.__mul__, "divide": Pair.__truediv__,
    "negate": lambda z: Pair(-z.real, -z.imag), "exponential": exponential, "log": log, "sqrt": sqrt,
    "exponential_minus_one": exponential_minus_one, "log_plus_one": log_plus_one, "rsqrt": lambda z: one_over(sqrt(z)),
    "square": lambda z: z * z, "sinh": sinh, "cosh": cosh, "sine": sine, "cosine": cosine, "tan": tan, "tanh": tanh, "sign": sign, "logistic": logistic, "power": power,
}
