//! The participants of collectives.

use farcall_ir::op::collective::{Grid, Process, ProcessRole};
use farcall_ir::{Diagnostic, Inst, Op};

/// Checks that the participants of a collective exist in the grid.
///
/// # Errors
/// The first process that a group names and the grid does not have, or that is in no group where all have to
/// be in one.
pub(super) fn check(inst: Inst<'_>, grid: Grid) -> Result<(), Diagnostic> {
    let error = |message| Err(Diagnostic::new("participants", inst.span(), message));
    let count = grid.processes();
    for number in 0..count {
        let process = Process { grid, number };
        let Some(role) = role(inst.op(), process) else { return Ok(()) };
        match role {
            ProcessRole::Member(group) if count == 1 => {
                return error(format!(
                    "{} takes {} participants, but the program is for one device; see: farcall guide devices",
                    inst.op().name(),
                    group.len(),
                ));
            }
            ProcessRole::Member(group) => {
                if let Some(missing) = group.iter().find(|member| **member >= count) {
                    return error(format!(
                        "{} takes replica {}, partition {}, but the program is for {grid}",
                        inst.op().name(),
                        grid.replica(*missing),
                        grid.partition(*missing)
                    ));
                }
            }
            ProcessRole::Outside if covers_all(inst.op()) && count > 1 => {
                return error(format!(
                    "{} takes all devices ({grid}), but its groups leave out replica {}, partition {}",
                    inst.op().name(),
                    process.replica(),
                    process.partition()
                ));
            }
            ProcessRole::Alone | ProcessRole::Outside => {}
        }
    }
    Ok(())
}

/// Returns true if each process of the grid is the only one of its group.
pub(super) fn are_alone(op: &Op, grid: Grid) -> bool {
    (0..grid.processes()).all(|number| role(op, Process { grid, number }) == Some(ProcessRole::Alone))
}

/// Returns true if the groups of an operation must contain all processes.
fn covers_all(op: &Op) -> bool {
    matches!(op, Op::AllGather(_) | Op::AllReduce(_) | Op::ReduceScatter(_))
}

/// Returns the role of a process in a collective; `None` for other operations.
fn role(op: &Op, process: Process) -> Option<ProcessRole> {
    Some(match op {
        Op::AllGather(op) => op.groups.role(process),
        Op::AllReduce(groups) => groups.reduction_role(process),
        Op::ReduceScatter(op) => op.groups.role(process),
        Op::AllToAll(op) => op.groups.exchange_role(process),
        Op::CollectiveBroadcast(op) | Op::CollectiveReduce(op) => op.groups.exchange_role(process),
        Op::CollectivePermute(op) => op.role(process).into(),
        _ => return None,
    })
}
