//! Operations whose indices are values.

use farcall_ir::op::{Derived, Gather, Op, Scatter};
use std::panic::Location;

use super::graph::Graph;
use super::instruction::elements;
use super::value::{Value, Values, shaped};

impl<'g> Value<'g> {
    /// Adds a `dynamic_slice` of these sizes. `starts` are scalars, one for each dimension.
    #[track_caller]
    pub fn dynamic_slice(self, starts: impl Values<'g>, sizes: impl Into<Vec<usize>>) -> Value<'g> {
        self.graph.instruction(Op::DynamicSlice { sizes: sizes.into() }, (self, starts.values())).value()
    }

    /// Adds a `dynamic_update_slice`: this value with `update` written into it, beginning at `starts`.
    #[track_caller]
    pub fn dynamic_update_slice(self, update: Value<'g>, starts: impl Values<'g>) -> Value<'g> {
        self.graph.instruction(Op::DynamicUpdateSlice, (self, update, starts.values())).value()
    }

    /// Adds a `real_dynamic_slice`. Start indices, limit indices and strides are vectors of integers, with
    /// one element for each dimension.
    #[track_caller]
    pub fn real_dynamic_slice(self, start: Value<'g>, limit: Value<'g>, strides: Value<'g>) -> Value<'g> {
        let instruction = self.graph.instruction(Op::RealDynamicSlice, [self, start, limit, strides]);
        instruction.result_if_known(self.open()).value()
    }

    /// Adds a `gather` of slices at `start_indices`.
    #[track_caller]
    pub fn gather(self, start_indices: Value<'g>, gather: Gather) -> Value<'g> {
        self.graph.instruction(Op::Gather(Box::new(gather)), [self, start_indices]).value()
    }

    /// Adds a `dynamic_gather`: a gather with slice sizes that the program computes. [`Gather::slice_sizes`]
    /// must be empty.
    #[track_caller]
    pub fn dynamic_gather(
        self,
        start_indices: Value<'g>,
        slice_sizes: Value<'g>,
        gather: Gather,
    ) -> Value<'g> {
        self.graph
            .instruction(Op::DynamicGather(Box::new(gather)), [self, start_indices, slice_sizes])
            .value()
    }

    /// Adds a `torch_index_select`: entries of dimension `dim` at `index`. The first `batch_dims` dimensions
    /// of this value and of `index` correspond.
    #[track_caller]
    pub fn torch_index_select(self, index: Value<'g>, dim: i64, batch_dims: i64) -> Value<'g> {
        let op = Derived::TorchIndexSelect { dim, batch_dims };
        self.graph.instruction(Op::Derived(op), [self, index]).value()
    }
}

impl Graph {
    /// Adds a `scatter`: `inputs` with `updates` written at `scatter_indices`. `combine` takes the existing
    /// element and the element of the update.
    #[track_caller]
    pub fn scatter<'g, V: Values<'g>>(
        &'g self,
        inputs: V,
        scatter_indices: Value<'g>,
        updates: V,
        scatter: Scatter,
        combine: impl FnOnce(V, V) -> V,
    ) -> V {
        let place = Location::caller();
        let (given, new) = (inputs.values(), updates.values());
        let types = elements(&[&given[..], &new[..]].concat());
        let half = given.len();
        let instruction = self.at(place, Op::Scatter(Box::new(scatter)), (given, scatter_indices, new));
        let body = |args: Vec<Value<'g>>| {
            let (old, new) = args.split_at(half.min(args.len()));
            combine(shaped(self, &inputs, old.to_vec()), shaped(self, &updates, new.to_vec())).values()
        };
        instruction.region_if_known(&types, body).like(&inputs)
    }
}
