//! Measures the time that random numbers take, one by one and as slices.
//!
//! ```text
//! cargo bench -p farcall-ffi --bench random
//! ```
//!
//! Each figure is the best of many rounds, in nanoseconds per number.
#![expect(clippy::print_stdout, reason = "the figures")]

use std::hint::black_box;
use std::time::Instant;

use farcall_ffi::{Random, Stream};

const ROUNDS: usize = 200;
const NUMBERS: usize = 1 << 14;

fn main() {
    println!("{:<14}{:>12}{:>12}", "ns a number", "one by one", "slice");
    measured("u32", Stream::next_u32, Stream::fill);
    measured("uniform f32", Stream::uniform::<f32>, Stream::fill_uniform);
    measured("uniform f64", Stream::uniform::<f64>, Stream::fill_uniform);
    measured("normal f32", Stream::normal::<f32>, Stream::fill_normal);
    measured("normal f64", Stream::normal::<f64>, Stream::fill_normal);
}

fn measured<T: Copy + Default>(
    name: &str,
    one: impl Fn(&mut Stream) -> T,
    fill: impl Fn(&mut Stream, &mut [T]),
) {
    let (mut numbers, mut stream) = (vec![T::default(); NUMBERS], Random::new(1).stream(0));
    let one_by_one = best(|| numbers.iter_mut().for_each(|number| *number = one(&mut stream)));
    let slice = best(|| fill(&mut stream, black_box(&mut numbers)));
    println!("{name:<14}{one_by_one:>12.2}{slice:>12.2}");
}

/// Returns the minimum time of a round, divided by the number of numbers.
fn best(mut round: impl FnMut()) -> f64 {
    let seconds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        round();
        start.elapsed().as_secs_f64()
    });
    seconds.fold(f64::INFINITY, f64::min) * 1e9 / NUMBERS as f64
}
