"""A kernel of Triton, compiled without a GPU. `python add.py` writes `add.ptx`; it needs Triton 3.9."""

import os
from pathlib import Path

os.environ.update(TRITON_DISABLE_LINE_INFO="1", TRITON_ALWAYS_COMPILE="1", TRITON_DEFAULT_FP_FUSION="1")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

#: Number of elements of a block.
BLOCK = 1024


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
    tl.store(out + at, total, mask=inside)


def main():
    pointers = dict.fromkeys(["x", "y", "out"], "*fp32")
    source = ASTSource(
        fn=add_kernel,
        signature={**pointers, "n": "i32", "BLOCK": "constexpr"},
        constexprs={"BLOCK": BLOCK},
    )
    # Version 8.0 of PTX is for drivers of CUDA 12.0 and later; the architecture is 8.0.
    kernel = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"ptx_version": 80})
    warps = kernel.metadata.num_warps
    about = f"// Made from add.py by Triton {triton.__version__}. A block has {warps} warps.\n"
    (Path(__file__).parent / "add.ptx").write_text(about + kernel.asm["ptx"].rstrip() + "\n")


if __name__ == "__main__":
    main()
