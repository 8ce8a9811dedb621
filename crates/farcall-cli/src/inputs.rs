//! Arguments of a program: read from files, or generated from their types.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::ValueEnum;
use farcall::ir::interface::Interface;
use farcall::ir::literal::Literal;
use farcall::ir::module::Func;
use farcall::ir::scalar::Scalar;
use farcall::ir::types::{TensorType, Type};
use farcall::sig::nearest::nearest;
use farcall::sig::{DType, DTypeClass};
use num_complex::Complex;

use crate::archive::Archive;
use crate::args::InputArgs;
use crate::npy;
use crate::show::{short, short_type};
use crate::spec::{Elided, Fill, InputSpec, word};

impl Elided {
    /// Returns a function that chooses the elements of one constant after another.
    pub(crate) fn elements(self) -> impl FnMut(&TensorType) -> Result<Literal> {
        let mut seed = 0;
        move |ty| {
            seed += 1;
            match self {
                Elided::Zeros => Literal::try_zeros(ty.dtype, ty.sizes()).context("zeros for a constant"),
                Elided::Rand => make(Fill::Rand, ty, seed),
            }
        }
    }
}

/// Returns one tensor for each parameter of `func` except tokens, which have no value. `interface` has the
/// names of the parameters.
///
/// # Errors
/// If there are too many or too few inputs, if a name matches no argument, or if an input does not fit its
/// parameter.
pub(crate) fn arguments(func: &Func, interface: &Interface, args: &InputArgs) -> Result<Vec<Literal>> {
    let params = func.params().iter().map(|p| func.ty(*p));
    let params: Vec<&Type> = params.filter(|ty| **ty != Type::Token).collect();
    of(interface, &params, args)
}

/// Like [`arguments`], for parameters of these types.
///
/// # Errors
/// The errors of [`arguments`].
pub(crate) fn of(interface: &Interface, params: &[&Type], args: &InputArgs) -> Result<Vec<Literal>> {
    each(interface, params, args, &mut |given, ty, seed| given.read(ty, seed))
}

/// Returns the arguments of each of `count` devices, for parameters of these types. An argument that has one
/// more dimension than its parameter, of size `count`, is split along this first dimension. Random elements
/// differ between devices. Any other argument is the same on all devices.
///
/// # Errors
/// The errors of [`arguments`].
pub(crate) fn on_devices(
    interface: &Interface,
    params: &[&Type],
    args: &InputArgs,
    count: usize,
) -> Result<Vec<Vec<Literal>>> {
    let of_param = each(interface, params, args, &mut |given, ty, seed| {
        if given.is_random() {
            let seed = |device: usize| seed.wrapping_add(1_000_003u64.wrapping_mul(device as u64));
            return (0..count).map(|device| given.read(ty, seed(device))).collect();
        }
        let error = match given.read(ty, seed) {
            Ok(same) => return Ok(vec![same; count]),
            Err(error) => error,
        };
        let Some(sizes) = ty.static_sizes() else { return Err(error) };
        let all = ty.with_sizes([&[count], sizes].concat());
        let Ok(whole) = given.read(&all, seed) else {
            let other = format!("{}, with a part for each device", short_type(&all));
            return Err(error.context(format!("it must be {}, or {other}", short_type(ty))));
        };
        let bytes = whole.byte_len() / count.max(1);
        let part = |device: usize| {
            Literal::from_bytes(ty.dtype, sizes, &whole.bytes()[device * bytes..(device + 1) * bytes])
        };
        (0..count).map(|device| Ok(part(device)?)).collect()
    })?;
    let of_device = |device: usize| of_param.iter().map(|of| of[device].clone()).collect();
    Ok((0..count).map(of_device).collect())
}

/// An argument as it was given.
enum Given<'a> {
    /// A tensor of an archive, by its index.
    Named(&'a mut Archive, usize),
    /// An argument given by position.
    Positional(InputSpec),
}

impl Given<'_> {
    /// Reads or generates the argument, of this type.
    fn read(&mut self, ty: &TensorType, seed: u64) -> Result<Literal> {
        match self {
            Given::Named(archive, tensor) => archive.read(*tensor, ty),
            Given::Positional(spec) => one(spec.clone(), ty, seed),
        }
    }

    fn is_random(&self) -> bool {
        matches!(self, Given::Positional(InputSpec::Fill(Fill::Rand | Fill::Between(..), _)))
    }
}

/// Calls `make` for each parameter, with its argument, its type, and a seed for random elements.
fn each<T>(
    interface: &Interface,
    params: &[&Type],
    args: &InputArgs,
    make: &mut dyn FnMut(&mut Given<'_>, &TensorType, u64) -> Result<T>,
) -> Result<Vec<T>> {
    let InputArgs { inputs, fill, seed } = args;
    let what = &interface.name;
    let taken = interface.inputs();
    let (mut archives, mut specs) = (Vec::new(), Vec::new());
    for spec in inputs {
        match spec {
            InputSpec::File(path) => match Archive::open(path)? {
                Some(archive) => archives.push(archive),
                None => specs.push(spec.clone()),
            },
            InputSpec::Fill(..) | InputSpec::Array(_) => specs.push(spec.clone()),
        }
    }
    let named = named(interface, &archives)?;
    let open = params.len().saturating_sub(named.len());
    if specs.len() > open || (specs.len() < open && fill.is_none()) {
        let missing = (0..params.len()).filter(|i| !named.contains_key(i)).map(|i| {
            let name = taken.get(i).map(|a| a.name.as_str()).filter(|n| *n != format!("arg{i}"));
            name.map_or_else(|| short(params[i]), |name| format!("{name}: {}", short(params[i])))
        });
        let missing = missing.collect::<Vec<_>>().join(", ");
        bail!("{}", wrong_count(what, &missing, (params.len(), named.len(), specs.len())));
    }
    let filled = fill.iter().flat_map(|f| std::iter::repeat(InputSpec::Fill(*f, None)));
    let mut specs = specs.into_iter().chain(filled);
    let mut arguments = Vec::with_capacity(params.len());
    for (i, ty) in params.iter().enumerate() {
        let name = taken.get(i).map(|a| a.name.as_str()).filter(|name| *name != format!("arg{i}"));
        let label = || match name {
            Some(name) => format!("argument {i} of {what}, {name}"),
            None => format!("argument {i} of {what}"),
        };
        let ty = ty
            .tensor()
            .with_context(|| format!("{} is a {}; only tensors can be given", label(), short(ty)))?;
        let given = match named.get(&i) {
            Some((archive, tensor)) => Some(Given::Named(&mut archives[*archive], *tensor)),
            None => specs.next().map(Given::Positional),
        };
        let mut given = given.ok_or_else(|| anyhow!("it is not given")).with_context(label)?;
        arguments.push(make(&mut given, ty, seed.wrapping_add(i as u64)).with_context(label)?);
    }
    Ok(arguments)
}

/// Adds a hint to the error for a missing file: the keyword that the file's name resembles, if any.
fn mistyped(error: anyhow::Error, path: &Path) -> anyhow::Error {
    let words = Fill::value_variants().iter().map(|fill| word(*fill));
    match path.to_str().filter(|_| !path.exists()).map(|text| nearest(text, words)).as_deref() {
        Some([near, ..]) => anyhow!("{error:#}; did you mean `{near}`?"),
        _ => error,
    }
}

/// Reads or generates an argument that is given by position.
fn one(spec: InputSpec, ty: &TensorType, seed: u64) -> Result<Literal> {
    match spec {
        InputSpec::File(path) => npy::read(&path, ty).map_err(|error| mistyped(error, &path)),
        InputSpec::Fill(_, Some(given)) if !fits(&given, ty) => {
            Err(anyhow!("it is {}, but {} is expected", short_type(&given), short_type(ty)))
        }
        InputSpec::Fill(fill, given) => make(fill, given.as_ref().unwrap_or(ty), seed),
        InputSpec::Array(array) => {
            let given = TensorType::new(ty.dtype, array.dims.clone());
            ensure!(fits(&given, ty), "it is {}, but {} is expected", short_type(&given), short_type(ty));
            array.literal(ty.dtype)
        }
    }
}

/// Returns the inputs that archives provide, as a map from the number of an input to the index of the archive
/// and the index of the tensor in that archive.
fn named(interface: &Interface, archives: &[Archive]) -> Result<HashMap<usize, (usize, usize)>> {
    let tensors = archives.iter().enumerate().flat_map(|(archive, file)| {
        file.names().into_iter().enumerate().map(move |(tensor, name)| (archive, tensor, name))
    });
    let tensors: Vec<(usize, usize, &str)> = tensors.collect();
    let names: Vec<&str> = tensors.iter().map(|(_, _, name)| *name).collect();
    let bound = interface.bind(&names).map_err(|errors| {
        let files: Vec<String> = archives.iter().map(|a| a.path().display().to_string()).collect();
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        anyhow!("cannot use {} for {}: {}", files.join(" and "), interface.name, errors.join("\n"))
    })?;
    // Arguments that the program does not use are not inputs of the run, so their tensors are not read.
    let inputs = bound.iter().zip(&tensors).filter_map(|(argument, (archive, tensor, _))| {
        Some((interface.arguments[*argument].input?, (*archive, *tensor)))
    });
    Ok(inputs.collect())
}

/// Error for a wrong number of arguments. The tuple counts the expected arguments, the arguments given by
/// name, and the arguments given by position.
fn wrong_count(what: &str, missing: &str, (taken, named, given): (usize, usize, usize)) -> String {
    let few = named + given < taken;
    let hint = match (few, named) {
        (false, _) => "",
        (true, 0) => {
            "\nGive a .npy file for each with --input FILE, or make the missing ones with --fill rand"
        }
        (true, _) => "\nGive the others with --input FILE, or make them with --fill rand",
    };
    let listed = if missing.is_empty() { String::new() } else { format!(" ({missing})") };
    match named {
        0 => format!("{what} takes {}{listed}, {given} given{hint}", count(taken, "argument")),
        _ => format!(
            "{what} takes {}, of which {named} are given by name; of the others{listed}, {given} given{hint}",
            count(taken, "argument")
        ),
    }
}

/// Returns true if a tensor of type `given` can be passed for one of type `declared`, which may have dynamic
/// sizes.
fn fits(given: &TensorType, declared: &TensorType) -> bool {
    given.dtype == declared.dtype
        && given.rank() == declared.rank()
        && given.dims().zip(declared.dims()).all(|(g, d)| g == d || d.is_dynamic())
}

/// Formats a count: `1 argument`, `2 arguments`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Generates a tensor of a type.
pub(crate) fn make(fill: Fill, ty: &TensorType, seed: u64) -> Result<Literal> {
    ensure!(
        ty.is_static(),
        "{} has dynamic sizes; give a .npy file, or a type without dynamic sizes, as in rand:{}[4,8]",
        short_type(ty),
        ty.dtype.name()
    );
    let dtype = ty.dtype;
    if let Fill::Between(first, end) = fill {
        let holds = |n: i64| Scalar::Signed(n).round_to(dtype).as_f64() == n as f64;
        let ends = dtype != DType::Pred && holds(first) && (dtype.real().is_float() || holds(end - 1));
        ensure!(ends, "{} does not hold all numbers of {first}..{end}", dtype.name());
    }
    let mut random = SplitMix(seed);
    let made = Literal::try_from_fn(dtype, ty.sizes(), |i| match fill {
        Fill::Zeros => Scalar::zero(dtype),
        Fill::Ones => Scalar::Unsigned(1),
        Fill::Iota => Scalar::Unsigned(i as u64),
        Fill::Between(first, end) if matches!(dtype.class(), DTypeClass::Signed | DTypeClass::Unsigned) => {
            Scalar::Signed(first.wrapping_add_unsigned(random.next() % end.abs_diff(first)))
        }
        Fill::Between(first, end) => {
            let (first, length) = (first as f64, end.abs_diff(first) as f64);
            Scalar::Float(first + (random.unit() + 1.0) / 2.0 * length)
        }
        Fill::Rand => match dtype.class() {
            DTypeClass::Bool => Scalar::Bool(random.next() & 1 == 1),
            DTypeClass::Signed | DTypeClass::Unsigned => {
                // Narrow types do not hold all integers from 0 to 9.
                let values = if dtype.bits() == 2 { 2 } else { 10.min(1 << (dtype.bits().min(8) - 1)) };
                Scalar::Unsigned(random.next() % values)
            }
            DTypeClass::Float => Scalar::Float(random.unit()),
            DTypeClass::Complex => Scalar::Complex(Complex::new(random.unit(), random.unit())),
        },
    });
    made.with_context(|| format!("{} does not fit into memory", short_type(ty)))
}

/// SplitMix64 (Steele, Lea, Flood 2014): the sequence is the same on all machines and must never change.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random number from -1 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(spec: InputSpec) -> Fill {
        match spec {
            InputSpec::Fill(fill, None) => fill,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn made_arguments_depend_on_type_and_seed_alone() {
        for dtype in DType::VARIANTS {
            let ty = TensorType::new(dtype, [40]);
            let a = make(Fill::Rand, &ty, 1).unwrap();
            assert_eq!(a, make(Fill::Rand, &ty, 1).unwrap());
            assert!(!a.is_splat(), "all random elements of {dtype} are equal");
        }
        let made =
            |spec: &str, dtype, n: usize| make(fill(spec.parse().unwrap()), &TensorType::new(dtype, [n]), 1);
        let indices: Vec<f64> =
            made("rand:-3..2000", DType::S32, 4000).unwrap().iter().map(Scalar::as_f64).collect();
        assert!(indices.iter().all(|i| (-3.0..2000.0).contains(i)), "{indices:?}");
        assert!(indices.iter().any(|i| *i > 1900.0) && indices.iter().any(|i| *i < 100.0));
        let error = |spec, dtype| made(spec, dtype, 1).unwrap_err().to_string();
        assert_eq!(error("rand:0..257", DType::U8), "u8 does not hold all numbers of 0..257");
        assert_eq!(error("rand:0..2", DType::Pred), "pred does not hold all numbers of 0..2");
        let iota = make(Fill::Iota, &TensorType::new(DType::C64, [2]), 0).unwrap();
        assert_eq!(iota.get(1), Scalar::Complex(Complex::new(1.0, 0.0)));
        for size in [usize::MAX, 1 << 61, 1 << 50] {
            assert!(
                make(Fill::Zeros, &TensorType::new(DType::F32, [size]), 0).is_err(),
                "{size} elements were created"
            );
        }
    }
}
