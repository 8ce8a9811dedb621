"""Rewrites the text of a program for another precision: the same operations on wider or narrower floats.

Integers keep their width. Floats that are reinterpreted as bits (`bitcast_convert`) are converted to their
original width for that operation only.
"""

import re

import ml_dtypes
import numpy as np

FLOATS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}
_NAMES = "|".join(sorted(FLOATS, key=len, reverse=True))
_TYPE = re.compile(rf"(?<![\w@%.\"#])((?:[0-9?]+x)*)({_NAMES})(?![\w.])")
_DENSE = re.compile(rf"dense<([^>]*)> : tensor<((?:[0-9]+x)*)(complex<)?({_NAMES})>")
_SCALAR = re.compile(rf"(?<![\w.])(-?[0-9][\w.+-]*) : ({_NAMES})(?!\w)")
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|-?[0-9][0-9.]*(?:[eE][+-]?[0-9]+)?")
_BITCAST = re.compile(r"^(\s*)(%\S+) = stablehlo\.bitcast_convert (%\S+) : \((.*)\) -> (.*)$", re.MULTILINE)
_LAPACK = re.compile(r"@(lapack_)([sdcz])(?=[a-z])")
_ALGORITHM = re.compile(r", algorithm = <[^>]*>")


class NoShadow(Exception):
    """The program cannot be written in another precision."""


def widened(text: str) -> str:
    """Replaces all floats narrower than `f64` by `f64`."""
    return _changed(text, {name: "f64" for name in FLOATS if name != "f64"}, {"s": "d", "c": "z"})


def narrowed(text: str) -> str:
    """Replaces `f64` by `f32`."""
    return _changed(text, {"f64": "f32"}, {"d": "s", "z": "c"})


def _changed(text: str, names: dict[str, str], lapack: dict[str, str]) -> str:
    if "!quant" in text:
        raise NoShadow("quantized types")
    text = _ALGORITHM.sub("", text)
    text = _BITCAST.sub(lambda m: _bitcast(m, names), text)
    text = _DENSE.sub(lambda m: _dense(m, names), text)
    text = _SCALAR.sub(lambda m: f"{_number(m[1], m[2], names)} : {m[2]}", text)
    text = _TYPE.sub(lambda m: m[1] + names.get(m[2], m[2]), text)
    text = _LAPACK.sub(lambda m: "@" + m[1] + lapack.get(m[2], m[2]), text)
    return text.replace("\0", "")


def _bitcast(match: re.Match, names: dict[str, str]) -> str:
    indent, result, operand, source, target = match.groups()
    new = f"%t{result[1:]}"
    lines = []
    kept_source, kept_target = _kept(source), _kept(target)
    if kept_source != source:
        lines.append(f"{indent}{new}_operand = stablehlo.convert {operand} : ({source}) -> {kept_source}")
        operand = f"{new}_operand"
    if kept_target == target:
        lines.append(f"{indent}{result} = stablehlo.bitcast_convert {operand} : ({kept_source}) -> {target}")
    else:
        lines.append(f"{indent}{new}_bits = stablehlo.bitcast_convert {operand} : ({kept_source}) -> {kept_target}")
        lines.append(f"{indent}{result} = stablehlo.convert {new}_bits : ({kept_target}) -> {target}")
    return "\n".join(lines)


def _kept(ty: str) -> str:
    """Marks the floats of a type so that `_TYPE` does not match and change them."""
    return _TYPE.sub(lambda m: f"{m[1]}{m[2][0]}\0{m[2][1:]}", ty)


def _dense(match: re.Match, names: dict[str, str]) -> str:
    body, dims, is_complex, name = match.groups()
    if name in names:
        if body.startswith('"0x'):
            elements = np.frombuffer(bytes.fromhex(body[3:-1]), FLOATS[name])
            body = '"0x' + elements.astype(FLOATS[names[name]]).tobytes().hex().upper() + '"'
        else:
            body = _NUMBER.sub(lambda m: _number(m[0], name, names), body)
    return f"dense<{body}> : tensor<{dims}{is_complex or ''}{name}>"


def _number(text: str, name: str, names: dict[str, str]) -> str:
    """Rewrites a literal of one float type as a literal of another."""
    if name not in names:
        return text
    narrow = np.dtype(FLOATS[name])
    if text.startswith("0x"):
        value = np.array([int(text, 16)], f"uint{8 * narrow.itemsize}").view(narrow)
    else:
        value = np.array([float(text)]).astype(narrow)
    with np.errstate(over="ignore"):
        value = value.astype(FLOATS[names[name]])
    if np.isfinite(value[0]):
        return f"{float(value[0]):.17e}"
    return f"0x{int(value.view(f'uint{8 * value.dtype.itemsize}')[0]):X}"
