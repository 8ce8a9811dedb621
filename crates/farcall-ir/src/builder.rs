//! Builds instructions, with inferred result types.

use std::sync::Arc;

use crate::diag::{Diagnostic, Span};
use crate::infer;
use crate::module::{Func, InstId, Loc, NewInst, RegionId, ValueId};
use crate::op::Op;
use crate::types::Type;

/// Puts instructions into a function, one behind the other.
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
    place: Place,
    span: Span,
    loc: Option<Arc<Loc>>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    End(RegionId),
    Before(InstId),
}

impl<'f> Builder<'f> {
    /// A builder that puts instructions at the end of a region.
    pub fn at_end(func: &'f mut Func, region: RegionId) -> Builder<'f> {
        Builder { func, place: Place::End(region), span: Span::default(), loc: None }
    }

    /// A builder that puts instructions before another one, whose place in the source they take.
    pub fn before(func: &'f mut Func, inst: InstId) -> Builder<'f> {
        let (span, loc) = (func.inst(inst).span(), func.inst(inst).loc().cloned());
        Builder { func, place: Place::Before(inst), span, loc }
    }

    /// The same, for instructions from a place of the source.
    pub fn from_source(self, span: Span, loc: Option<Arc<Loc>>) -> Builder<'f> {
        Builder { span, loc, ..self }
    }

    /// A builder of the same function that puts instructions at the end of a region, for the same place of
    /// the source.
    pub fn inside(&mut self, region: RegionId) -> Builder<'_> {
        Builder { place: Place::End(region), span: self.span, loc: self.loc.clone(), func: self.func }
    }

    /// The function as it is now.
    pub fn built(&self) -> &Func {
        self.func
    }

    /// The function, to be changed.
    pub fn func(&mut self) -> &mut Func {
        self.func
    }

    /// An operation without regions and with one result.
    ///
    /// # Errors
    /// As for [`Builder::inst`].
    pub fn value(
        &mut self,
        op: Op,
        operands: impl IntoIterator<Item = ValueId>,
    ) -> Result<ValueId, Vec<Diagnostic>> {
        let new = NewInst::new(op, operands).at(self.span, self.loc.clone());
        let inst = self.inst(new)?;
        Ok(self.func.inst(inst).results()[0])
    }

    /// An operation without regions and with one result, whose type it leaves free (`convert`,
    /// `reshape`, `iota`, …).
    ///
    /// # Errors
    /// As for [`Builder::inst_of`].
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

    /// An instruction whose results have the types that follow from its operands, attributes and
    /// regions.
    ///
    /// # Errors
    /// Every constraint that it violates, and operations that leave a result's type free; the function
    /// is as it was then.
    pub fn inst(&mut self, new: NewInst) -> Result<InstId, Vec<Diagnostic>> {
        self.inst_of(new, [])
    }

    /// An instruction whose results have these types, as far as it leaves them free, else those that
    /// follow.
    ///
    /// # Errors
    /// Every constraint that it violates; the function is as it was then.
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

    /// An instruction with results of these types, which are not compared with what follows.
    pub(crate) fn unchecked(&mut self, new: NewInst, results: impl IntoIterator<Item = Type>) -> InstId {
        let id = self.func.new_inst(new.at(self.span, self.loc.clone()), results);
        self.put(id);
        id
    }

    fn put(&mut self, inst: InstId) {
        match self.place {
            Place::End(region) => self.func.append(region, inst),
            Place::Before(next) => self.func.insert_before(inst, next),
        }
    }
}
