//! Collectives: steps that several devices run together.

use farcall_ir::op::Traits;
use farcall_ir::{Op, TensorType};
use farcall_kernels::{PreparedKernel, Request};

use super::{Compute, Plan, Thunk, ThunkOp, types};

/// A collective operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Collective {
    /// The operation with its attributes: `all_gather`, `all_reduce`, `reduce_scatter`, `all_to_all`,
    /// `collective_broadcast` without dynamic roots, or `collective_permute`.
    pub op: Op,
    /// The combination of two contributions, for an operation that reduces.
    pub combine: Option<Combine>,
}

/// A kernel that combines two contributions to a reduction.
#[derive(Clone, PartialEq, Debug)]
pub struct Combine {
    /// The kernel. It takes two tensors of rank 1 and returns one, which may take the place of the first.
    pub compute: Compute,
    /// Type of these tensors.
    pub ty: TensorType,
}

/// A number of the device that runs the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceNumber {
    /// `replica_id`
    Replica,
    /// `partition_id`
    Partition,
}

impl Combine {
    /// Number of elements that the kernel combines.
    pub fn elements(&self) -> usize {
        self.ty.elements().unwrap_or(0)
    }

    /// Prepares the kernel, if it serves the combination.
    pub fn prepare(&self) -> Option<PreparedKernel> {
        let (inputs, outputs) = ([&self.ty, &self.ty], [&self.ty]);
        let Compute { kernel, op, bodies, .. } = &self.compute;
        let prepared =
            kernel.prepare(&Request { op, bodies, inputs: &inputs, outputs: &outputs, iotas: &[] })?;
        let is_plain = self.ty.rank() == 1 && self.ty.quant.is_none() && self.elements() > 0;
        let in_place = kernel.in_place(bodies).allows(0, 0);
        (is_plain && in_place && prepared.scratch() == 0).then_some(prepared)
    }
}

/// Checks the types of a collective's buffers, and that it can combine contributions if it reduces.
pub(super) fn check(t: &Thunk, collective: &Collective) -> Result<(), String> {
    let reduces = match &collective.op {
        Op::AllReduce(_) | Op::ReduceScatter(_) => true,
        Op::AllGather(_) | Op::AllToAll(_) | Op::CollectivePermute(_) => false,
        Op::CollectiveBroadcast(op) if !op.dynamic_root => false,
        other => return Err(format!("{} is not an exchange of devices", other.name())),
    };
    if reduces != collective.combine.is_some() {
        return Err("a reduction, and only a reduction, combines contributions".to_owned());
    }
    let (inputs, outputs) = (types(&t.inputs), types(&t.outputs));
    if inputs.len() != outputs.len() {
        return Err(format!("{} operands, {} results", inputs.len(), outputs.len()));
    }
    let rank_above = match &collective.op {
        Op::AllGather(op) => op.dim,
        Op::ReduceScatter(op) => op.dim,
        Op::AllToAll(op) => op.split_dim.max(op.concat_dim),
        _ => 0,
    };
    let needs_dims = matches!(collective.op, Op::AllGather(_) | Op::ReduceScatter(_) | Op::AllToAll(_));
    for (input, output) in inputs.into_iter().zip(outputs) {
        let plain = input.quant.is_none() && output.quant.is_none();
        let combined = collective.combine.as_ref().is_none_or(|combine| combine.ty.dtype == input.dtype);
        let has_dims = !needs_dims || input.rank() > rank_above;
        if !plain || input.dtype != output.dtype || input.rank() != output.rank() || !combined || !has_dims {
            return Err(format!("{input} and {output} do not fit the operation"));
        }
    }
    Ok(())
}

impl Plan {
    /// Returns true if the results of the plan may depend on the device that runs it: if it has collectives
    /// of several devices, or asks for the device's number.
    pub fn depends_on_device(&self) -> bool {
        let mut found = false;
        self.walk(&mut |thunk| {
            found |= match &thunk.op {
                ThunkOp::Collective(_) | ThunkOp::DeviceNumber(_) => true,
                ThunkOp::Reference(id) => {
                    let program = &self.references()[id.index()].program;
                    let mut depends = false;
                    program.funcs().iter().for_each(|func| {
                        func.walk(&mut |inst| depends |= inst.op().info().is(Traits::COLLECTIVE));
                    });
                    depends
                }
                _ => false,
            };
        });
        found
    }
}
