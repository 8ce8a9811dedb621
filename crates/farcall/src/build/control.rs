//! Control flow, tuples, tokens, and transfers into and out of the running program.

use std::panic::Location;

use farcall_ir::Type;
use farcall_ir::op::{Endpoint, Op, Transfer};

use super::graph::Graph;
use super::instruction::{Instruction, types};
use super::value::{Value, Values, shaped};

impl Graph {
    /// Adds an `if`. Each closure is called once, to add the instructions of its branch. When the program
    /// runs, it takes one branch; the results have the structure that the closures return.
    ///
    /// ```
    /// # use farcall::build::Graph;
    /// # use farcall::ir::{DType, TensorType};
    /// let graph = Graph::new("relu");
    /// let x = graph.parameter("x", TensorType::new(DType::F32, []));
    /// let y = graph.if_(x.gt(0.0), || x, || x * 0.01);
    /// # graph.finish(y)?;
    /// # Ok::<(), farcall::build::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn if_<'g, V: Values<'g>>(
        &'g self,
        pred: Value<'g>,
        on_true: impl FnOnce() -> V,
        on_false: impl FnOnce() -> V,
    ) -> V {
        let place = Location::caller();
        let (yes, like) = self.region(place, &[], |_| on_true());
        let (no, _) = self.region(place, &[], |_| on_false());
        self.at(place, Op::If, pred).with_region(yes).with_region(no).like(&like)
    }

    /// Adds a `case` with `count` branches (at least one). The closure is called once for each branch, with
    /// the number of the branch, and must return the same structure each time. An index out of range chooses
    /// the last branch.
    #[track_caller]
    pub fn case<'g, V: Values<'g>>(
        &'g self,
        index: Value<'g>,
        count: usize,
        mut branch: impl FnMut(usize) -> V,
    ) -> V {
        let place = Location::caller();
        let (first, like) = self.region(place, &[], |_| branch(0));
        let mut instruction = self.at(place, Op::Case, index).with_region(first);
        if count == 0 {
            self.fail(place, "case_c1", "at least one branch is needed, found none");
        }
        for i in 1..count {
            instruction = instruction.with_region(self.region(place, &[], |_| branch(i)).0);
        }
        instruction.like(&like)
    }

    /// Adds a `while`, whose values start as `inits`. As long as `condition` returns true (a scalar `pred`)
    /// for the current values, `body` computes the next values from them.
    #[track_caller]
    pub fn while_<'g, V: Values<'g>>(
        &'g self,
        inits: V,
        condition: impl FnOnce(V) -> Value<'g>,
        body: impl FnOnce(V) -> V,
    ) -> V {
        let place = Location::caller();
        let values = inits.values();
        let carried = types(&values);
        let (condition, _) = self.region(place, &carried, |args| condition(shaped(self, &inits, args)));
        let (body, _) = self.region(place, &carried, |args| body(shaped(self, &inits, args)));
        self.at(place, Op::While, values).with_region(condition).with_region(body).like(&inits)
    }

    /// Adds an `optimization_barrier` and returns the values. The compiler computes all of `values` before
    /// any use of the returned values.
    #[track_caller]
    pub fn optimization_barrier<'g, V: Values<'g>>(&'g self, values: V) -> V {
        self.at(Location::caller(), Op::OptimizationBarrier, values.values()).like(&values)
    }

    /// Adds a `tuple`.
    #[track_caller]
    pub fn tuple<'g>(&'g self, values: impl Values<'g>) -> Value<'g> {
        self.instruction(Op::Tuple, values).value()
    }

    /// Adds a `create_token`.
    #[track_caller]
    pub fn create_token(&self) -> Value<'_> {
        self.instruction(Op::CreateToken, ()).value()
    }

    /// Adds an `after_all`, which combines several tokens into one.
    #[track_caller]
    pub fn after_all<'g>(&'g self, tokens: impl Values<'g>) -> Value<'g> {
        self.instruction(Op::AfterAll, tokens).value()
    }

    /// Adds an `async_start` and returns its future. The closure adds one instruction, a collective or a
    /// slice, on the operands. This instruction may run concurrently with later instructions.
    #[track_caller]
    pub fn async_start<'g, V: Values<'g>, R: Values<'g>>(
        &'g self,
        operands: V,
        body: impl FnOnce(V) -> R,
    ) -> Value<'g> {
        let place = Location::caller();
        let values = operands.values();
        let (region, _) = self.region(place, &types(&values), |args| body(shaped(self, &operands, args)));
        self.at(place, Op::AsyncStart, values).with_region(region).value()
    }

    /// Adds a `partition_id`: the number of the process's partition, a scalar of type `u32`.
    #[track_caller]
    pub fn partition_id(&self) -> Value<'_> {
        self.instruction(Op::PartitionId, ()).value()
    }

    /// Adds a `replica_id`: the number of the process's replica, a scalar of type `u32`.
    #[track_caller]
    pub fn replica_id(&self) -> Value<'_> {
        self.instruction(Op::ReplicaId, ()).value()
    }

    /// Adds an `outfeed` of values, ordered after a token, and returns the next token.
    #[track_caller]
    pub fn outfeed<'g>(&'g self, values: impl Values<'g>, token: Value<'g>, config: &str) -> Value<'g> {
        let op = Transfer::Outfeed { config: config.to_owned() };
        self.instruction(Op::Transfer(Box::new(op)), (values, token)).value()
    }

    /// Adds a `send` of values, ordered after a token, and returns the next token.
    #[track_caller]
    pub fn send<'g>(&'g self, values: impl Values<'g>, token: Value<'g>, endpoint: Endpoint) -> Value<'g> {
        self.instruction(Op::Transfer(Box::new(Transfer::Send(endpoint))), (values, token)).value()
    }
}

impl<'g> Value<'g> {
    /// Adds a `get_tuple_element`.
    #[track_caller]
    pub fn get_tuple_element(self, index: usize) -> Value<'g> {
        self.graph.instruction(Op::GetTupleElement { index }, self).value()
    }

    /// Adds an `async_done`, which waits for a future and returns its results.
    #[track_caller]
    pub fn async_done(self) -> Vec<Value<'g>> {
        self.graph.instruction(Op::AsyncDone, self).many(1)
    }

    /// Adds an `infeed`, ordered after this token, and returns values of these types and the next token.
    #[track_caller]
    pub fn infeed(self, types: impl IntoIterator<Item = Type>, config: &str) -> (Vec<Value<'g>>, Value<'g>) {
        self.received(Transfer::Infeed { config: config.to_owned(), layout: None }, types)
    }

    /// Adds a `recv`, ordered after this token, and returns values of these types and the next token.
    #[track_caller]
    pub fn recv(
        self,
        types: impl IntoIterator<Item = Type>,
        endpoint: Endpoint,
    ) -> (Vec<Value<'g>>, Value<'g>) {
        self.received(Transfer::Recv(endpoint), types)
    }

    #[track_caller]
    fn received(self, op: Transfer, types: impl IntoIterator<Item = Type>) -> (Vec<Value<'g>>, Value<'g>) {
        let instruction = self.graph.instruction(Op::Transfer(Box::new(op)), self);
        let results: Vec<Type> = types.into_iter().chain([Type::Token]).collect();
        let count = results.len();
        let mut values = results.into_iter().fold(instruction, Instruction::result).many(count);
        let token = values.pop().unwrap_or_else(|| self.graph.poison());
        (values, token)
    }
}
