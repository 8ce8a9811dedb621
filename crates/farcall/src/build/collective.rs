//! Collectives: operations in which several processes take part.

use std::panic::Location;

use farcall_ir::TensorType;
use farcall_ir::op::{
    AllGather, AllToAll, CollectiveBroadcast, CollectivePermute, Groups, Op, ReduceScatter,
};

use super::graph::Graph;
use super::instruction::pairs;
use super::value::{Value, Values, shaped};

impl Graph {
    /// Adds an `all_gather`.
    #[track_caller]
    pub fn all_gather<'g, V: Values<'g>>(&'g self, operands: V, gather: AllGather) -> V {
        self.at(Location::caller(), Op::AllGather(Box::new(gather)), operands.values()).like(&operands)
    }

    /// Adds an `all_reduce` of each operand. `combine` takes two scalars.
    #[track_caller]
    pub fn all_reduce<'g, V: Values<'g>>(
        &'g self,
        operands: V,
        groups: Groups,
        combine: impl FnOnce(Value<'g>, Value<'g>) -> Value<'g>,
    ) -> V {
        self.combined(Location::caller(), Op::AllReduce(Box::new(groups)), operands, combine)
    }

    /// Adds an `all_to_all`.
    #[track_caller]
    pub fn all_to_all<'g, V: Values<'g>>(&'g self, operands: V, op: AllToAll) -> V {
        self.at(Location::caller(), Op::AllToAll(Box::new(op)), operands.values()).like(&operands)
    }

    /// Adds a `collective_broadcast`. With a dynamic root, `roots` holds the sender of each operand.
    #[track_caller]
    pub fn collective_broadcast<'g, V: Values<'g>>(
        &'g self,
        operands: V,
        roots: Option<Value<'g>>,
        op: CollectiveBroadcast,
    ) -> V {
        let values = (operands.values(), roots.into_iter().collect::<Vec<_>>());
        self.at(Location::caller(), Op::CollectiveBroadcast(Box::new(op)), values).like(&operands)
    }

    /// Adds a `collective_reduce`: the receiver combines the values of all senders. `combine` takes two
    /// scalars.
    #[track_caller]
    pub fn collective_reduce<'g, V: Values<'g>>(
        &'g self,
        operands: V,
        op: CollectiveBroadcast,
        combine: impl FnOnce(Value<'g>, Value<'g>) -> Value<'g>,
    ) -> V {
        self.combined(Location::caller(), Op::CollectiveReduce(Box::new(op)), operands, combine)
    }

    /// Adds a collective with a region that combines two elements of the first operand's type.
    fn combined<'g, V: Values<'g>>(
        &'g self,
        place: super::error::Place,
        op: Op,
        operands: V,
        combine: impl FnOnce(Value<'g>, Value<'g>) -> Value<'g>,
    ) -> V {
        let values = operands.values();
        let scalars = pairs(values.get(..1).unwrap_or_default());
        let like = [self.poison(); 2];
        let body = |args| {
            let [left, right] = shaped(self, &like, args);
            vec![combine(left, right)]
        };
        self.at(place, op, values).region_if_known(&scalars, body).like(&operands)
    }
}

impl<'g> Value<'g> {
    /// Adds a `reduce_scatter`, which combines the values of several processes and gives each process one
    /// part of the result. `combine` takes two scalars. `ty` is the type of the result.
    #[track_caller]
    pub fn reduce_scatter(
        self,
        op: ReduceScatter,
        ty: TensorType,
        combine: impl FnOnce(Value<'g>, Value<'g>) -> Value<'g>,
    ) -> Value<'g> {
        let graph = self.graph;
        let body = |args| {
            let [left, right] = shaped(graph, &[self, self], args);
            vec![combine(left, right)]
        };
        let instruction = graph.at(Location::caller(), Op::ReduceScatter(Box::new(op)), self);
        instruction.region_if_known(&pairs(&[self]), body).result(ty).value()
    }

    /// Adds a `collective_permute`.
    #[track_caller]
    pub fn collective_permute(self, op: CollectivePermute) -> Value<'g> {
        self.graph.instruction(Op::CollectivePermute(Box::new(op)), self).value()
    }
}
