//! Bindings: explicit roles of a derivative op's parameters whose names do not imply their roles, as in
//! `tangent(x) = tx`.

use std::fmt;
use std::str::FromStr;

use super::super::Signature;

/// Role of a parameter of a derivative op.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BindingRole {
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

impl BindingRole {
    const VARIANTS: [BindingRole; 5] = [
        BindingRole::Operand,
        BindingRole::Result,
        BindingRole::Residual,
        BindingRole::Cotangent,
        BindingRole::Tangent,
    ];

    /// Name in the syntax of bindings.
    pub const fn name(self) -> &'static str {
        match self {
            BindingRole::Operand => "operand",
            BindingRole::Result => "result",
            BindingRole::Residual => "residual",
            BindingRole::Cotangent => "cotangent",
            BindingRole::Tangent => "tangent",
        }
    }

    /// Returns the role with this name.
    pub fn named(name: &str) -> Option<BindingRole> {
        BindingRole::VARIANTS.into_iter().find(|role| role.name() == name)
    }

    /// Returns the operands and results of `op` that this role can refer to. Empty for
    /// [`BindingRole::Residual`], because residuals belong to the forward op.
    pub fn of(self, op: &Signature) -> Vec<&str> {
        let operands = op.operands().iter().map(|o| &o.name);
        let results = op.results().iter().map(|r| &r.name);
        let names: Vec<_> = match self {
            BindingRole::Operand => operands.collect(),
            BindingRole::Result => results.collect(),
            BindingRole::Residual => Vec::new(),
            BindingRole::Cotangent | BindingRole::Tangent => operands.chain(results).collect(),
        };
        names.into_iter().map(|name| name.text.as_str()).collect()
    }
}

/// `tangent(x) = tx`: the parameter `tx` of a derivative op is the tangent of `x`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding {
    /// Role of the parameter.
    pub role: BindingRole,
    /// Operand, result or residual that the role refers to.
    pub of: String,
    /// Operand or result of the derivative op that has the role.
    pub parameter: String,
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}) = {}", self.role.name(), self.of, self.parameter)
    }
}

/// Bindings for the parameters of one derivative op. The role of a parameter without a binding follows from
/// its name.
///
/// ```
/// use farcall_sig::signature::{BindingRole, Bindings};
///
/// let bindings = "tangent(x) = tx, result(dx) = dx".parse::<Bindings>()?;
/// let roles: Vec<BindingRole> = bindings.iter().map(|b| b.role).collect();
/// assert_eq!(roles, [BindingRole::Tangent, BindingRole::Result]);
/// assert_eq!(bindings.to_string(), "tangent(x) = tx, result(dx) = dx");
/// # Ok::<(), farcall_sig::signature::BindingError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Bindings(Vec<Binding>);

/// Error in the text of bindings, or in a combination of bindings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BindingError(String);

impl fmt::Display for BindingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BindingError {}

impl Bindings {
    /// No bindings: names determine all roles.
    pub const EMPTY: Bindings = Bindings(Vec::new());

    /// Adds a binding.
    ///
    /// # Errors
    /// If an earlier binding has the same parameter, or the same role of the same tensor.
    pub fn add(&mut self, binding: Binding) -> Result<(), BindingError> {
        let Binding { role, of, parameter } = &binding;
        let same = |b: &&Binding| b.parameter == *parameter || (b.role == *role && b.of == *of);
        if let Some(before) = self.0.iter().find(same) {
            return Err(BindingError(format!("conflicts with the earlier binding `{before}`")));
        }
        self.0.push(binding);
        Ok(())
    }

    /// Bindings in the order in which they were added.
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
        let mut bindings = Bindings::EMPTY;
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let binding = read(part).ok_or_else(|| {
                BindingError(format!("`{part}` is not a binding such as `tangent(x) = tx`"))
            })?;
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
    names.iter().all(is_name).then_some(Binding { role: BindingRole::named(role.trim())?, of, parameter })
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
