//! Measures the wall-clock time and the CPU time of reading large artifacts; the two differ if other
//! processes use the machine. Run with
//! `cargo test --release -p farcall-ir --test it artifact_speed -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use crate::bytecode::{Artifact, CONSTANT, PROPERTIES, RESULTS, VHLO, number, numbers, op};
use farcall_ir::{Op, vhlo};

/// A function of `ops` constants, each with `n` explicit 32-bit elements.
fn constants(ops: u64, n: u64) -> Vec<u8> {
    let mut artifact = Artifact::new();
    let mut shape = numbers(&[20, 1, n * 2]);
    number(&mut shape, 0);
    let tensor = artifact.ty(shape);
    for i in 0..ops {
        let mut data = numbers(&[15, tensor, n * 4]);
        (0..n as u32)
            .for_each(|e| data.extend(e.wrapping_mul(2_654_435_761).wrapping_add(i as u32).to_le_bytes()));
        let attr = artifact.attr(VHLO, data);
        artifact.properties.push(numbers(&[attr]));
        op(&mut artifact.body.0, CONSTANT, PROPERTIES | RESULTS);
        artifact.body.0.extend(numbers(&[i, 1, tensor]));
    }
    artifact.body.1 = ops;
    artifact.bytes(ops)
}

/// Time that this thread has spent on a core; `None` if the system does not report it.
fn on_core() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(stat.split(' ').next()?.parse().ok()?))
}

fn measure(what: &str, ops: u64, n: u64) {
    let bytes = constants(ops, n);
    for _ in 0..2 {
        let (start, before) = (Instant::now(), on_core());
        let module = vhlo::read(&bytes, what).unwrap_or_else(|e| panic!("{e}"));
        let (time, core) = (start.elapsed(), on_core().zip(before).map(|(after, before)| after - before));
        let main = module.func("main").expect("there is a function `main`");
        let found = main.body().insts().filter(|inst| matches!(inst.op(), Op::Constant(_))).count();
        assert_eq!(found as u64, ops);
        let mb = bytes.len() as f64 / 1e6;
        let speed = |time: Duration| format!("{mb:.1} MB in {time:.2?}, {:.0} MB/s", mb / time.as_secs_f64());
        eprintln!("{what}: {}; on a core: {}", speed(time), core.map_or("unknown".to_owned(), speed));
    }
}

#[test]
fn small() {
    measure("three constants", 3, 5);
}

#[test]
#[ignore = "takes a while in a debug build; measures times, and checks only the number of constants"]
fn hundreds_of_megabytes() {
    measure("one constant of 400 MB", 1, 100_000_000);
    measure("a thousand constants", 1_000, 100_000);
    measure("a million operations", 1_000_000, 1);
}
