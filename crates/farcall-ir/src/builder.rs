//! Builder for instructions, with inferred result types.

use std::sync::Arc;

use crate::diag::{Diagnostic, Span};
use crate::infer;
use crate::module::{Func, InstId, Loc, NewInst, RegionId, ValueId};
use crate::op::Op;
use crate::types::Type;

/// Inserts instructions into a function, one after the other.
///
/// ```
/// use farcall_ir::builder::Builder;
/// use farcall_ir::module::Func;
/// use farcall_ir::op::{Binary, Op};
/// use farcall_ir::{DType, Span, TensorType};
///
/// let mut func = Func::new("main", Span::default());
/// let x = func.add_arg(Func::BODY, TensorType::new(DType::F32, [4]).into());
/// let mut b = Builder::at_end(&mut func, Func::BODY);
/// let y = b.value(Op::Binary(Binary::Add), [x, x])?;
/// b.inst(farcall_ir::module::NewInst::new(Op::Return, [y]))?;
/// assert_eq!(func.ty(y), func.ty(x));
/// # Ok::<(), Vec<farcall_ir::Diagnostic>>(())
/// ```
#[derive(Debug)]
pub struct Builder<'f> {
    func: &'f mut Func,
    position: Position,
    span: Span,
    loc: Option<Arc<Loc>>,
}

#[derive(Clone, Copy, Debug)]
enum Position {
    End(RegionId),
    Before(InstId),
}

impl<'f> Builder<'f> {
    /// Creates a builder that inserts at the end of a region.
    pub fn at_end(func: &'f mut Func, region: RegionId) -> Builder<'f> {
        Builder { func, position: Position::End(region), span: Span::default(), loc: None }
    }

    /// Creates a builder that inserts before `inst` and gives new instructions its source location.
    pub fn before(func: &'f mut Func, inst: InstId) -> Builder<'f> {
        let (span, loc) = (func.inst(inst).span(), func.inst(inst).loc().cloned());
        Builder { func, position: Position::Before(inst), span, loc }
    }

    /// Sets the source location of the instructions that follow.
    pub fn from_source(self, span: Span, loc: Option<Arc<Loc>>) -> Builder<'f> {
        Builder { span, loc, ..self }
    }

    /// Returns a builder that inserts at the end of another region of this function, with the same source
    /// location.
    pub fn inside(&mut self, region: RegionId) -> Builder<'_> {
        Builder { position: Position::End(region), span: self.span, loc: self.loc.clone(), func: self.func }
    }

    /// The function built so far.
    pub fn built(&self) -> &Func {
        self.func
    }

    /// The function, for changes.
    pub fn func(&mut self) -> &mut Func {
        self.func
    }

    /// Inserts an operation without regions and with one result, and returns the result.
    ///
    /// # Errors
    /// Same errors as [`Builder::inst`].
    pub fn value(
        &mut self,
        op: Op,
        operands: impl IntoIterator<Item = ValueId>,
    ) -> Result<ValueId, Vec<Diagnostic>> {
        let new = NewInst::new(op, operands).at(self.span, self.loc.clone());
        let inst = self.inst(new)?;
        Ok(self.func.inst(inst).results()[0])
    }

    /// Inserts an operation without regions and with one result, whose type the operands do not determine
    /// (`convert`, `reshape`, `iota`, …).
    ///
    /// # Errors
    /// Same errors as [`Builder::inst_of`].
    pub fn value_of(
        &mut self,
        op: Op,
        operands: impl IntoIterator<Item = ValueId>,
        ty: impl Into<Type>,
    ) -> Result<ValueId, Vec<Diagnostic>> {
        let new = NewInst::new(op, operands).at(self.span, self.loc.clone());
        let inst = self.inst_of(new, [ty.into()])?;
        Ok(self.func.inst(inst).results()[0])
    }

    /// Inserts an instruction whose result types follow from its operands, attributes and regions.
    ///
    /// # Errors
    /// Every violated constraint, and operations whose result types are not determined. The function is then
    /// unchanged.
    pub fn inst(&mut self, new: NewInst) -> Result<InstId, Vec<Diagnostic>> {
        self.inst_of(new, [])
    }

    /// Inserts an instruction. Result types that are not determined by the operands, attributes and regions
    /// are taken from `declared`.
    ///
    /// # Errors
    /// Every violated constraint. The function is then unchanged.
    pub fn inst_of(
        &mut self,
        new: NewInst,
        declared: impl IntoIterator<Item = Type>,
    ) -> Result<InstId, Vec<Diagnostic>> {
        let regions = new.regions.clone();
        let id = self.func.new_inst(new, declared);
        let types = match infer::result_type_list(self.func.inst(id)) {
            Ok(types) => types,
            Err(diagnostics) => {
                regions.iter().for_each(|r| self.func.disown(*r));
                return Err(diagnostics);
            }
        };
        self.func.set_results(id, types);
        self.put(id);
        Ok(id)
    }

    /// Inserts an instruction with these result types, without checking them by inference.
    pub(crate) fn unchecked(&mut self, new: NewInst, results: impl IntoIterator<Item = Type>) -> InstId {
        let id = self.func.new_inst(new.at(self.span, self.loc.clone()), results);
        self.put(id);
        id
    }

    fn put(&mut self, inst: InstId) {
        match self.position {
            Position::End(region) => self.func.append(region, inst),
            Position::Before(next) => self.func.insert_before(inst, next),
        }
    }
}
