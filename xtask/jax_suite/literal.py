"""Rewrites a program so that XLA has no freedom: if several results are correct, only one remains.

Sorts become stable. `ApproxTopK`, which XLA may answer approximately and with any of several equal values,
becomes a stable sort whose first elements are taken.
"""

import re

_SORT = re.compile(r'("stablehlo\.sort"\([^)]*\) <\{)([^}]*)\}>')
_TOP_K = re.compile(
    r"^(\s*)(%\w+)(?::\d+)? = stablehlo\.custom_call @ApproxTopK\((.*?)\) \{(.*)\} : \((.*)\) -> \(?(.*?)\)?$",
    re.MULTILINE,
)
_COMPARATOR = re.compile(r"called_computations = \[@([\w.$-]+)\]")
_SHAPE = re.compile(r"tensor<((?:\d+x)*)([^<>]*(?:<[^<>]*>)?)>")


def literal(text: str) -> str:
    """Returns the program without freedom of choice."""
    text = _SORT.sub(_stable, text)
    return _TOP_K.sub(_sorted, text)


def _stable(match: re.Match) -> str:
    attributes = [a for a in match[2].split(", ") if not a.startswith("is_stable")]
    return f"{match[1]}{', '.join([*attributes, 'is_stable = true'])}}}>"


def _sorted(match: re.Match) -> str:
    indent, result, operands, attributes, operand_types, result_types = match.groups()
    if "aggregate_to_topk = true" not in attributes:
        return match[0]
    comparator = _COMPARATOR.search(attributes)[1]
    dimension = int(re.search(r"reduction_dim = (\d+)", attributes)[1])
    count = len(operands.split(", ")) // 2
    values = operands.split(", ")[:count]
    sources = operand_types.split(", ")[:count]
    targets = result_types.split(", ")
    scalars = [f"tensor<{_SHAPE.fullmatch(ty)[2]}>" for ty in sources for _ in range(2)]
    new = f"%t{result[1:]}"
    arguments = [f"{new}_arg{i}" for i in range(2 * count)]
    # The program refers to several results of the call as `%0#0`, `%0#1` and so on. An `optimization_barrier`
    # of the slices takes the place of the call, so that these names stay valid.
    lines = [
        f'{new}_sorted:{count} = "stablehlo.sort"({", ".join(values)}) <{{dimension = {dimension} : i64, is_stable = true}}> ({{',
        f"^bb0({', '.join(f'{a}: {s}' for a, s in zip(arguments, scalars))}):",
        f"  {new}_less = func.call @{comparator}({', '.join(arguments)}) : ({', '.join(scalars)}) -> tensor<i1>",
        f"  stablehlo.return {new}_less : tensor<i1>",
        f"}}) : ({', '.join(sources)}) -> ({', '.join(sources)})",
    ]
    for i, (source, target) in enumerate(zip(sources, targets)):
        bounds = ", ".join(f"0:{size}" for size in _SHAPE.fullmatch(target)[1].split("x")[:-1])
        lines.append(f"{new}_slice{i} = stablehlo.slice {new}_sorted#{i} [{bounds}] : ({source}) -> {target}")
    slices = ", ".join(f"{new}_slice{i}" for i in range(count))
    results = ", ".join(targets)
    lines.append(f"{result}:{count} = stablehlo.optimization_barrier {slices} : {results}")
    return "\n".join(indent + line for line in lines)
