"""Prints a table in Markdown: the errors of elementary functions in farcall and in XLA:CPU (jaxlib), compared
with exact results.

    accuracy.py [STEP]

The operands are all numbers of f16 and bf16, and every STEP-th number of f32 in the order of bit patterns.
For f64, they are random bit patterns and random numbers around zero. Errors are in units in the last place,
the distance between neighboring numbers at the exact result. Exact results are computed in f64 for the narrow
types (NumPy, SciPy), and by mpmath for f64.
"""

import sys
from functools import partial

import jax
import ml_dtypes
import mpmath
import numpy as np
import scipy.special
from sides import Farcall, Xla

STEP = int(sys.argv[1]) if len(sys.argv) > 1 else 251
# Number of values that one run computes.
CHUNK = 1 << 20
# Numbers of samples for f64, and for functions of two operands.
OF_F64, PAIRS = 4000, 1 << 20

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
BITS = {"f32": np.uint32, "f64": np.uint64, "f16": np.uint16, "bf16": np.uint16}

jax.config.update("jax_enable_x64", True)
mpmath.mp.prec = 120


# Operation, reference in f64, reference by mpmath.
UNARY = {
    "exponential": (np.exp, mpmath.exp),
    "exponential_minus_one": (np.expm1, mpmath.expm1),
    "log": (np.log, mpmath.log),
    "log_plus_one": (np.log1p, mpmath.log1p),
    "logistic": (scipy.special.expit, lambda x: 1 / (1 + mpmath.exp(-x))),
    "tanh": (np.tanh, mpmath.tanh),
    "sine": (np.sin, mpmath.sin),
    "cosine": (np.cos, mpmath.cos),
    "tan": (np.tan, mpmath.tan),
    "sqrt": (np.sqrt, mpmath.sqrt),
    "rsqrt": (lambda x: 1 / np.sqrt(x), lambda x: 1 / mpmath.sqrt(x)),
    "cbrt": (np.cbrt, lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x))),
    "chlo.sinh": (np.sinh, mpmath.sinh),
    "chlo.cosh": (np.cosh, mpmath.cosh),
    "chlo.asinh": (np.arcsinh, mpmath.asinh),
    "chlo.acosh": (np.arccosh, mpmath.acosh),
    "chlo.atanh": (np.arctanh, mpmath.atanh),
    "chlo.asin": (np.arcsin, mpmath.asin),
    "chlo.acos": (np.arccos, mpmath.acos),
    "chlo.atan": (np.arctan, mpmath.atan),
    "chlo.erf": (scipy.special.erf, mpmath.erf),
    "chlo.erfc": (scipy.special.erfc, mpmath.erfc),
    "chlo.erf_inv": (scipy.special.erfinv, mpmath.erfinv),
    "chlo.lgamma": (scipy.special.gammaln, lambda x: mpmath.log(abs(mpmath.gamma(x)))),
    "chlo.digamma": (scipy.special.digamma, mpmath.digamma),
    "chlo.bessel_i1e": (scipy.special.i1e, lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x))),
}
BINARY = {"power": (np.power, mpmath.power), "atan2": (np.arctan2, mpmath.atan2)}


def program(op, dtype, operands, n):
    name = op if "." in op else f"stablehlo.{op}"
    ty = f"tensor<{n}x{dtype}>"
    names = [f"%x{i}" for i in range(operands)]
    args = ", ".join(f"{x}: {ty}" for x in names)
    types = f"{ty} -> {ty}" if name.startswith("chlo.") else ty
    return f"func.func @main({args}) -> {ty} {{\n  %r = {name} {', '.join(names)} : {types}\n  return %r : {ty}\n}}"


def ulp(exact, dtype):
    """Returns the distance between neighboring numbers of a type at these values."""
    info = ml_dtypes.finfo(DTYPES[dtype])
    _, exponent = np.frexp(np.abs(exact))
    least = int(np.log2(float(info.smallest_normal))) if dtype != "f64" else -1022
    return np.ldexp(1.0, np.maximum(exponent - 1, least) - info.nmant)


class Errors:
    """The largest errors so far, separately for normal numbers and for subnormal operands or results."""

    def __init__(self):
        self.normal, self.subnormal, self.odd = (0.0, None), (0.0, None), 0

    def take(self, x, found, exact, rest, dtype):
        """Records the errors of results. All arguments but `dtype` are arrays: operands, results, exact
        results rounded to f64, and the remainders that this rounding leaves."""
        info = ml_dtypes.finfo(DTYPES[dtype])
        least = float(info.smallest_normal)
        limit = float(info.max)
        wide = found.astype(np.float64)
        with np.errstate(all="ignore"):
            # Values that are at least half a unit beyond the largest number round to infinity.
            overflows = np.abs(exact) >= limit + ulp(np.array(limit), dtype) / 2 if dtype != "f64" else np.isinf(exact)
            exact = np.where(overflows & ~np.isnan(exact), np.copysign(np.inf, exact), exact)
            finite = np.isfinite(exact)
            # If the exact result is within four units of the largest number, an infinite result is accepted.
            edge = finite & np.isinf(wide) & (np.abs(exact) > limit * (1 - 4 * float(info.eps)))
            odd = ~finite & ~((np.isnan(wide) & np.isnan(exact)) | (wide == exact))
            odd |= finite & ~np.isfinite(wide) & ~edge
            error = np.where(finite & np.isfinite(wide), np.abs(wide - exact - rest) / ulp(exact, dtype), 0.0)
        self.odd += int(odd.sum())
        small = (np.abs(exact) < least) & (exact != 0)
        for operand in x:
            operand = operand.astype(np.float64)
            small |= (np.abs(operand) < least) & (operand != 0)
        for name, mask in (("normal", ~small), ("subnormal", small)):
            of = np.where(mask, error, 0.0)
            at = int(of.argmax())
            if of[at] > getattr(self, name)[0]:
                setattr(self, name, (float(of[at]), [float(o[at]) for o in x]))

    def text(self):
        def one(pair):
            return f"{pair[0]:.3g}" if pair[0] < 1e5 else f"{pair[0]:.0e}"

        where = self.normal[1]
        at = "" if where is None else ", ".join(f"{v:.6g}" for v in where)
        return [one(self.normal), at, one(self.subnormal), str(self.odd) if self.odd else ""]


def numbers(dtype):
    """Yields the operands of a function, in chunks of equal size."""
    bits = BITS[dtype]
    if dtype in ("f16", "bf16"):
        yield np.arange(1 << 16, dtype=np.uint32).astype(bits).view(DTYPES[dtype])
    elif dtype == "f64":
        yield np.random.default_rng(1).integers(0, 1 << 64, OF_F64, dtype=np.uint64).view(np.float64)
        near = np.random.default_rng(2).standard_normal(OF_F64) * 4
        yield near
    else:
        all_of_them = -(-(1 << 32) // STEP)
        for begin in range(0, all_of_them, CHUNK):
            number = np.arange(begin, begin + CHUNK, dtype=np.uint64) * STEP % (1 << 32)
            yield number.astype(bits).view(np.float32)


def exact_f64(by, columns):
    """Computes exact results by mpmath: the nearest f64, and the remainder."""
    high = np.empty(len(columns[0]))
    rest = np.empty_like(high)
    for i, row in enumerate(zip(*columns, strict=True)):
        try:
            value = by(*(mpmath.mpf(float(v)) for v in row))
            value = mpmath.nan if isinstance(value, mpmath.mpc) and value.imag != 0 else mpmath.mpf(mpmath.re(value))
        except (ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.NoConvergence):
            value = mpmath.nan
        high[i] = float(value)
        rest[i] = float(value - mpmath.mpf(high[i])) if np.isfinite(high[i]) else 0.0
    return high, rest


def measured(op, dtype, references, pairs=False):
    """Returns a row of the table. An exception has the reason for leaving the row out."""
    in_f64, by_mpmath = references
    count = 2 if pairs else 1
    errors, sides = {"farcall": Errors(), "xla": Errors()}, {}
    if pairs:
        rng = np.random.default_rng(3)
        n = OF_F64 if dtype == "f64" else PAIRS
        some = [(rng.standard_normal((2, n)) * 8).astype(DTYPES[dtype])]
        bits = rng.integers(0, 1 << (8 * np.dtype(BITS[dtype]).itemsize), (2, n), dtype=BITS[dtype])
        chunks = [tuple(pair) for pair in [*some, bits.view(DTYPES[dtype])]]
        if op == "power":
            chunks = [(np.abs(x), y) for x, y in chunks]
    else:
        chunks = ((x,) for x in numbers(dtype))
    total = 0
    for columns in chunks:
        n = len(columns[0])
        if not sides:
            text = program(op, dtype, count, n)
            sides = {"farcall": Farcall(text), "xla": Xla(text)}
        total += n
        known = [~np.isnan(c.astype(np.float64)) for c in columns]
        keep = np.logical_and.reduce(known)
        with np.errstate(all="ignore"):
            if dtype == "f64":
                exact, rest = exact_f64(by_mpmath, columns)
                # Operands without a real result are not compared.
                keep &= ~np.isnan(exact)
            else:
                exact = in_f64(*(c.astype(np.float64) for c in columns))
                rest = np.zeros_like(exact)
        for name, side in sides.items():
            found = np.asarray(side.run(side.prepare(list(columns)))[0])
            operands = [c[keep] for c in columns]
            errors[name].take(operands, found[keep], exact[keep], rest[keep], dtype)
    name = op.removeprefix("chlo.")
    return [f"`{name}`", dtype, f"{total:,}", *errors["farcall"].text(), *errors["xla"].text()]


def main():
    heads = ["function", "type", "numbers"]
    for side in ("farcall", "XLA"):
        heads += [f"{side}: error", "at", "subnormal", "other"]
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    for dtype in DTYPES:
        for operations, pairs in ((UNARY, False), (BINARY, True)):
            for op, references in operations.items():
                row = partial(measured, op, dtype, references, pairs)
                try:
                    print("| " + " | ".join(row()) + " |", flush=True)
                except (ValueError, RuntimeError) as error:
                    reason = str(error).splitlines()[0]
                    print(f"| `{op.removeprefix('chlo.')}` | {dtype} | left out: {reason} |" + " |" * 8, flush=True)


main()
