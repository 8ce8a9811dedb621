"""Writes `overview.svg`, the picture of the README: `python docs/pictures/overview.py`."""

from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 880, 330
INK, MUTED = "#1f2328", "#59636e"
RUST, HOST, LIBRARY = ("#fff1e5", "#bc4c00"), ("#ddf4ff", "#0969da"), ("#f6f8fa", "#59636e")

CODE = [
    "#[handler(name = \"rms_norm\")]",
    "#[signature((x: f32[*, n], scale: f32[n])",
    "            -> (y: f32[*, n]))]",
    "#[vjp(backward = rms_norm_bwd)]",
    "fn rms_norm(x: &Buffer<f32>, …) { … }",
]
HOSTS = [
    ("JAX", "jit, grad, vmap, shardings, export"),
    ("any XLA host", "through XLA's FFI: EXLA, TensorFlow, …"),
    ("farcall's engine", "runs StableHLO and HLO without XLA"),
]


def box(x: int, y: int, width: int, height: int, colors: tuple[str, str]) -> str:
    fill, border = colors
    size = f'x="{x}" y="{y}" width="{width}" height="{height}"'
    return f'<rect {size} rx="8" fill="{fill}" stroke="{border}" stroke-width="1.5"/>'


def text(x: int, y: int, line: str, size: int, color: str = INK, style: str = "") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{color}" {style}>{escape(line)}</text>'


def arrow(x1: int, y1: int, x2: int, y2: int) -> str:
    middle = (x1 + x2) // 2
    curve = f"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}"
    return f'<path d="{curve}" fill="none" stroke="{MUTED}" stroke-width="1.8" marker-end="url(#arrow)"/>'


def picture() -> str:
    bold, centered = 'font-weight="bold"', 'text-anchor="middle"'
    mono = 'font-family="ui-monospace, Menlo, Consolas, monospace" xml:space="preserve"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        "font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" role=\"img\">",
        "<title>One Rust item reaches JAX, any XLA host, and farcall's own engine</title>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{MUTED}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        box(16, 64, 328, 202, RUST),
        text(32, 92, "One Rust item", 17, INK, bold),
        *(text(32, 122 + 21 * i, line, 12, INK, mono) for i, line in enumerate(CODE)),
        text(32, 246, "kernel, shapes, gradient, batching, sharding", 13, MUTED),
        arrow(344, 165, 400, 165),
        box(402, 128, 122, 74, LIBRARY),
        text(463, 159, "one library", 15, INK, f"{bold} {centered}"),
        text(463, 181, "libmy_ops.so", 12, MUTED, centered),
    ]
    for i, (name, about) in enumerate(HOSTS):
        top = 28 + 96 * i
        parts += [
            arrow(524, 165, 584, top + 41),
            box(586, top, 278, 82, HOST),
            text(602, top + 34, name, 16, INK, bold),
            text(602, top + 58, about, 13, MUTED),
        ]
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(picture(), encoding="utf-8")
