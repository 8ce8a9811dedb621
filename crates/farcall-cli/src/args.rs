//! Command-line arguments and their help texts.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use farcall::MEMORY_PASSES;
use farcall::ir::eval::{Denormals, Numerics, Semantics};
use farcall::ir::middle::passes;
use farcall::ir::middle::pipeline::{Pipeline, UnknownPass};
use farcall::ir::write::ProgramFormat;
use farcall::sig::nearest::nearest;

use crate::device_args::DeviceArgs;
use crate::engine::EngineArgs;
use crate::guide;
use crate::library::{LibraryArg, LoadArgs};
use crate::spec::{AttrSpec, Elided, Fill, InputSpec};

/// Run, inspect, convert and test StableHLO and HLO programs with custom calls.
#[derive(Parser, Debug)]
#[command(name = "farcall", version, propagate_version = true, after_help = EXAMPLES, max_term_width = 110)]
pub(crate) struct Cli {
    /// When to use colors
    ///
    /// `auto`: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_enum, default_value_t = clap::ColorChoice::Auto, value_name = "WHEN")]
    pub color: clap::ColorChoice,
    /// Maximum memory of all tensors of a program together (1G, 500M)
    ///
    /// A program that exceeds the limit fails. The program's text and the plan count as well. Without a
    /// limit, a program may use all memory of the machine.
    #[arg(long, global = true, value_name = "SIZE", value_parser = bytes)]
    pub memory_limit: Option<usize>,
    /// Maximum number of iterations of all loops of a run together
    ///
    /// For untrusted programs: a run that exceeds the limit fails.
    #[arg(long, global = true, value_name = "N")]
    pub iteration_limit: Option<u64>,
    #[command(subcommand)]
    pub command: Command,
}

/// Parses a size in bytes: `1000`, `64K`, `500M`, `1.5G`.
fn bytes(text: &str) -> Result<usize, String> {
    let units = [('K', 1u64 << 10), ('M', 1 << 20), ('G', 1 << 30), ('T', 1 << 40)];
    let unit = units.into_iter().find(|(letter, _)| text.to_ascii_uppercase().ends_with(*letter));
    let (number, unit) = unit.map_or((text, 1), |(_, unit)| (&text[..text.len() - 1], unit));
    match number.parse::<f64>() {
        Ok(n) if n >= 0.0 && n.is_finite() => Ok((n * unit as f64) as usize),
        _ => Err(format!(
            "`{text}` is not a size: write a number of bytes, optionally with K, M, G or T, as in 500M or 1.5G"
        )),
    }
}

const EXAMPLES: &str = "\
Examples:
  farcall run model.mlir --input x.npy --input rand
  farcall run model.mlir --load libmy_ops.so --fill rand --stats
  farcall compile model.mlir --load libmy_ops.so -o model.plan
  farcall inspect model.mlir --load libmy_ops.so
  farcall targets --load libhandlers.so --target rms_norm=RmsNorm
  farcall op libmy_ops.so rms_norm -i x.npy -i 'rand:f32[64]' -a eps=1e-5
  farcall test tests/ --jobs 4
  farcall bench model.mlir --load libmy_ops.so
  farcall new my-ops
  farcall guide getting-started

Exit codes: 0 success, 1 failure, 2 invalid command line.";

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run a program and show its results
    Run(RunArgs),
    /// Compile a program to a plan, a file that runs without compiling again
    Compile(CompileArgs),
    /// Write a program in another format
    Convert(ConvertArgs),
    /// List the passes that rewrite programs before they run
    #[command(after_help = PASSES_HELP)]
    Passes,
    /// Show a program's inputs, results and custom calls
    Inspect(InspectArgs),
    /// List the targets that custom calls can name
    Targets(TargetsArgs),
    /// Call one op of a library on arrays, or explain its ops
    Op(OpArgs),
    /// Run self-checking programs and corpus cases
    Test(TestArgs),
    /// Time a program, and compare it with the limits of this machine
    Bench(BenchArgs),
    /// Create a library of ops to start from
    New(NewArgs),
    /// List the pages of the guide, or print one
    Guide(GuideArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  farcall completions bash > ~/.local/share/bash-completion/completions/farcall"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Args, Debug)]
pub(crate) struct GuideArgs {
    /// Page to print, as `farcall guide` lists it
    #[arg(value_parser = PossibleValuesParser::new(guide::names()), hide_possible_values = true)]
    pub name: Option<String>,
}

#[derive(Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// Program (StableHLO or HLO text, a portable artifact, a file of `jax.export`), or a plan from `farcall
    /// compile`; `-` reads from standard input
    pub program: PathBuf,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub inputs: InputArgs,
    /// Write the results to DIR/out0.npy, DIR/out1.npy, …
    #[arg(short, long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
    #[command(flatten)]
    pub how: HowArgs,
    /// Show the time of each stage, and statistics of the plan
    #[arg(long)]
    pub stats: bool,
    /// Number of runs; with --stats, show the range of their times
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Show the time of each step, with its kernel and its source operation
    ///
    /// Steps are sorted by time. With --repeat, times are means of all runs except the first, which is a
    /// warm-up. `--profile=json` prints everything as JSON.
    #[arg(long, value_enum, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "table", conflicts_with = "evaluator")]
    pub profile: Option<ProfileFormat>,
    /// Write every step of the run, and the tasks on each thread, to a trace file for Perfetto
    /// (ui.perfetto.dev)
    ///
    /// If FILE ends in .html, it becomes a page that any browser shows.
    #[arg(long, value_name = "FILE", conflicts_with = "evaluator")]
    pub trace: Option<PathBuf>,
    /// Run on the reference evaluator instead of the engine
    #[arg(long, conflicts_with = "passes")]
    pub evaluator: bool,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Do not print the results
    #[arg(short, long)]
    pub quiet: bool,
    /// Print the results' types (and with --stats, the statistics) as JSON instead
    #[arg(long)]
    pub json: bool,
}

/// Output format of a profile.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProfileFormat {
    /// A table for people
    Table,
    /// JSON, for programs
    Json,
}

const RUN_EXAMPLES: &str = "\
Examples:
  farcall run model.mlir -i x.npy -i rand -o results
  farcall run model.mlir --load libmy_ops.so --fill rand --stats --repeat 100
  farcall run model.mlir --load libhandlers.so --target rms_norm=RmsNorm --fill iota
  farcall run model.mlir --fill rand --quiet --profile --repeat 20
  farcall run model.mlir --fill rand --quiet --trace trace.json
  farcall run model.mlir --devices 8 --fill rand
  farcall run model.mlir --dump plan
  farcall run model.mlir --dump form --passes needed
  farcall run model.jax_export -i params.safetensors -i 'rand:f32[8,64]'
  farcall run model.plan -i x.npy -i rand";

/// Inputs of a run.
#[derive(Args, Debug, Clone)]
pub(crate) struct InputArgs {
    /// Next argument: a .npy file; `rand`, `zeros`, `ones` or `iota` of the argument's type; one or more
    /// numbers, as in 0.1, -inf and [0,nan]; or a file of named arguments
    ///
    /// The type can also be given: rand:f32[4,8]. Integers that serve as indices need a range: rand:0..2000
    /// is 0 to 1999.
    ///
    /// A .npz or .safetensors file gives arguments by their names, which `inspect` shows. The argument
    /// params['w'] may also be called params.w, params/w or, if the name is unique, w; arg0 is the first
    /// argument. Arguments that no file names are given one by one.
    ///
    /// Types that NumPy lacks are stored as raw bits in unsigned integers (bf16 in uint16, f8, f6 and f4 in
    /// uint8), integers narrower than a byte as int8 or uint8. May be repeated.
    #[arg(short, long = "input", value_name = "FILE|rand|zeros|ones|iota", allow_hyphen_values = true)]
    pub inputs: Vec<InputSpec>,
    /// How to generate arguments without an --input
    #[arg(long, value_enum, value_name = "HOW")]
    pub fill: Option<Fill>,
    /// Seed of `rand`
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
}

/// Options for compiling a program.
#[derive(Args, Debug)]
pub(crate) struct HowArgs {
    /// Function to run instead of `main` or the only public one
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Print the program after a stage, and stop there: text, verified, refined, build, PASS, form, plan
    ///
    /// text: the program as read. verified: after verification. refined: with the sizes that follow from the
    /// inputs, for a program with dynamic sizes. build: the middle form before any pass. The name of a pass
    /// (`farcall passes` lists the names): after each run of that pass. form: after the passes chosen by
    /// --passes. assign (a pass that always runs): with the memory location of each value. plan: the steps
    /// and buffers of the engine.
    #[arg(long, value_name = "STAGE")]
    pub dump: Option<Dump>,
    /// Passes that rewrite the program, in order: a list such as dce,cse or needed, or default,-sink
    ///
    /// `farcall passes` lists all passes, and the default. -PASS removes a pass from the list before it.
    /// Without the passes in `needed`, a program may compute wrong results: such lists are only for
    /// inspecting programs.
    #[arg(long, value_name = "LIST", value_parser = pipeline)]
    pub passes: Option<Pipeline>,
    /// Elements for constants whose elements are elided from the text ({...} in HLO text,
    /// dense_resource<__elided__>)
    ///
    /// The results are then meaningless, but the times are realistic. Zeros may be simplified away.
    #[arg(long, value_enum, value_name = "HOW")]
    pub elided: Option<Elided>,
    #[command(flatten)]
    pub numerics: NumericsArgs,
    #[command(flatten)]
    pub devices: DeviceArgs,
}

fn pipeline(text: &str) -> Result<Pipeline, String> {
    text.parse().map_err(|e: UnknownPass| match MEMORY_PASSES.iter().find(|p| p.name == e.name) {
        Some(pass) => {
            format!("the pass {} cannot be chosen: it always runs, after the chosen passes", pass.name)
        }
        None => e.to_string(),
    })
}

#[derive(Args, Debug)]
#[command(after_help = COMPILE_HELP)]
pub(crate) struct CompileArgs {
    /// Program (StableHLO or HLO text, a portable artifact, or a file of `jax.export`); `-` reads from
    /// standard input
    pub program: PathBuf,
    /// File to write the plan to (atomically)
    #[arg(short, long, value_name = "FILE", required_unless_present = "dump")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub inputs: InputArgs,
    #[command(flatten)]
    pub how: HowArgs,
    /// Show the time of each stage, and statistics of the plan
    #[arg(long)]
    pub stats: bool,
}

const PASSES_HELP: &str = "\
`--passes LIST` of `farcall run`, `compile` and others chooses passes; `--dump PASS` prints the output of one.

Examples:
  farcall run model.mlir --dump fuse
  farcall run model.mlir --passes default,-fuse --stats
  farcall run model.mlir --passes needed,constant_folding --dump form";

const COMPILE_HELP: &str = "\
`farcall run` and `farcall inspect` accept a plan in place of a program. Libraries are not part of a plan: they are \
loaded again when the plan runs. Inputs are needed only for a program with dynamic sizes. Their shapes determine the \
sizes; their elements matter only if sizes depend on them. A plan only loads in a farcall with the same plan format version.

Examples:
  farcall compile model.mlir -o model.plan
  farcall compile model.mlir --load libmy_ops.so -i 'zeros:f32[8,64]' -o model.plan
  farcall compile model.mlir --dump cse";

#[derive(Args, Debug)]
#[command(after_help = CONVERT_HELP)]
pub(crate) struct ConvertArgs {
    /// Program (StableHLO or HLO text, a portable artifact, or a file of `jax.export`); `-` reads from
    /// standard input
    pub program: PathBuf,
    /// Format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub to: Format,
    /// File to write to (atomically) [default: the standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write only this function and its callees, as a program with this entry function
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Elements for constants whose elements are elided from the text; only artifacts need them
    #[arg(long, value_enum, value_name = "HOW")]
    pub elided: Option<Elided>,
    /// Write the program that each device runs: the program is divided according to its shardings
    #[arg(long, conflicts_with = "elided")]
    pub partitioned: bool,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// Formats of converted programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// A format that farcall reads.
    Program(ProgramFormat),
    /// Functions, instructions, types and attributes as JSON, for other programs.
    Json,
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Format] {
        const FORMATS: [Format; ProgramFormat::VARIANTS.len() + 1] = {
            let mut formats = [Format::Json; ProgramFormat::VARIANTS.len() + 1];
            let mut i = 0;
            while i < ProgramFormat::VARIANTS.len() {
                formats[i] = Format::Program(ProgramFormat::VARIANTS[i]);
                i += 1;
            }
            formats
        };
        &FORMATS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Format::Program(format) => (format.name(), format.description()),
            Format::Json => {
                ("json", "Functions, instructions, types and attributes as JSON, for other programs")
            }
        };
        Some(PossibleValue::new(name).help(help))
    }
}

const CONVERT_HELP: &str = "\
The program is verified first. HLO text has a tuple where StableHLO has several values, and computations where StableHLO \
has regions; a program converted to the other format and back computes the same. Programs with features that HLO lacks \
(dynamic shapes, quantized tensors) are rejected; CHLO functions that HLO lacks become custom calls of the same names, which only \
farcall recognizes. Portable artifacts contain only StableHLO operations, and no locations except the names \
of arguments: CHLO operations are written as the StableHLO operations that define them.

JSON, version 1: an object with `version`, `name`, `attributes`, `meshes` and `functions`. A function has `name`, \
`public`, `attributes`, `parameter_attributes`, `results` (`type` and `attributes`) and `body`, a region. A region has \
`arguments` (`id` and `type`) and `instructions`. An instruction has `op`, `operands` (ids), `results` (`id` and `type`), \
`attributes`, and `regions` if it has any. Ids number the values of a function. A type has its text, `mlir`, and if it is \
a tensor, `dtype` and `shape` (null: dynamic). An attribute has its text, `mlir`, and `value` if JSON can represent it.

Examples:
  farcall convert model.hlo --to stablehlo -o model.mlir
  farcall convert model.mlir --to hlo | head
  farcall convert model.mlir --to artifact -o model.mlirbc
  farcall convert model.mlir --to json | jq '.functions[0].body.instructions[].op'";

/// Stages that `--dump` can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dump {
    /// The program as it was read.
    Text,
    /// The program after verification.
    Verified,
    /// The program with the sizes that follow from its inputs.
    Refined,
    /// The middle form ([`farcall::ir::middle`]) before any pass.
    Build,
    /// The middle form after a pass.
    Pass(&'static str),
    /// The middle form after the selected passes.
    Form,
    /// The steps and buffers of the engine.
    Plan,
}

impl Dump {
    const STAGES: [Dump; 6] =
        [Dump::Text, Dump::Verified, Dump::Refined, Dump::Build, Dump::Form, Dump::Plan];

    fn name(self) -> &'static str {
        match self {
            Dump::Text => "text",
            Dump::Verified => "verified",
            Dump::Refined => "refined",
            Dump::Build => "build",
            Dump::Pass(name) => name,
            Dump::Form => "form",
            Dump::Plan => "plan",
        }
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dump {
    type Err = String;

    fn from_str(text: &str) -> Result<Dump, String> {
        let memory = || MEMORY_PASSES.iter().map(|p| p.name);
        let listed = || passes::PASSES.iter().map(|p| p.name).filter(|name| memory().all(|m| m != *name));
        let all = || Dump::STAGES.into_iter().chain(listed().chain(memory()).map(Dump::Pass));
        all().find(|d| d.name() == text).ok_or_else(|| {
            let near = nearest(text, all().map(Dump::name));
            match near.first() {
                Some(near) => format!("there is no stage or pass `{text}`; did you mean {near}?"),
                None => {
                    let all: Vec<&str> = all().map(Dump::name).collect();
                    format!("there is no stage or pass `{text}`; expected one of {}", all.join(", "))
                }
            }
        })
    }
}

/// Options for numerics.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct NumericsArgs {
    /// How to treat subnormal numbers [default: ieee]
    #[arg(long, value_parser = denormals(), value_name = "MODE")]
    pub denormals: Option<Denormals>,
    /// Semantics to follow where XLA and the StableHLO specification differ [default: xla]
    #[arg(long, value_parser = semantics(), value_name = "WHOSE")]
    pub semantics: Option<Semantics>,
}

impl From<NumericsArgs> for Numerics {
    fn from(args: NumericsArgs) -> Numerics {
        Numerics {
            denormals: args.denormals.unwrap_or_default(),
            semantics: args.semantics.unwrap_or_default(),
        }
    }
}

/// Parser for the modes of denormals.
fn denormals() -> impl TypedValueParser<Value = Denormals> {
    let help = |mode| match mode {
        Denormals::Ieee => "Keep them (IEEE 754)",
        Denormals::Flush => "Flush them to zero, as XLA:CPU does",
    };
    let values = Denormals::VARIANTS.map(|mode| PossibleValue::new(mode.name()).help(help(mode)));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Denormals>())
}

/// Parser for the semantics to follow.
fn semantics() -> impl TypedValueParser<Value = Semantics> {
    let help = |whose| match whose {
        Semantics::Xla => "XLA, which is what JAX users see",
        Semantics::StableHlo => "The specification",
    };
    let values = Semantics::VARIANTS.map(|whose| PossibleValue::new(whose.name()).help(help(whose)));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Semantics>())
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  farcall inspect model.mlir\n  farcall inspect model.mlir --load libmy_ops.so --why\n  farcall inspect model.mlir --plan\n  farcall inspect model.mlir --plan --passes default,-fuse\n  farcall inspect model.mlir --plan --svg plan.svg\n  farcall inspect model.jax_export --load libmy_ops.so --why -i params.npz -i 'zeros:f32[8,4]'\n  farcall inspect model.mlir --load libmy_ops.so --json | jq .custom_calls"
)]
pub(crate) struct InspectArgs {
    /// Program (StableHLO or HLO text, a portable artifact, a file of `jax.export`), or a plan from `farcall
    /// compile`; `-` reads from standard input
    pub program: PathBuf,
    #[command(flatten)]
    pub load: LoadArgs,
    /// Function to inspect instead of `main` or the only public one
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Compile the program, and show the decision for each block (composite) with its reason
    ///
    /// A block becomes a custom call if a lowering asks for it, for example a lowering of a library
    /// (`#[lowers]`). Otherwise the block's default body is compiled. The custom calls shown are those of the
    /// compiled program. A program with dynamic sizes is compiled for inputs, given as for `farcall run`.
    #[arg(long)]
    pub why: bool,
    /// Compile the program, and show its steps: kernels, fusions, the reasons for both, and memory
    ///
    /// Memory is the location of each value that the program writes, with the steps from its first write to
    /// its last read. A program with dynamic sizes is compiled for inputs, given as for `farcall run`.
    #[arg(long)]
    pub plan: bool,
    /// Divide the program among the devices of its shardings, and show the sharding of each value, what
    /// determined it, and which collectives move how many bytes
    #[arg(long, conflicts_with_all = ["why", "plan"])]
    pub sharding: bool,
    /// With --why or --plan, passes that rewrite the program, as for `farcall run`
    #[arg(long, value_name = "LIST", value_parser = pipeline)]
    pub passes: Option<Pipeline>,
    #[command(flatten)]
    pub draw: DrawArgs,
    #[command(flatten)]
    pub inputs: InputArgs,
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Drawings.
#[derive(Args, Debug)]
#[command(next_help_heading = "Drawings")]
pub(crate) struct DrawArgs {
    /// Draw the program (with --plan, its steps) as an SVG file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Draw the program (with --plan, its steps) as a file for Graphviz
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,
    /// Color the steps by time: a file with the output of `farcall run --profile=json`
    #[arg(long, value_name = "FILE")]
    pub times: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  farcall targets --load libmy_ops.so\n  farcall targets --load libhandlers.so --target rms_norm=RmsNorm --json\n  farcall targets --built-in"
)]
pub(crate) struct TargetsArgs {
    #[command(flatten)]
    pub load: LoadArgs,
    /// List farcall's own ops (linear algebra, sparse matrices), which programs can call without a library
    #[arg(long)]
    pub built_in: bool,
    /// Print one line for each target: its name and platform, whether it has a gradient (✓, ✗), and whether
    /// its calls can be vmapped, as one call or in a loop
    #[arg(long, conflicts_with = "json")]
    pub table: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = OP_EXAMPLES)]
pub(crate) struct OpArgs {
    /// Library with ops, optionally in a namespace (loading it runs its code: only load libraries that you
    /// trust); `built-in` for farcall's own ops
    #[arg(value_name = "[NAMESPACE=]LIB", value_parser = LibraryArg::parser())]
    pub library: LibraryArg,
    /// The op; without this argument, list the library's ops
    pub name: Option<String>,
    /// Next operand: a .npy file; `rand`, `zeros`, `ones` or `iota` of a type, as in rand:f32[4,8]; or one or
    /// more numbers, as in 0.1, -inf and [0,nan]
    ///
    /// The type may be omitted if the other operands determine it. Without any --input (and without --attr
    /// and --call), the op is explained. Types that NumPy lacks are stored as raw bits in unsigned integers
    /// (bf16 in uint16, f8, f6 and f4 in uint8), integers narrower than a byte as int8 or uint8. May be
    /// repeated.
    #[arg(
        short,
        long = "input",
        value_name = "FILE|rand:TYPE|[0,2]|…",
        requires = "name",
        allow_hyphen_values = true
    )]
    pub inputs: Vec<InputSpec>,
    /// An attribute, parsed as the type that the op declares
    ///
    /// Write numbers and booleans literally, a list as 1,2,3, a dictionary as JSON. May be repeated.
    #[arg(short, long = "attr", value_name = "NAME=VALUE", requires = "name")]
    pub attrs: Vec<AttrSpec>,
    /// Call the op even if no operands or attributes are given
    #[arg(long, requires = "name")]
    pub call: bool,
    /// Check the promises of the op and its derivative ops; without a name, of all ops of the library
    ///
    /// The results of each call are compared with those of: calls on parts of the operands, combined as the
    /// signature says (`k: sum`); one call for several entries (`vmap`); calls on other numbers of threads;
    /// and calls whose result memory held other values. Derivatives are compared with central differences. If
    /// no operands are given, small ones are generated for each type that the op can have: random numbers
    /// between -3 and 3, and integers below the smallest dimension. For an op that reads one triangle of
    /// square matrices, derivatives may hold for all changes or only for symmetric ones. Other requirements
    /// on operands are not detected: `#[samples(f)]` beside the op supplies suitable operands. Attributes
    /// that are not given are also tried with values other than their defaults. If there is a GPU, handlers
    /// for CUDA are compared with those for the host.
    #[arg(long, conflicts_with_all = ["call", "outputs", "stats", "repeat"])]
    pub check: bool,
    /// With --check, fail if something remains unchecked: no operands fit, or no result is a number
    ///
    /// Handlers for other platforms that were not compared do not count, such as those for CUDA on a machine
    /// without a GPU.
    #[arg(long, requires = "check")]
    pub strict: bool,
    /// Write a result to a .npy file: the first --output gets the first result, and so on. May be repeated
    #[arg(short, long = "output", value_name = "FILE", requires = "name")]
    pub outputs: Vec<PathBuf>,
    /// Seed of `rand`
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    #[command(flatten)]
    pub numerics: NumericsArgs,
    /// Show the time of each stage, and statistics of the plan
    #[arg(long)]
    pub stats: bool,
    /// Number of calls; with --stats, show the range of their times
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Do not print the results
    #[arg(short, long)]
    pub quiet: bool,
    /// Print the list, the explanation, or the results' types (and with --stats, the statistics) as JSON
    /// instead
    #[arg(long)]
    pub json: bool,
}

const OP_EXAMPLES: &str = "\
Examples:
  farcall op libmy_ops.so
  farcall op libmy_ops.so rms_norm
  farcall op libmy_ops.so rms_norm -i x.npy -i 'ones:f32[64]' -a eps=1e-5 -o y.npy
  farcall op libmy_ops.so rms_norm -i 'rand:f32[512,64]' -i rand --stats --repeat 100 -q
  farcall op libmy_ops.so rms_norm --check
  farcall op built-in csr_matvec";

#[derive(Args, Debug)]
#[command(after_help = BENCH_HELP)]
pub(crate) struct BenchArgs {
    /// Program (StableHLO or HLO text, a portable artifact, a file of `jax.export`), or a plan from `farcall
    /// compile`; `-` reads from standard input
    pub program: PathBuf,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub inputs: InputArgs,
    /// Function to run instead of `main` or the only public one
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Passes that rewrite the program, as for `farcall run`
    #[arg(long, value_name = "LIST", value_parser = pipeline)]
    pub passes: Option<Pipeline>,
    /// Elements for constants whose elements are elided from the text, as for `farcall run`
    #[arg(long, value_enum, value_name = "HOW")]
    pub elided: Option<Elided>,
    #[command(flatten)]
    pub numerics: NumericsArgs,
    /// Number of threads that steps share [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Seconds to warm up before the measurement
    #[arg(long, default_value = "0.3", value_name = "SECONDS", value_parser = seconds)]
    pub warm_up: Duration,
    /// Seconds to measure
    #[arg(long, default_value = "2", value_name = "SECONDS", value_parser = seconds)]
    pub time: Duration,
    /// Number of measurements, instead of --time
    #[arg(long, alias = "repeat", value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "time")]
    pub runs: Option<u32>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

impl BenchArgs {
    /// Returns the options for compiling the program.
    pub(crate) fn how(&self) -> HowArgs {
        let (entry, passes) = (self.entry.clone(), self.passes.clone());
        HowArgs {
            entry,
            passes,
            dump: None,
            elided: self.elided,
            numerics: self.numerics,
            devices: DeviceArgs::default(),
        }
    }
}

const BENCH_HELP: &str = "\
Inputs that are not given are random numbers, the same in every run (--seed). A time is that of one call, from available \
inputs to available results; runs shorter than 20 µs are timed several at a time. Rates are based on the median time.

The limits are measured after the program's own runs, on as many threads. The limit for bytes is a triad a[i] = b[i] + s * c[i] \
whose three arrays together are as large as the program's inputs and results, plus its arena for the bytes that steps read and \
write. The limit for operations is fused multiply-adds in f32, each counted as two. Operations are counted from the \
specification's definition of the results: an elementary function is one operation.

Examples:
  farcall bench model.mlir
  farcall bench model.mlir -i x.npy --fill rand --threads 1
  farcall bench model.plan --load libmy_ops.so --json | jq .run_seconds.median";

#[derive(Args, Debug)]
#[command(after_help = NEW_HELP)]
pub(crate) struct NewArgs {
    /// Folder to create the crate in; the last part of the path is its name
    #[arg(value_name = "NAME")]
    pub path: PathBuf,
    /// The op's name [default: the crate's, in snake_case]
    #[arg(long, value_name = "NAME")]
    pub op: Option<String>,
    /// Add handlers for CUDA, with kernels in CUDA C++
    ///
    /// Neither a GPU nor CUDA is needed to build the crate and to test it: without nvcc, its kernels are PTX.
    #[arg(long)]
    pub cuda: bool,
    /// Checkout of farcall to build against [default: the checkout that this program was built from,
    /// otherwise the released version]
    #[arg(long, value_name = "PATH")]
    pub farcall: Option<PathBuf>,
    /// Print the created files and the next steps as JSON
    #[arg(long)]
    pub json: bool,
}

const NEW_HELP: &str = "\
The crate has one op with its gradient, tests, and an example that calls the op from NumPy and JAX. The command prints how \
to build and run the crate.

Examples:
  farcall new my-ops
  farcall new kernels/norms --op rms_norm
  farcall new gpu-ops --op swish --cuda";

#[derive(Args, Debug, Clone)]
#[command(after_help = TEST_HELP)]
pub(crate) struct TestArgs {
    /// Programs, folders of programs, corpus cases or manifests
    #[arg(required_unless_present = "worker", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub load: LoadArgs,
    /// Write every result to a file, as JSON (`-`: the standard output, instead of the text)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Run only tests whose name contains this text; may be repeated
    #[arg(short, long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Number of tests to run at a time [default: one per processor]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Seconds after which a test is stopped and fails
    #[arg(long, default_value = "120", value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Duration,
    /// Run on the reference evaluator instead of the engine
    #[arg(long)]
    pub evaluator: bool,
    /// Run each program on each of these numbers of threads (`1,2,7`): its checks must hold each time, and
    /// results of corpus cases must have the same bits (except for cases of several runs, which have a state)
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..),
        conflicts_with = "evaluator"
    )]
    pub threads: Vec<u16>,
    /// Semantics to follow where XLA and the StableHLO specification differ [default: the specification for
    /// self-checking programs, XLA for corpus cases]
    #[arg(long, value_parser = semantics(), value_name = "WHOSE")]
    pub semantics: Option<Semantics>,
    /// List passed tests as well
    #[arg(short, long)]
    pub verbose: bool,
    /// Run tests that are named on the standard input (used internally)
    #[arg(long, hide = true)]
    pub worker: bool,
}

const TEST_HELP: &str = "\
A program is StableHLO text (.mlir, with several programs in a file separated by `// -----`), HLO text (.hlo) or a portable \
artifact (.mlirbc). Each program must parse, verify, print as StableHLO text, and parse again as an equal module. A program that \
checks its results (check.expect_eq, check.expect_close, …) must also run, from `main` or the only public function, and its \
checks must hold.

A corpus is a manifest.json (or a folder that contains one) that lists cases: a program, inputs, expected \
outputs and how to compare them. PATH may also be the folder of a single case.

Tests run in separate processes: a test that crashes or hangs does not affect the others.

Examples:
  farcall test tests/programs
  farcall test corpus/cases --load libhandlers.so --filter ffi_
  farcall test corpus/cases --json results.json";

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if seconds <= 0.0 {
        return Err("must be more than zero".to_owned());
    }
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
