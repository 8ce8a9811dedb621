//! Reducers of bit patterns.
//!
//! ```text
//! reduce(x: f32) { (a, b) → f32(i32(a) ^ i32(b)) }   ──▶   f32(reduce(i32(x)) { (a, b) → a ^ b })
//! ```
//!
//! In this notation, a type in the place of a function is a `bitcast_convert` to that type. There may be a
//! kernel for the simpler reducer even if there is no kernel for the original reducer.

use crate::module::{Func, Inst, InstId, NewInst, Region, RegionId, Rewriter, ValueId, ValueMap};
use crate::op::{FormOp, Op};
use crate::types::{TensorType, Type};
use farcall_sig::DType;

/// Reduces bit patterns if the region uses its arguments only as bit patterns. Returns the new instruction,
/// or `id` if nothing changes.
pub(super) fn run(r: &mut Rewriter<'_>, id: InstId) -> InstId {
    rewritten(r, id).unwrap_or(id)
}

fn rewritten(r: &mut Rewriter<'_>, id: InstId) -> Option<InstId> {
    let inst = r.func().inst(id);
    let count = inst.results().len();
    // Index of the operand that is combined with operand 0. The `count` operands from this index on
    // correspond to the first `count` operands.
    let second = match inst.op() {
        Op::Reduce { .. } | Op::ReduceWindow(_) => count,
        Op::Scatter(_) | Op::Form(FormOp::WrappingScatter(_)) => count + 1,
        _ => return None,
    };
    let region = inst.region(0)?;
    let (args, returned) = (region.own_args().to_vec(), region.returned().to_vec());
    if inst.own_operands().len() != second + count || args.len() != 2 * count || returned.len() != count {
        return None;
    }
    let bits: Vec<Option<DType>> =
        (0..count).map(|i| as_bits(r, region, [args[i], args[count + i]], returned[i])).collect();
    // If the element types of an operand, its result and the region's values differ, the operation converts
    // elements. Bit patterns do not allow that.
    let same = |i: usize| {
        let func = r.func();
        let all = [inst.operands()[i], inst.operands()[second + i], inst.results()[i], args[i], returned[i]];
        let dtypes = all.map(|v| func.tensor(v).filter(|t| t.quant.is_none()).map(|t| t.dtype));
        dtypes.iter().all(|dtype| dtype.is_some() && *dtype == dtypes[0])
    };
    if bits.iter().all(Option::is_none) || (0..count).any(|i| bits[i].is_some() && !same(i)) {
        return None;
    }
    let (op, attrs) = (inst.op().clone(), inst.attrs().clone());
    let (captures, results) = (inst.captures().len(), inst.results().to_vec());
    let mut operands = inst.operands().to_vec();
    for (i, dtype) in bits.iter().enumerate() {
        let Some(dtype) = dtype else { continue };
        for operand in [i, second + i] {
            operands[operand] = bitcast(r, id, operands[operand], *dtype);
        }
    }
    // Conversions that only the return uses; the new return uses their operands instead.
    let dropped: Vec<InstId> = (0..count)
        .filter(|i| bits[*i].is_some() && r.users(returned[*i]).len() == 1)
        .filter_map(|i| r.func().defining_inst(returned[i]).map(Inst::id))
        .collect();
    let region = new_region(r, id, &bits, &dropped);
    let types: Vec<Type> = results
        .iter()
        .zip(&bits)
        .map(|(value, dtype)| match (r.func().tensor(*value), dtype) {
            (Some(ty), Some(dtype)) => ty.with_dtype(*dtype).into(),
            _ => r.func().ty(*value).clone(),
        })
        .collect();
    let old = r.func().inst(id);
    let new = NewInst {
        captures: captures as u32,
        attrs,
        ..NewInst::new(op, operands).with_regions([region]).at(old.span(), old.loc().cloned())
    };
    let new = r.insert_before(id, new, types);
    let mut values = r.func().inst(new).results().to_vec();
    for ((value, old), _) in values.iter_mut().zip(results).zip(&bits).filter(|(_, dtype)| dtype.is_some()) {
        let dtype = r.func().tensor(old).map_or(DType::Pred, |ty| ty.dtype);
        *value = bitcast(r, id, *value, dtype);
    }
    r.replace(id, &values);
    Some(new)
}

/// The type of the bit patterns, if the region converts these arguments to bit patterns, does not use them
/// otherwise, and returns a bit pattern as well.
fn as_bits(r: &Rewriter<'_>, region: Region<'_>, args: [ValueId; 2], returned: ValueId) -> Option<DType> {
    let func = r.func();
    let made = func.defining_inst(returned)?;
    let source = *made.operands().first()?;
    let (ty, bits) = (func.tensor(returned)?, func.tensor(source)?);
    // If the source is an argument, its type may change.
    let is_arg = region.own_args().contains(&source);
    if *made.op() != Op::BitcastConvert || is_arg || !is_reinterpreted(ty, bits) {
        return None;
    }
    let is_made = |user: &InstId| {
        let user = func.inst(*user);
        *user.op() == Op::BitcastConvert
            && user.parent().map(Region::id) == Some(region.id())
            && user.results().first().and_then(|v| func.tensor(*v)) == Some(bits)
    };
    args.iter().all(|arg| r.users(*arg).iter().all(is_made)).then_some(bits.dtype)
}

fn is_reinterpreted(from: &TensorType, to: &TensorType) -> bool {
    from.dtype.bits() == to.dtype.bits()
        && from.dtype.bits() >= 8
        && from.quant.is_none()
        && to.quant.is_none()
}

fn bitcast(r: &mut Rewriter<'_>, id: InstId, x: ValueId, dtype: DType) -> ValueId {
    let Some(ty) = r.func().tensor(x).map(|ty| ty.with_dtype(dtype)) else { return x };
    r.value_before(id, Op::BitcastConvert, [x], ty)
}

/// Copies the region with arguments of the given types, without their conversions and without the dropped
/// instructions.
fn new_region(r: &mut Rewriter<'_>, id: InstId, bits: &[Option<DType>], dropped: &[InstId]) -> RegionId {
    let view = r.func().inst(id).region(0);
    let count = bits.len();
    let (args, own, insts) = view.map_or_else(Default::default, |region| {
        let insts: Vec<InstId> = region.insts().map(Inst::id).collect();
        (region.args().to_vec(), region.own_args().len(), insts)
    });
    r.new_region(|func: &mut Func, region| {
        let mut map = ValueMap::default();
        for (i, arg) in args.iter().enumerate() {
            let dtype = if i < own { bits[i % count] } else { None };
            let ty = match (func.tensor(*arg), dtype) {
                (Some(ty), Some(dtype)) => ty.with_dtype(dtype).into(),
                _ => func.ty(*arg).clone(),
            };
            map.insert(*arg, func.add_arg(region, ty));
        }
        let is_converted = |value: &ValueId| {
            let at = args[..own].iter().position(|arg| arg == value);
            at.is_some_and(|i| bits[i % count].is_some())
        };
        for inst in insts.into_iter().filter(|inst| !dropped.contains(inst)) {
            let view = func.inst(inst);
            if *view.op() == Op::BitcastConvert && view.operands().iter().all(is_converted) {
                map.insert(view.results()[0], map[&view.operands()[0]]);
                continue;
            }
            if *view.op() == Op::Return {
                let taken = |(i, value): (usize, &ValueId)| match (bits[i], func.defining_inst(*value)) {
                    (Some(_), Some(made)) => map[&made.operands()[0]],
                    _ => map[value],
                };
                let returned: Vec<ValueId> = view.operands().iter().enumerate().map(taken).collect();
                func.push(region, NewInst::new(Op::Return, returned), []);
                break;
            }
            let copy = func.clone_inst(inst, &mut map);
            func.append(region, copy);
        }
    })
}
