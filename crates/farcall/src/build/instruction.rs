//! Builder for single instructions, on which the methods for operations are based.

use std::panic::Location;

use farcall_ir::module::NewInst;
use farcall_ir::{AttrDict, Attribute, Op, TensorType, Type};

use super::error::Place;
use super::graph::Graph;
use super::region::Built;
use super::value::{Value, Values};

/// Builder for an instruction, returned by [`Graph::instruction`]. The instruction is added by
/// [`value`](Self::value), [`values`](Self::values) or [`many`](Self::many).
#[derive(Debug)]
#[must_use = "the instruction is only added to the graph by `value`, `values` or `many`"]
pub struct Instruction<'g> {
    graph: &'g Graph,
    place: Place,
    op: Op,
    operands: Vec<Value<'g>>,
    regions: Vec<Built>,
    types: Vec<Option<Type>>,
    attrs: AttrDict,
}

impl Graph {
    /// Builds any operation on operands, with options that the operation's own method does not have: other
    /// result types, where the operation does not determine them, and additional attributes.
    ///
    /// ```
    /// use farcall::build::Graph;
    /// use farcall::ir::op::Op;
    /// use farcall::ir::{Attribute, DType, TensorType};
    ///
    /// let graph = Graph::new("sharded");
    /// let x = graph.parameter("x", TensorType::new(DType::F32, [4]));
    /// let sharding = Attribute::string("{replicated}");
    /// let y = graph.instruction(Op::Copy, x).attr("mhlo.sharding", sharding).value();
    /// assert!(farcall::ir::hlo::print(&graph.finish(y)?)?.contains("sharding={replicated}"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn instruction<'g>(&'g self, op: Op, operands: impl Values<'g>) -> Instruction<'g> {
        self.at(Location::caller(), op, operands)
    }

    /// Builds an instruction written at a given place.
    pub(super) fn at<'g>(&'g self, place: Place, op: Op, operands: impl Values<'g>) -> Instruction<'g> {
        Instruction {
            graph: self,
            place,
            op,
            operands: operands.values(),
            regions: Vec::new(),
            types: Vec::new(),
            attrs: AttrDict::new(),
        }
    }
}

impl<'g> Instruction<'g> {
    /// Sets the type of the next result, where the operation does not determine it.
    pub fn result(self, ty: impl Into<Type>) -> Instruction<'g> {
        self.result_if_known(Some(ty.into()))
    }

    /// Sets the type of the next result. The type of an invalid operand is unknown (`None`), which makes this
    /// instruction invalid, too.
    pub(super) fn result_if_known(mut self, ty: Option<Type>) -> Instruction<'g> {
        self.types.push(ty);
        self
    }

    /// Adds the next region, from the types of its arguments and a closure that computes its results.
    pub fn region(
        self,
        types: impl IntoIterator<Item = Type>,
        body: impl FnOnce(Vec<Value<'g>>) -> Vec<Value<'g>>,
    ) -> Instruction<'g> {
        let types: Vec<Option<Type>> = types.into_iter().map(Some).collect();
        self.region_if_known(&types, body)
    }

    /// Adds the next region. Arguments of unknown type are values without a type.
    pub(super) fn region_if_known(
        mut self,
        types: &[Option<Type>],
        body: impl FnOnce(Vec<Value<'g>>) -> Vec<Value<'g>>,
    ) -> Instruction<'g> {
        self.regions.push(self.graph.region(self.place, types, body).0);
        self
    }

    /// Adds a region that has already been built.
    pub(super) fn with_region(mut self, region: Built) -> Instruction<'g> {
        self.regions.push(region);
        self
    }

    /// Sets an attribute that is not part of the operation, such as `mhlo.sharding` or
    /// `mhlo.frontend_attributes`.
    pub fn attr(mut self, name: &str, value: Attribute) -> Instruction<'g> {
        self.attrs.insert(name.to_owned(), value);
        self
    }

    /// Adds the instruction and returns its result. An error is recorded if the number of results is not 1.
    pub fn value(self) -> Value<'g> {
        let [value] = self.values();
        value
    }

    /// Adds the instruction and returns its results. An error is recorded if the number of results is not
    /// `N`.
    pub fn values<const N: usize>(self) -> [Value<'g>; N] {
        let (graph, place, name) = (self.graph, self.place, self.op.name());
        let values = self.emit();
        if let Some(values) = values.as_ref().filter(|values| values.len() != N) {
            let message = format!("{name} has {} results here, but {N} are expected", values.len());
            graph.fail(place, "result-count", message);
        }
        let values = values.unwrap_or_default();
        std::array::from_fn(|i| values.get(i).copied().unwrap_or_else(|| graph.poison()))
    }

    /// Adds the instruction and returns its results; if it is invalid, `count` values without a type.
    pub fn many(self, count: usize) -> Vec<Value<'g>> {
        let graph = self.graph;
        self.emit().unwrap_or_else(|| vec![graph.poison(); count])
    }

    /// Adds the instruction and returns its results in the structure of other values.
    pub(super) fn like<V: Values<'g>>(self, like: &V) -> V {
        let graph = self.graph;
        super::value::shaped(graph, like, self.emit().unwrap_or_default())
    }

    fn emit(self) -> Option<Vec<Value<'g>>> {
        let Instruction { graph, place, op, operands, regions, types, attrs } = self;
        let mut state = graph.state();
        let operands = state.resolve(graph, place, op.name(), &operands);
        let (operands, regions) = (operands?, regions.into_iter().collect::<Option<Vec<_>>>()?);
        let types = types.into_iter().collect::<Option<Vec<Type>>>()?;
        let new = NewInst { attrs, ..NewInst::new(op, operands).with_regions(regions) };
        let (func, results) = state.emit(place, new, types)?;
        Some(results.into_iter().map(|id| graph.value(func, id)).collect())
    }
}

/// Types of values, as far as they are known.
pub(super) fn types(values: &[Value<'_>]) -> Vec<Option<Type>> {
    values.iter().map(|value| value.ty()).collect()
}

/// Types of single elements of values. For a value that is not a tensor, the type of the value itself.
pub(super) fn elements(values: &[Value<'_>]) -> Vec<Option<Type>> {
    let element = |ty: Type| match ty {
        Type::Tensor(ty) => Type::Tensor(ty.with_sizes([])),
        other => other,
    };
    values.iter().map(|value| value.ty().map(element)).collect()
}

/// Types of two elements of each value, in the order of a reducer's arguments: one element of each value,
/// then another element of each value.
pub(super) fn pairs(values: &[Value<'_>]) -> Vec<Option<Type>> {
    [elements(values), elements(values)].concat()
}

/// The scalar type with this element type, for operations that only use the element type.
pub(super) fn element(dtype: farcall_ir::DType) -> TensorType {
    TensorType::scalar(dtype)
}
