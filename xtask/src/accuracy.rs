//! `cargo xtask accuracy`: errors of elementary functions in farcall and in XLA, compared with exact results.

use anyhow::{Context, Result, bail};

use crate::python::{self, Venv};
use crate::shell::{output, root};

const METHOD: &str = "\
# Accuracy

How far results of elementary functions are from the exact ones, in farcall and in XLA:CPU (jaxlib). `cargo xtask accuracy` \
wrote this page.

An error is the largest one that was found, in units in the last place: the distance of two neighbours of the type at the \
exact result, where that is a normal number. Of f16 and bf16 all numbers were tried, of f32 numbers at equal distances over \
all bits, of f64 numbers spread over all bits and around zero; the exact results come from NumPy and SciPy in f64, those of \
f64 from mpmath. *At* is where the error is. *Subnormal* is the error where operand or result is subnormal, and *other* \
counts results that are infinite or not a number where they should not be, or the other way round.

Known exceptions from two units: `cosh` and `sinh` of f32 are what the CHLO dialect defines, rounding of steps included; \
`lgamma` and `digamma` of f64 lose digits near their zeros, as XLA's do; `erfc` of f64 is up to 2.3, and `bessel_i1e` of f64 up to 8.
";

/// Tests every `step`-th number of f32.
pub(crate) fn run(step: &[&str]) -> Result<bool> {
    if let Some(step) = step.first()
        && step.parse::<u64>().map_or(true, |n| n == 0)
    {
        bail!("the step is a whole number above 0, and not `{step}`");
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
