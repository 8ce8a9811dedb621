//! Programs and the programs of each device.

mod manual;
mod operations;
mod padding;
mod partitioners;
mod statements;
mod windows;

use expect_test::Expect;
use farcall_ir::{Source, middle, text, verify};
use farcall_partition::{NoRules, Partitioned, partition};

fn partitioned(program: &str) -> Result<Option<Partitioned>, String> {
    let module = text::parse(&Source::new("program", program)).map_err(|e| e.to_string())?;
    let verified =
        verify::verify(&module).and_then(|module| module.into_static()).map_err(|e| e.to_string())?;
    let entry = verified.entry().expect("the program has an entry");
    let form = middle::build(&verified, entry).map_err(|e| e.message)?;
    partition(&form, &NoRules).map_err(|e| e.to_string())
}

/// Compares the program of each device, the tilings of parameters and results, and the collectives.
#[expect(clippy::needless_pass_by_value, reason = "expectations are made in place")]
fn check(program: &str, expected: Expect) {
    let shown = match partitioned(program) {
        Ok(Some(partitioned)) => {
            let tilings = |tilings: &[farcall_partition::tiling::Tiling]| {
                tilings.iter().map(|tiling| tiling.show(&partitioned.grid)).collect::<Vec<_>>().join(", ")
            };
            let text = text::print(&middle::open_regions(partitioned.module.clone()));
            let moved = partitioned.report.movements.iter();
            let moved = moved.map(|m| format!("{} {} bytes, for {}\n", m.collective, m.bytes, m.op));
            let moved = moved.collect::<String>();
            format!("{} -> {}\n{moved}{text}", tilings(&partitioned.inputs), tilings(&partitioned.outputs))
        }
        Ok(None) => "no shardings\n".to_owned(),
        Err(error) => error,
    };
    expected.assert_eq(&shown);
}
