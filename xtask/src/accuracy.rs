//! `cargo xtask accuracy`: errors of elementary functions in farcall and in XLA, compared with exact results.

use anyhow::{Context, Result, bail};

use crate::python::{self, Venv};
use crate::shell::{output, root};

const METHOD: &str = "\
# Accuracy

Largest errors of elementary functions in farcall and in XLA:CPU (jaxlib), compared with exact results. `cargo
xtask accuracy` writes this page.

Errors are in units in the last place: the distance between neighboring numbers of the type at the exact
result. *Error* is the largest error for normal numbers, and *at* gives the operands that have it. *Subnormal*
is the largest error where an operand or the result is subnormal. *Other* counts infinite and NaN results
where the exact result is finite, and wrong results where the exact result is infinite or NaN.

The operands are all numbers of f16 and bf16, and bit patterns of f32 at equal distances. For f64, they are
random bit patterns and random numbers around zero. Functions of two operands are tested on random pairs. The
exact results of f64 come from mpmath, all others from NumPy and SciPy in f64.

Errors of farcall are below two units, except for these functions:

- `cosh` and `sinh` of f32 follow the definition of the CHLO dialect, including the rounding of its steps.
- `lgamma` and `digamma` of f64 lose digits near their zeros, as in XLA.
- `erfc` of f64 has errors up to 2.3 units, and `bessel_i1e` of f64 up to 8 units.
";

/// Runs the task. If `step` is given, every `step`-th number of f32 is tested. Otherwise `accuracy.py`
/// chooses the step.
pub(crate) fn run(step: &[&str]) -> Result<bool> {
    if let Some(step) = step.first()
        && step.parse::<u64>().map_or(true, |n| n == 0)
    {
        bail!("the step must be a whole number above 0, not `{step}`");
    }
    let venv = Venv::with_jax(crate::test::JAX[0])?;
    let mut script = venv.script("accuracy.py", &python::release_package()?);
    let (done, table) = output(script.args(step)).context("xtask/bench/accuracy.py")?;
    print!("{table}");
    if !done {
        bail!("the table is not complete");
    }
    let page = root().join("docs/accuracy.md");
    std::fs::write(&page, format!("{METHOD}\n{table}"))?;
    println!("\nwrote {}", page.display());
    Ok(true)
}
