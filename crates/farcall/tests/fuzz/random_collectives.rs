//! Random programs with collectives, on grids of up to eight devices: the engine gives the evaluator's bits.

use farcall::devices::{Grid, eval_on_devices};
use farcall::ir::eval::{self, Denormals, EvalValue, NoHost};
use farcall::ir::verify::verify;
use farcall::ir::{DType, Literal, Scalar, Source, text};
use farcall::{CompileOptions, Executable, Registry};
use farcall_testing::{SplitMix, fuzz};

/// Number of programs.
const PROGRAMS: u64 = 60;

/// Returns the numbers below `n` in random order.
fn shuffled(random: &mut SplitMix, n: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        all.swap(i, random.below(i + 1));
    }
    all
}

/// A program under construction: one value is passed from collective to collective.
struct Program {
    random: SplitMix,
    grid: Grid,
    dtype: &'static str,
    dims: [usize; 2],
    lines: Vec<String>,
    next: usize,
}

impl Program {
    fn ty(&self) -> String {
        format!("tensor<{}x{}x{}>", self.dims[0], self.dims[1], self.dtype)
    }

    /// Random groups of equal size, as text, and the size.
    fn groups(&mut self, count: usize) -> (String, usize) {
        let sizes: Vec<usize> = (1..=count).filter(|size| count.is_multiple_of(*size)).collect();
        let size = self.random.pick(&sizes);
        let all = shuffled(&mut self.random, count);
        let rows: Vec<String> = all.chunks(size).map(|row| format!("{row:?}")).collect();
        (format!("dense<[{}]> : tensor<{}x{size}xi64>", rows.join(", "), count / size), size)
    }

    /// Attributes that choose groups of a reduction or gathering, and the number of devices of a group.
    fn reduction_groups(&mut self) -> (String, usize) {
        let Grid { replicas, partitions } = self.grid;
        let channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
        match self.random.below(3) {
            0 => {
                let (groups, size) = self.groups(replicas);
                (format!("replica_groups = {groups}"), size)
            }
            1 => {
                let (groups, size) = self.groups(replicas);
                (format!("replica_groups = {groups}, {channel}"), size * partitions)
            }
            _ => {
                let (groups, size) = self.groups(replicas * partitions);
                (format!("replica_groups = {groups}, {channel}, use_global_device_ids"), size)
            }
        }
    }

    /// Attributes that choose groups of replicas or of partitions, and the number of devices of a group.
    fn exchange_groups(&mut self) -> (String, usize) {
        if self.random.below(2) == 0 {
            let (groups, size) = self.groups(self.grid.replicas);
            return (format!("replica_groups = {groups}"), size);
        }
        let (groups, size) = self.groups(self.grid.partitions);
        (
            format!(
                "replica_groups = {groups}, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>"
            ),
            size,
        )
    }

    fn region(&mut self) -> String {
        let ty = format!("tensor<{}>", self.dtype);
        let body = match self.random.below(5) {
            0 => format!("%s = stablehlo.maximum %a, %b : {ty}"),
            1 => format!("%s = stablehlo.subtract %b, %a : {ty}"),
            2 => format!("%d = stablehlo.add %a, %a : {ty}\n    %s = stablehlo.add %d, %b : {ty}"),
            _ => format!("%s = stablehlo.add %a, %b : {ty}"),
        };
        format!("({{\n  ^bb0(%a: {ty}, %b: {ty}):\n    {body}\n    stablehlo.return %s : {ty}\n  }})")
    }

    /// Adds a collective, if it fits the shape.
    fn step(&mut self) {
        let (before, last) = (self.ty(), self.next);
        let dim = self.random.below(2);
        let (name, region, attributes) = match self.random.below(6) {
            0 => {
                let (groups, _) = self.reduction_groups();
                ("all_reduce", self.region(), groups)
            }
            1 => {
                let (groups, size) = self.reduction_groups();
                if self.dims[dim] * size > 64 {
                    return;
                }
                self.dims[dim] *= size;
                ("all_gather", String::new(), format!("all_gather_dim = {dim} : i64, {groups}"))
            }
            2 => {
                let (groups, size) = self.reduction_groups();
                if !self.dims[dim].is_multiple_of(size) {
                    return;
                }
                let region = self.region();
                self.dims[dim] /= size;
                ("reduce_scatter", region, format!("scatter_dimension = {dim} : i64, {groups}"))
            }
            3 => {
                let (groups, size) = self.exchange_groups();
                let to = self.random.below(2);
                if !self.dims[dim].is_multiple_of(size) {
                    return;
                }
                self.dims[dim] /= size;
                self.dims[to] *= size;
                let dims = format!("split_dimension = {dim} : i64, concat_dimension = {to} : i64");
                ("all_to_all", String::new(), format!("{dims}, split_count = {size} : i64, {groups}"))
            }
            4 => {
                let [from, to] = [0; 2].map(|_| shuffled(&mut self.random, self.grid.replicas));
                let count = 1 + self.random.below(from.len());
                let pairs: Vec<String> =
                    from.iter().zip(&to).take(count).map(|(from, to)| format!("[{from}, {to}]")).collect();
                let pairs = format!("dense<[{}]> : tensor<{count}x2xi64>", pairs.join(", "));
                ("collective_permute", String::new(), format!("source_target_pairs = {pairs}"))
            }
            _ => {
                let (groups, _) = self.exchange_groups();
                ("collective_broadcast", String::new(), groups)
            }
        };
        self.next += 1;
        let (now, after) = (self.next, self.ty());
        self.lines.push(format!(
            "  %{now} = \"stablehlo.{name}\"(%{last}) {region} {{{attributes}}} : ({before}) -> {after}"
        ));
    }
}

fn program(seed: u64) -> (String, Grid, Vec<Vec<Literal>>) {
    let mut random = SplitMix::new(seed);
    let grid = Grid { replicas: random.pick(&[1, 2, 2, 3, 4]), partitions: random.pick(&[1, 1, 2]) };
    let (dtype, element) = random.pick(&[
        ("f32", DType::F32),
        ("f32", DType::F32),
        ("bf16", DType::BF16),
        ("i64", DType::S64),
        ("ui8", DType::U8),
    ]);
    // The larger shape has results that devices combine together.
    let dims = random.pick(&[[4, 6], [8, 8], [1, 5], [48, 1000], [0, 2]]);
    let mut p = Program { random, grid, dtype, dims, lines: Vec::new(), next: 0 };
    let first = p.ty();
    for _ in 0..4 {
        p.step();
    }
    let text = format!(
        "func.func @main(%0: {first}) -> {} {{\n{}\n  return %{} : {0}\n}}",
        p.ty(),
        p.lines.join("\n"),
        p.next
    );
    let inputs = (0..grid.processes()).map(|_| {
        let number = |_| Scalar::Float(p.random.below(2001) as f64 / 100.0 - 10.0).round_to(DType::F64);
        let exact = Literal::from_fn(DType::F64, dims, number);
        let value = |i| match element {
            DType::S64 => Scalar::Signed(exact.get(i).as_f64() as i64),
            DType::U8 => Scalar::Unsigned(exact.get(i).as_f64().abs() as u64),
            other => exact.get(i).round_to(other),
        };
        vec![Literal::from_fn(element, dims, value)]
    });
    let inputs = inputs.collect();
    (text, grid, inputs)
}

#[test]
fn collectives_of_random_programs_give_the_evaluators_bits() {
    for i in 0..fuzz::iterations(PROGRAMS) {
        let seed = fuzz::seed_of(i);
        let (program, grid, inputs) = program(seed);
        let module =
            text::parse(&Source::new("random.mlir", &*program)).unwrap_or_else(|e| panic!("{e}\n{program}"));
        let options = CompileOptions::new().grid(grid);
        let executable = Executable::compile(&module, &Registry::new(), &options)
            .unwrap_or_else(|e| panic!("{e}\n{grid}\n{program}"));
        let results = executable.run_on_devices(&inputs).unwrap_or_else(|e| panic!("{e}\n{grid}\n{program}"));
        let verified = verify(&module).unwrap();
        let values: Vec<Vec<EvalValue>> =
            inputs.iter().map(|of| of.iter().cloned().map(EvalValue::Tensor).collect()).collect();
        let func = verified.entry().unwrap();
        let expected = eval_on_devices(&verified, func, grid, &values, |_| NoHost, Denormals::Ieee)
            .unwrap_or_else(|e| panic!("{e}\n{grid}\n{program}"));
        for (device, (got, want)) in results.iter().zip(&expected).enumerate() {
            let want = eval::tensors(want);
            assert_eq!(got[0].dims(), want[0].dims());
            assert!(
                got[0].bytes() == want[0].bytes(),
                "iteration {i}, device {device} of {grid}: {:?} instead of {:?}\n{program}",
                got[0],
                want[0]
            );
        }
    }
}
