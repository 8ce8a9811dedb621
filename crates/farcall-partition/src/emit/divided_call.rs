//! Custom calls that a registered partitioner divides.

use farcall_ir::module::{Inst, ValueMap};
use farcall_ir::op::collective::Grid;
use farcall_ir::op::{CustomCall, Groups, Op};
use farcall_ir::{Func, InstId, Type, ValueId, middle, read, verify};

use super::{Emitted, Emitter};
use crate::partitioner::{self, DividedCall, Partitioner, ShardedCall};
use crate::tiling::Tiling;

impl<'p> Emitter<'p> {
    /// Emits the program by which a partitioner replaces a call.
    pub(super) fn divided_call(
        &mut self,
        inst: Inst<'p>,
        call: &CustomCall,
        from: &dyn Partitioner,
    ) -> Emitted<()> {
        let shardings = self.program.shardings;
        let sharded = ShardedCall::new(inst, call, self.program.grid, |value| &shardings.of(value).tiling);
        let span = self.span;
        let failed = |problem: String| vec![partitioner::failed(&call.target, span, &problem)];
        if call.has_side_effect
            && !from.can_side_effecting_have_replicated_sharding()
            && inst.results().iter().any(|value| shardings.of(*value).tiling.is_whole())
        {
            return Err(failed(
                "the call has side effects, and every device would run it. Assign it to one device with a \
                 maximal sharding, or register its partitioner with \
                 `can_side_effecting_have_replicated_sharding`"
                    .to_owned(),
            ));
        }
        let DividedCall { program, operands, results } = from.partition(&sharded).map_err(failed)?;
        let counts = [operands.len(), results.len()];
        if counts != [inst.own_operands().len(), inst.results().len()] {
            return Err(failed(format!(
                "it returns shardings of {} operands and {} results",
                counts[0], counts[1]
            )));
        }
        let tilings = |assignments: &[_], values: &[ValueId]| {
            let tilings = assignments.iter().zip(values).map(|(assignment, value)| {
                Tiling::of_assignment(self.program.grid, self.tensor(*value).rank(), assignment)
            });
            tilings.collect::<Result<Vec<Tiling>, String>>().map_err(failed)
        };
        let (of_operands, of_results) =
            (tilings(&operands, inst.own_operands())?, tilings(&results, inst.results())?);
        let form = local_program(&program, self.program.grid.devices()).map_err(failed)?;
        let mut parts = Vec::new();
        for (operand, tiling) in inst.own_operands().iter().zip(&of_operands) {
            parts.push(self.part(*operand, tiling)?);
        }
        let expected = |this: &Self, values: &[ValueId], tilings: &[Tiling]| -> Vec<Type> {
            values.iter().zip(tilings).map(|(value, tiling)| this.part_type(*value, tiling)).collect()
        };
        let types = |values: &[ValueId]| values.iter().map(|v| form.ty(*v).clone()).collect::<Vec<Type>>();
        for (what, found, expected) in [
            ("parameters", types(form.params()), expected(self, inst.own_operands(), &of_operands)),
            ("results", types(form.body().returned()), expected(self, inst.results(), &of_results)),
        ] {
            if found != expected {
                let show = |types: &[Type]| types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
                return Err(failed(format!(
                    "its program has {what} of the types {}, but the parts are {}",
                    show(&found),
                    show(&expected)
                )));
            }
        }
        let returned = self.inlined(&form, parts);
        for ((value, tiling), part) in inst.results().iter().zip(&of_results).zip(returned) {
            self.hold_resharded(*value, tiling, part)?;
        }
        Ok(())
    }

    /// Copies the instructions of a function, and returns its results.
    fn inlined(&mut self, from: &Func, operands: Vec<ValueId>) -> Vec<ValueId> {
        let mut map: ValueMap = from.params().iter().copied().zip(operands).collect();
        for inst in from.body().insts().filter(|inst| *inst.op() != Op::Return) {
            let copy = self.func.import_inst(inst, &mut map);
            self.func.append(self.region, copy);
            let mut copied = vec![copy];
            let regions = self.func.inst(copy).regions().map(|region| region.id()).collect::<Vec<_>>();
            regions
                .iter()
                .for_each(|region| self.func.region(*region).walk(&mut |inst| copied.push(inst.id())));
            copied.into_iter().for_each(|copy| self.adopt(copy));
        }
        from.body().returned().iter().map(|value| map[value]).collect()
    }

    /// Gives an instruction of another program the place of the call, and a channel of this program.
    fn adopt(&mut self, copy: InstId) {
        self.func.set_span(copy, self.span);
        let mut op = self.func.inst(copy).op().clone();
        let groups: Option<&mut Groups> = match &mut op {
            Op::AllReduce(groups) => Some(groups),
            Op::AllGather(op) => Some(&mut op.groups),
            Op::ReduceScatter(op) => Some(&mut op.groups),
            Op::AllToAll(op) => Some(&mut op.groups),
            Op::CollectiveBroadcast(op) | Op::CollectiveReduce(op) => Some(&mut op.groups),
            Op::CollectivePermute(permute) => {
                permute.channel = Some(self.channel());
                None
            }
            _ => return,
        };
        if let Some(groups) = groups {
            groups.channel = Some(self.channel());
        }
        self.func.set_op(copy, op);
    }
}

/// Reads the program of each of `devices` devices, in the middle form.
fn local_program(program: &[u8], devices: usize) -> Result<Func, String> {
    let mut module = read::module(program, "the partitioner's program").map_err(|e| e.to_string())?;
    // Without the number, the number of a device would be 0.
    Grid { replicas: 1, partitions: devices }.write_to(&mut module.attrs);
    let module =
        verify::verify_owned(module).and_then(|module| module.into_static()).map_err(|e| e.to_string())?;
    let entry = verify::entry(&module, None).map_err(|e| e.to_string())?;
    let form = middle::build(&module, entry).map_err(|e| e.message)?;
    Ok(form.funcs()[0].clone())
}
