//! Reductions, windows, sorting, and other operations whose regions are applied to elements.

use std::panic::Location;

use farcall_ir::op::{Binary, Op, ReduceWindow, Scan, SelectAndScatter};
use farcall_ir::{DType, Dim, Scalar, Type};

use super::error::Place;
use super::graph::Graph;
use super::instruction::{Instruction, elements, pairs, types};
use super::number::Number;
use super::value::{Value, Values, shaped};

impl Graph {
    /// Adds a `reduce` over dimensions. `combine` takes an accumulator and an element, both scalars of the
    /// types of `inits`. Its result must not depend on the order in which elements are combined.
    ///
    /// ```
    /// # use farcall::build::Graph;
    /// # use farcall::ir::{DType, TensorType};
    /// let graph = Graph::new("argmax");
    /// let x = graph.parameter("x", TensorType::new(DType::F32, [2, 5]));
    /// let index = graph.iota(TensorType::new(DType::S32, [2, 5]), 1);
    /// let least = (graph.scalar(DType::F32, f64::NEG_INFINITY), graph.scalar(DType::S32, 0));
    /// let (max, at) = graph.reduce((x, index), least, [1], |(a, i), (b, j)| {
    ///     let first = a.gt(b) | (a.eq(b) & i.lt(j));
    ///     (first.select(a, b), first.select(i, j))
    /// });
    /// # graph.finish((max, at))?;
    /// # Ok::<(), farcall::build::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn reduce<'g, V: Values<'g>>(
        &'g self,
        inputs: V,
        inits: V,
        dims: impl Into<Vec<usize>>,
        combine: impl FnOnce(V, V) -> V,
    ) -> V {
        let op = Op::Reduce { dims: dims.into() };
        let instruction = self.at(Location::caller(), op, (inputs.values(), inits.values()));
        self.combining(instruction, &inits, combine)
    }

    /// Adds a `reduce_window`: like [`reduce`](Graph::reduce), over windows of elements.
    #[track_caller]
    pub fn reduce_window<'g, V: Values<'g>>(
        &'g self,
        inputs: V,
        inits: V,
        windows: ReduceWindow,
        combine: impl FnOnce(V, V) -> V,
    ) -> V {
        let op = Op::ReduceWindow(Box::new(windows));
        let instruction = self.at(Location::caller(), op, (inputs.values(), inits.values()));
        self.combining(instruction, &inits, combine)
    }

    /// Adds an instruction with a region that combines scalars of the element types of `like`.
    pub(super) fn combining<'g, V: Values<'g>>(
        &'g self,
        instruction: Instruction<'g>,
        like: &V,
        combine: impl FnOnce(V, V) -> V,
    ) -> V {
        let types = pairs(&like.values());
        let body = |args: Vec<Value<'g>>| {
            let (left, right) = args.split_at(args.len() / 2);
            combine(shaped(self, like, left.to_vec()), shaped(self, like, right.to_vec())).values()
        };
        instruction.region_if_known(&types, body).like(like)
    }

    /// Adds a `map`. `function` takes one element of each input, as scalars, and returns a scalar.
    #[track_caller]
    pub fn map<'g, V: Values<'g>>(&'g self, inputs: V, function: impl FnOnce(V) -> Value<'g>) -> Value<'g> {
        let values = inputs.values();
        let rank = values.first().map_or(0, |value| value.rank());
        let instruction = self.at(Location::caller(), Op::Map { dims: (0..rank).collect() }, values.clone());
        let body = |args| vec![function(shaped(self, &inputs, args))];
        instruction.region_if_known(&elements(&values), body).value()
    }

    /// Adds a `sort` along a dimension. `comes_before` compares two positions along the dimension: each of
    /// its two arguments has one element of each value. If `is_stable`, equal elements keep their order.
    #[track_caller]
    pub fn sort<'g, V: Values<'g>>(
        &'g self,
        values: V,
        dim: usize,
        is_stable: bool,
        comes_before: impl FnOnce(V, V) -> Value<'g>,
    ) -> V {
        let given = values.values();
        let sides: Vec<Option<Type>> = elements(&given).into_iter().flat_map(|ty| [ty.clone(), ty]).collect();
        let instruction = self.at(Location::caller(), Op::Sort { dim, is_stable }, given);
        let body = |args: Vec<Value<'g>>| {
            let every_other = |from: usize| args.iter().skip(from).step_by(2).copied().collect();
            let [left, right] = [0, 1].map(|from| shaped(self, &values, every_other(from)));
            vec![comes_before(left, right)]
        };
        instruction.region_if_known(&sides, body).like(&values)
    }

    /// Adds a `chlo.scan`. `step` takes a slice of each input along `dim` and the carried values; it returns
    /// a slice of each output and the next carried values. The results are the outputs and the last carried
    /// values.
    #[track_caller]
    pub fn scan<'g, X: Values<'g>, C: Values<'g>, Y: Values<'g>>(
        &'g self,
        inputs: X,
        inits: C,
        dim: usize,
        step: impl FnOnce(X, C) -> (Y, C),
    ) -> (Y, C) {
        self.scan_from(Location::caller(), inputs, inits, dim, false, step)
    }

    /// Adds a `chlo.scan` from the last slice to the first: see [`scan`](Graph::scan).
    #[track_caller]
    pub fn reverse_scan<'g, X: Values<'g>, C: Values<'g>, Y: Values<'g>>(
        &'g self,
        inputs: X,
        inits: C,
        dim: usize,
        step: impl FnOnce(X, C) -> (Y, C),
    ) -> (Y, C) {
        self.scan_from(Location::caller(), inputs, inits, dim, true, step)
    }

    fn scan_from<'g, X: Values<'g>, C: Values<'g>, Y: Values<'g>>(
        &'g self,
        place: Place,
        inputs: X,
        inits: C,
        dim: usize,
        is_reverse: bool,
        step: impl FnOnce(X, C) -> (Y, C),
    ) -> (Y, C) {
        let (xs, carried) = (inputs.values(), inits.values());
        let slice = |ty: Type| match ty {
            Type::Tensor(ty) => {
                let rest = ty.dims().enumerate().filter(|(d, _)| *d != dim).map(|(_, dim)| dim);
                Type::Tensor(ty.with_dims(rest))
            }
            other => other,
        };
        let mut args: Vec<Option<Type>> = types(&xs).into_iter().map(|ty| ty.map(slice)).collect();
        args.extend(types(&carried));
        let size = xs.first().and_then(|x| x.tensor()?.get_dim(dim));
        let count = xs.len();
        let (region, (y, _)) = self.region(place, &args, |args| {
            let (x, c) = args.split_at(count.min(args.len()));
            step(shaped(self, &inputs, x.to_vec()), shaped(self, &inits, c.to_vec()))
        });
        let slices = y.values();
        let op = Scan {
            dim,
            size: None,
            is_reverse,
            is_associative: None,
            inputs: count,
            carries: carried.len(),
            outputs: slices.len(),
        };
        let whole = |ty: Type| match (ty, size) {
            (Type::Tensor(ty), Some(size)) => {
                let mut dims: Vec<Dim> = ty.dims().collect();
                dims.insert(dim.min(dims.len()), size);
                Type::Tensor(ty.with_dims(dims))
            }
            (other, _) => other,
        };
        let mut results: Vec<Option<Type>> = types(&slices).into_iter().map(|ty| ty.map(whole)).collect();
        results.extend(types(&carried));
        let instruction = self.at(place, Op::Scan(op), (xs, carried)).with_region(region);
        results.into_iter().fold(instruction, Instruction::result_if_known).like(&(y, inits))
    }
}

impl<'g> Value<'g> {
    /// Adds a `select_and_scatter`. For each window of this value, `select` chooses one element by comparing
    /// two at a time, and the corresponding element of `source` is sent to the chosen position. `scatter`
    /// combines the elements that arrive at one position, beginning with `init`.
    #[track_caller]
    pub fn select_and_scatter(
        self,
        source: Value<'g>,
        init: Value<'g>,
        windows: SelectAndScatter,
        select: impl FnOnce(Value<'g>, Value<'g>) -> Value<'g>,
        scatter: impl FnOnce(Value<'g>, Value<'g>) -> Value<'g>,
    ) -> Value<'g> {
        let graph = self.graph;
        let instruction = graph.at(Location::caller(), Op::SelectAndScatter(windows), [self, source, init]);
        let instruction = instruction.region_if_known(&pairs(&[self]), |args| {
            let [left, right] = shaped(graph, &[self, self], args);
            vec![select(left, right)]
        });
        graph.combining(instruction, &source, scatter)
    }

    /// Sums all elements along the dimensions `dims`, and removes these dimensions.
    #[track_caller]
    pub fn reduce_sum(self, dims: impl Into<Vec<usize>>) -> Value<'g> {
        self.reduced(Location::caller(), dims.into(), 0.into(), Binary::Add)
    }

    /// Multiplies all elements along the dimensions `dims`, and removes these dimensions.
    #[track_caller]
    pub fn reduce_prod(self, dims: impl Into<Vec<usize>>) -> Value<'g> {
        self.reduced(Location::caller(), dims.into(), 1.into(), Binary::Multiply)
    }

    /// Takes the maximum of all elements along the dimensions `dims`, and removes these dimensions.
    #[track_caller]
    pub fn reduce_max(self, dims: impl Into<Vec<usize>>) -> Value<'g> {
        self.reduced_from_extreme(Location::caller(), dims.into(), false, Binary::Maximum)
    }

    /// Takes the minimum of all elements along the dimensions `dims`, and removes these dimensions.
    #[track_caller]
    pub fn reduce_min(self, dims: impl Into<Vec<usize>>) -> Value<'g> {
        self.reduced_from_extreme(Location::caller(), dims.into(), true, Binary::Minimum)
    }

    /// A reduction whose initial value is the smallest number of the element type, or the largest.
    fn reduced_from_extreme(
        self,
        place: Place,
        dims: Vec<usize>,
        is_greatest: bool,
        function: Binary,
    ) -> Value<'g> {
        let Some(ty) = self.tensor() else { return self.reduced(place, dims, 0.into(), function) };
        match extreme(ty.dtype, is_greatest) {
            Some(init) => self.reduced(place, dims, init, function),
            None => {
                let message = format!(
                    "{} has no infinity to begin with: use Graph::reduce with another number",
                    ty.dtype
                );
                self.graph.wrong(place, "number", message)
            }
        }
    }

    /// A reduction with a binary operation. All of its instructions are recorded with the same place in the
    /// source.
    fn reduced(self, place: Place, dims: Vec<usize>, init: Number, function: Binary) -> Value<'g> {
        let init = super::Operand::from(init).beside(place, self);
        let instruction = self.graph.at(place, Op::Reduce { dims }, [self, init]);
        self.graph.combining(instruction, &init, |a, b| a.with(place, function, b.into()))
    }

    /// Adds a `chlo.top_k`: the `k` largest elements along the last dimension, in descending order, and their
    /// indices (`s32`).
    #[track_caller]
    pub fn top_k(self, k: usize) -> [Value<'g>; 2] {
        self.graph.instruction(Op::TopK { k }, self).values()
    }
}

/// Returns the least number of an element type, or the greatest; `None` for floating-point types without
/// infinities.
fn extreme(dtype: DType, is_greatest: bool) -> Option<Number> {
    Some(match Scalar::extreme(dtype, is_greatest)? {
        Scalar::Bool(x) => x.into(),
        Scalar::Signed(x) => x.into(),
        Scalar::Unsigned(x) => x.into(),
        Scalar::Float(x) => x.into(),
        Scalar::Complex(x) => x.into(),
    })
}
