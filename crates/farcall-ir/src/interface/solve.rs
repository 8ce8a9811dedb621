//! Finds the values of symbols from the types of inputs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use super::size::{Factor, SymbolicExpr};
use super::{ArgumentInfo, Interface, SymbolicSize, SymbolicType};
use crate::types::TensorType;

/// Values of symbols.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SymbolValues(BTreeMap<String, i64>);

impl SymbolValues {
    /// Returns the value of a symbol.
    pub fn get(&self, name: &str) -> Option<i64> {
        self.0.get(name).copied()
    }

    /// Returns the symbols with their values, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

impl FromIterator<(String, i64)> for SymbolValues {
    fn from_iter<I: IntoIterator<Item = (String, i64)>>(symbols: I) -> SymbolValues {
        SymbolValues(symbols.into_iter().collect())
    }
}

/// Inputs that a program does not accept, with reasons in the author's terms.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct InputMismatch {
    /// The function.
    name: String,
    kind: InputMismatchKind,
    /// Descriptions of the mismatches.
    reasons: Vec<String>,
}

/// Maximum number of reasons, of inputs, and of symbols with their values that a message lists.
const MAX_LISTED: usize = 20;

/// Kinds of mismatch between inputs and a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputMismatchKind {
    /// The number of inputs.
    Count,
    /// The element type of an input.
    ElementType,
    /// Sizes of inputs.
    Shape,
}

impl InputMismatch {
    /// Returns the kind of the first mismatch.
    pub fn kind(&self) -> InputMismatchKind {
        self.kind
    }

    /// Returns the descriptions of the first few mismatches, then the number of the others.
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }
}

impl fmt::Display for InputMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not take these inputs: {}", self.name, self.reasons.join("\n"))
    }
}

/// An equation: the symbolic size of a dimension and its actual size.
struct Equation<'i> {
    place: ArgumentDim<'i>,
    expr: &'i SymbolicExpr,
    found: usize,
}

/// A dimension of an argument.
#[derive(Clone, Copy)]
struct ArgumentDim<'i> {
    argument: &'i ArgumentInfo,
    dim: usize,
}

/// `x.shape[0]`
impl fmt::Display for ArgumentDim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.shape[{}]", self.argument.name, self.dim)
    }
}

impl Interface {
    /// Returns the values of the symbols for inputs of these types, one type per input of the program, in
    /// order ([`Interface::inputs`]). Symbols that do not follow from linear equations have no value; JAX
    /// does not export such programs.
    ///
    /// ```
    /// use farcall_ir::interface::Interface;
    /// use farcall_ir::{DType, Source, TensorType, text};
    ///
    /// let source = Source::new("f.mlir", "func.func @f(%x: tensor<?x4xf32> loc(\"x\")) -> tensor<?x4xf32> {
    ///   return %x : tensor<?x4xf32>
    /// }");
    /// let interface = Interface::of(text::parse(&source)?.func("f").unwrap());
    /// assert!(interface.solve(&[TensorType::new(DType::F32, [8, 4])]).is_ok());
    /// let wrong = interface.solve(&[TensorType::new(DType::F32, [8, 3])]).unwrap_err();
    /// assert_eq!(wrong.to_string(), "@f does not take these inputs: x is f32[8,3], but it takes f32[?,4]");
    /// # Ok::<(), farcall_ir::ProgramError>(())
    /// ```
    ///
    /// # Errors
    /// [`InputMismatch`] if the number of types is wrong; if a type has a different element type, number of
    /// dimensions or fixed size; if no values of the symbols give these sizes; or if the values violate a
    /// constraint.
    pub fn solve(&self, types: &[TensorType]) -> Result<SymbolValues, InputMismatch> {
        let wrong = |kind, reasons: Reasons| {
            Err(InputMismatch { name: self.name.clone(), kind, reasons: reasons.into_vec() })
        };
        let mut reasons = Reasons::default();
        let inputs = self.inputs();
        if types.len() != inputs.len() {
            let (n, given) = (inputs.len(), types.len());
            let listed = inputs.iter().take(MAX_LISTED).map(|a| format!("{}: {}", a.name, a.ty));
            let more = (n > MAX_LISTED).then(|| "…".to_owned());
            let taken: Vec<String> = listed.chain(more).collect();
            reasons.add(format_args!("it takes {n} ({}), but {given} were given", taken.join(", ")));
            return wrong(InputMismatchKind::Count, reasons);
        }
        let pairs = || inputs.iter().copied().zip(types);
        for (argument, ty) in pairs().filter(|(argument, ty)| !argument.ty.may_be(ty)) {
            let (name, found, taken) = (&argument.name, SymbolicType::of(ty), &argument.ty);
            reasons.add(format_args!("{name} is {found}, but it takes {taken}"));
        }
        if !reasons.listed.is_empty() {
            let like = pairs().all(|(argument, ty)| argument.ty.dtype == ty.dtype);
            return wrong(
                if like { InputMismatchKind::Shape } else { InputMismatchKind::ElementType },
                reasons,
            );
        }
        let equations = pairs().flat_map(|(argument, ty)| {
            let sizes = argument.ty.sizes.iter().zip(ty.dims()).enumerate();
            sizes.filter_map(move |(dim, (size, found))| match (size, found.size()) {
                (SymbolicSize::Symbolic(expr), Some(found)) => {
                    Some(Equation { place: ArgumentDim { argument, dim }, expr, found })
                }
                _ => None,
            })
        });
        let mut system = System::default();
        system.solve(&equations.collect::<Vec<_>>());
        for constraint in &self.constraints {
            if constraint.holds(&system.symbols) == Some(false) {
                let origins = system.origins(&constraint.symbols());
                system.reasons.add(format_args!("{constraint} does not hold{origins}"));
            }
        }
        if system.reasons.listed.is_empty() {
            Ok(system.symbols)
        } else {
            wrong(InputMismatchKind::Shape, system.reasons)
        }
    }
}

impl SymbolicType {
    /// Returns true if a type fits for some values of the symbols, regardless of the other arguments.
    fn may_be(&self, ty: &TensorType) -> bool {
        let fits = |(size, found): (&SymbolicSize, Option<usize>)| match (size, found) {
            (SymbolicSize::Fixed(size), Some(found)) => *size == found,
            (SymbolicSize::Any(Some(bound)), Some(found)) => found <= *bound,
            (SymbolicSize::Any(None) | SymbolicSize::Symbolic(_), _) | (_, None) => true,
        };
        self.dtype == ty.dtype
            && self.sizes.len() == ty.rank()
            && self.sizes.iter().zip(ty.dims().map(|dim| dim.size())).all(fits)
    }
}

/// A system of equations, solved one by one: each equation for its only unknown symbol.
#[derive(Default)]
struct System<'i> {
    symbols: SymbolValues,
    /// The dimension that determined each symbol.
    from: BTreeMap<&'i str, ArgumentDim<'i>>,
    reasons: Reasons,
}

/// The first few reasons, and the number of the others. Each dimension of a large program may be a reason.
#[derive(Default)]
struct Reasons {
    listed: Vec<String>,
    others: usize,
}

impl Reasons {
    fn add(&mut self, reason: fmt::Arguments<'_>) {
        if self.listed.len() < MAX_LISTED {
            self.listed.push(reason.to_string());
        } else {
            self.others += 1;
        }
    }

    fn into_vec(mut self) -> Vec<String> {
        self.listed.extend((self.others > 0).then(|| format!("… and {} more", self.others)));
        self.listed
    }
}

/// Result of examining an equation.
enum Step<'i> {
    /// The equation needs the values of more symbols.
    Waits,
    /// The equation holds, or a reason says why it does not.
    Checked,
    /// The equation determined the value of this symbol.
    Solved(&'i str),
}

impl<'i> System<'i> {
    /// Solves the equations in order as far as possible. An equation is examined once at most one of its
    /// symbols is unknown. If it cannot determine that symbol, it is examined again when the symbol is known.
    /// The work is therefore linear in the size of the equations.
    fn solve(&mut self, equations: &[Equation<'i>]) {
        let mut with: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut unknown = Vec::with_capacity(equations.len());
        for (i, equation) in equations.iter().enumerate() {
            let symbols = equation.expr.symbols();
            unknown.push(symbols.len());
            symbols.into_iter().for_each(|name| with.entry(name).or_default().push(i));
        }
        let mut waits = vec![true; equations.len()];
        let mut ready: BTreeSet<usize> = (0..equations.len()).filter(|i| unknown[*i] <= 1).collect();
        let mut next = 0;
        while let Some(i) = ready.range(next..).next().or(ready.first()).copied() {
            ready.remove(&i);
            next = i + 1;
            let step = self.step(&equations[i]);
            waits[i] = matches!(step, Step::Waits);
            let Step::Solved(name) = step else { continue };
            for j in with.remove(name).unwrap_or_default() {
                unknown[j] -= 1;
                if waits[j] && unknown[j] <= 1 {
                    ready.insert(j);
                }
            }
        }
    }

    /// Solves or checks an equation.
    fn step(&mut self, equation: &Equation<'i>) -> Step<'i> {
        let mut rest = i128::try_from(equation.found).unwrap_or(i128::MAX);
        let mut unknown: Option<(&str, i64)> = None;
        for term in equation.expr.terms() {
            match (term.value(&self.symbols), term.factors.as_slice()) {
                (Some(value), _) => rest -= i128::from(value),
                (None, [Factor::Symbol(name)]) if unknown.is_none() && self.symbols.get(name).is_none() => {
                    unknown = Some((name, term.coefficient));
                }
                (None, _) => return Step::Waits,
            }
        }
        let Equation { place, expr, found } = *equation;
        let Some((name, coefficient)) = unknown else {
            if rest != 0 {
                let expected = i128::try_from(found).unwrap_or(i128::MAX) - rest;
                let expr = expr.to_string();
                let origins = match self.from.get(expr.as_str()) {
                    Some(from) => format!(" from {from}"),
                    None => self.origins(&equation.expr.symbols()),
                };
                self.reasons.add(format_args!("{place} is {found}, but {expr} = {expected}{origins}"));
            }
            return Step::Checked;
        };
        let divisible = coefficient != 0 && rest % i128::from(coefficient) == 0;
        let value = if divisible { i64::try_from(rest / i128::from(coefficient)).ok() } else { None };
        let Some(value) = value else {
            self.reasons
                .add(format_args!("{place} is {found}, but there is no {name} for which {expr} = {found}"));
            return Step::Checked;
        };
        if value < 1 {
            let text = expr.to_string();
            let so = if text == name { String::new() } else { format!(" = {text}, so {name} = {value}") };
            self.reasons.add(format_args!("{place} is {found}{so}, but {name} is at least 1"));
        }
        // Also record a value that is too small: further errors that follow from a missing value would be
        // noise.
        self.symbols.0.insert(name.to_owned(), value);
        self.from.insert(name, place);
        Step::Solved(name)
    }

    /// Formats the origin of symbol values: `, with b = 3 from x.shape[0]`.
    fn origins(&self, names: &BTreeSet<&str>) -> String {
        let known = names.iter().filter_map(|name| {
            let (value, from) = (self.symbols.get(name)?, self.from.get(*name)?);
            Some(format!("{name} = {value} from {from}"))
        });
        let known: Vec<String> = known.take(MAX_LISTED).collect();
        if known.is_empty() { String::new() } else { format!(", with {}", known.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use farcall_sig::DType;

    use super::*;

    /// Creates the function `f(x, y)` with these sizes.
    fn interface(x: &str, y: &str, constraints: &[&str]) -> Interface {
        let argument = |(i, (name, sizes)): (usize, (&str, &str))| ArgumentInfo {
            name: name.to_owned(),
            path: None,
            ty: SymbolicType {
                dtype: DType::F32,
                sizes: sizes.split(';').map(|s| s.parse().unwrap()).collect(),
            },
            input: Some(i),
        };
        Interface {
            name: "f".to_owned(),
            arguments: [("x", x), ("y", y)].into_iter().enumerate().map(argument).collect(),
            results: Vec::new(),
            constraints: constraints.iter().map(|c| c.parse().unwrap()).collect(),
        }
    }

    fn solve(interface: &Interface, x: &[usize], y: &[usize]) -> String {
        let types = [x, y].map(|sizes| TensorType::new(DType::F32, sizes));
        match interface.solve(&types) {
            Ok(symbols) => symbols.iter().map(|(n, v)| format!("{n} = {v}")).collect::<Vec<_>>().join(", "),
            Err(e) => e.reasons().join("\n"),
        }
    }

    #[test]
    fn symbols_follow_from_sizes() {
        let f = interface("2*b + 1;4", "a*b;a", &[]);
        assert_eq!(solve(&f, &[7, 4], &[15, 5]), "a = 5, b = 3");
        assert_eq!(
            solve(&f, &[7, 4], &[14, 5]),
            "y.shape[0] is 14, but a*b = 15, with a = 5 from y.shape[1], b = 3 from x.shape[0]"
        );
        assert_eq!(solve(&f, &[6, 4], &[15, 5]), "x.shape[0] is 6, but there is no b for which 2*b + 1 = 6");
        assert_eq!(solve(&f, &[1, 4], &[0, 5]), "x.shape[0] is 1 = 2*b + 1, so b = 0, but b is at least 1");
        assert_eq!(
            solve(&f, &[7, 3], &[15]),
            "x is f32[7,3], but it takes f32[2*b + 1,4]\ny is f32[15], but it takes f32[a*b,a]"
        );
    }

    #[test]
    fn violated_constraints_list_symbol_values() {
        let f = interface("b", "b", &[]);
        assert_eq!(solve(&f, &[8], &[4]), "y.shape[0] is 4, but b = 8 from x.shape[0]");
        let f = interface("b", "c", &["b >= 2", "mod(b, 4) == 0", "2*c <= b"]);
        assert_eq!(solve(&f, &[8], &[4]), "b = 8, c = 4");
        assert_eq!(
            solve(&f, &[1], &[1]),
            "b >= 2 does not hold, with b = 1 from x.shape[0]\n\
             mod(b, 4) == 0 does not hold, with b = 1 from x.shape[0]\n\
             2*c <= b does not hold, with b = 1 from x.shape[0], c = 1 from y.shape[0]"
        );
    }

    /// Solves a chain of sums, each of which determines a symbol that the sum before it needs. Repeated
    /// passes over all equations in order would solve only one equation per pass, and take too long.
    #[test]
    fn the_order_of_equations_does_not_matter() {
        let n = 20_000;
        let sums: Vec<String> = (0..n).rev().map(|i| format!("s{i} + s{}", i + 1)).collect();
        let f = interface(&sums.join(";"), "s0", &[]);
        let types = [vec![3; n], vec![1]].map(|sizes| TensorType::new(DType::F32, sizes));
        let start = std::time::Instant::now();
        let symbols = f.solve(&types).unwrap();
        assert_eq!((symbols.get("s0"), symbols.get("s1")), (Some(1), Some(2)));
        assert_eq!(symbols.iter().count(), n + 1);
        assert!(start.elapsed().as_secs() < 10, "solving took {:?}", start.elapsed());
    }

    #[test]
    fn reasons_beyond_the_limit_are_counted() {
        let f = interface(&["b"; 30].join(";"), "c", &[]);
        let sizes: Vec<usize> = (1..31).collect();
        let error = solve(&f, &sizes, &[1]);
        assert!(error.starts_with("x.shape[1] is 2, but b = 1 from x.shape[0]\n"), "{error}");
        assert!(error.ends_with("\nx.shape[20] is 21, but b = 1 from x.shape[0]\n… and 9 more"), "{error}");
    }

    #[test]
    fn unsolved_symbols_stay_open() {
        let f = interface("a*b;b + c", "a^2;c", &[]);
        assert_eq!(solve(&f, &[6, 5], &[4, 3]), "b = 2, c = 3");
        let f = interface("2*a;a", "a*a", &[]);
        assert_eq!(solve(&f, &[5, 2], &[4]), "x.shape[0] is 5, but there is no a for which 2*a = 5");
    }
}
