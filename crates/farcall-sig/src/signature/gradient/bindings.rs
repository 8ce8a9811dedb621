//! What parameters of derivative ops are, where their names do not tell: `tangent(x) = tx`.

use std::fmt;
use std::str::FromStr;

use super::super::Signature;

/// What a parameter of a derivative op can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// An operand of the op.
    Operand,
    /// A result of the op.
    Result,
    /// A residual of the forward op.
    Residual,
    /// The cotangent of an operand or of a result.
    Cotangent,
    /// The tangent of an operand or of a result.
    Tangent,
}

impl Role {
    const ALL: [Role; 5] = [Role::Operand, Role::Result, Role::Residual, Role::Cotangent, Role::Tangent];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Operand => "operand",
            Role::Result => "result",
            Role::Residual => "residual",
            Role::Cotangent => "cotangent",
            Role::Tangent => "tangent",
        }
    }

    /// The role that is written so.
    pub fn named(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }

    /// The operands and results of an op that something of this role can belong to. Residuals are the forward op's.
    pub fn of(self, op: &Signature) -> Vec<&str> {
        let operands = op.operands().iter().map(|o| &o.name);
        let results = op.results().iter().map(|r| &r.name);
        let names: Vec<_> = match self {
            Role::Operand => operands.collect(),
            Role::Result => results.collect(),
            Role::Residual => Vec::new(),
            Role::Cotangent | Role::Tangent => operands.chain(results).collect(),
        };
        names.into_iter().map(|name| name.text.as_str()).collect()
    }
}

/// `tangent(x) = tx`: the parameter `tx` of a derivative op is the tangent of `x`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding {
    /// What it is …
    pub role: Role,
    /// … of this operand, result or residual.
    pub of: String,
    /// The operand or result of the derivative op.
    pub parameter: String,
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}) = {}", self.role.name(), self.of, self.parameter)
    }
}

/// All that is said about the parameters of one derivative op. Where nothing is said, names tell.
///
/// ```
/// use farcall_sig::signature::{Bindings, Role};
///
/// let bindings = "tangent(x) = tx, result(dx) = dx".parse::<Bindings>()?;
/// assert_eq!(bindings.iter().map(|b| b.role).collect::<Vec<_>>(), [Role::Tangent, Role::Result]);
/// assert_eq!(bindings.to_string(), "tangent(x) = tx, result(dx) = dx");
/// # Ok::<(), farcall_sig::signature::BindingError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Bindings(Vec<Binding>);

/// Why bindings cannot be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BindingError(String);

impl fmt::Display for BindingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BindingError {}

impl Bindings {
    /// None: names tell.
    pub const NONE: Bindings = Bindings(Vec::new());

    /// Adds one.
    ///
    /// # Errors
    /// If something else was said of the parameter, or of what it is.
    pub fn add(&mut self, binding: Binding) -> Result<(), BindingError> {
        let Binding { role, of, parameter } = &binding;
        let same = |b: &&Binding| b.parameter == *parameter || (b.role == *role && b.of == *of);
        if let Some(before) = self.0.iter().find(same) {
            return Err(BindingError(format!("`{before}` was said before")));
        }
        self.0.push(binding);
        Ok(())
    }

    /// In the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Binding> {
        self.0.iter()
    }
}

impl fmt::Display for Bindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, binding) in self.0.iter().enumerate() {
            write!(f, "{}{binding}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl FromStr for Bindings {
    type Err = BindingError;

    fn from_str(text: &str) -> Result<Bindings, BindingError> {
        let mut bindings = Bindings::NONE;
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let binding = read(part)
                .ok_or_else(|| BindingError(format!("`{part}` is no binding: `tangent(x) = tx`")))?;
            bindings.add(binding)?;
        }
        Ok(bindings)
    }
}

fn read(part: &str) -> Option<Binding> {
    let (what, parameter) = part.split_once('=')?;
    let (role, of) = what.trim().strip_suffix(')')?.split_once('(')?;
    let names = [of.trim(), parameter.trim()];
    let is_name =
        |name: &&str| name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_part);
    let [of, parameter] = names.map(str::to_owned);
    names.iter().all(is_name).then_some(Binding { role: Role::named(role.trim())?, of, parameter })
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
