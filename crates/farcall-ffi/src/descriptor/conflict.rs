//! Compile-time checks of a library's list of ops.

use super::{OpDescriptor, ParamDescriptor, RawOpDescriptor, text};
use crate::decode::Role;
use farcall_sig::platform::is_same;
use farcall_sig::text::{Text, same};

/// Returns the reason why a library cannot have these ops, with the index of the table that has the offending
/// op. The reason is that two ops have the same name and platform, that the functions of an op for two platforms
/// disagree, or that a derivative is missing.
#[doc(hidden)]
pub const fn conflict(tables: &[&'static [&'static OpDescriptor]]) -> Option<(usize, Text)> {
    let mut t = 0;
    while t < tables.len() {
        let mut i = 0;
        while i < tables[t].len() {
            let op = tables[t][i].raw();
            if let Some(why) = disagreement(tables, t, i) {
                return Some((t, why));
            }
            let mut d = 0;
            while d < 4 {
                let (what, name) = match d {
                    0 => ("forward op", op.vjp_forward),
                    1 => ("backward op", op.vjp_backward),
                    2 => ("tangent op", op.jvp_tangent),
                    _ => ("transpose", op.transpose),
                };
                if name.len > 0 && !is_listed(tables, text(name)) {
                    let mut why = Text::new();
                    why.quote(text(name)).add(", the ").add(what).add(" of ").quote(text(op.name));
                    why.add(", is not listed by the library");
                    return Some((t, why));
                }
                d += 1;
            }
            i += 1;
        }
        t += 1;
    }
    None
}

const fn is_listed(tables: &[&[&OpDescriptor]], name: &str) -> bool {
    let mut t = 0;
    while t < tables.len() {
        let mut i = 0;
        while i < tables[t].len() {
            if same(text(tables[t][i].raw().name), name) {
                return true;
            }
            i += 1;
        }
        t += 1;
    }
    false
}

/// Returns the reason why the list cannot have both an op and an earlier op of the same name: they are for the same
/// platform, or they disagree.
const fn disagreement(tables: &[&[&OpDescriptor]], table: usize, op: usize) -> Option<Text> {
    let this = tables[table][op].raw();
    let mut t = 0;
    while t <= table {
        let end = if t == table { op } else { tables[t].len() };
        let mut i = 0;
        while i < end {
            let other = tables[t][i].raw();
            if same(text(other.name), text(this.name)) {
                let mut why = Text::new();
                if is_same(text(other.platform), text(this.platform)) {
                    why.add("two ops of this library have the name ").quote(text(this.name));
                    why.add(", for the same platform");
                    return Some(why);
                }
                why.add("the functions of ").quote(text(this.name)).add(" for ").add(text(other.platform));
                why.add(" and ").add(text(this.platform)).add(" ");
                if this.signature.len > 0
                    && other.signature.len > 0
                    && !same(text(this.signature), text(other.signature))
                {
                    why.add("have different signatures: ").quote(text(other.signature));
                    why.add(" and ").quote(text(this.signature));
                    return Some(why);
                }
                if disagree(this, other, &mut why) || disagree(other, this, &mut why) {
                    return Some(why);
                }
            }
            i += 1;
        }
        t += 1;
    }
    None
}

/// Returns true, with the reason, if a parameter of `a` has no counterpart in `b`: the operand or result at the
/// same position, or the attribute of the same name. A function that takes a list of operands or results may take
/// any of them in the list; functions of other stages may take attributes that a handler does not take.
const fn disagree(a: &RawOpDescriptor, b: &RawOpDescriptor, why: &mut Text) -> bool {
    let (a_params, b_params) = (params_of(a), params_of(b));
    let lists = has_list(a_params) || has_list(b_params);
    let mut i = 0;
    while i < a_params.len() {
        let param = &a_params[i];
        let (found, may_be_missing) = if param.role == Role::Attribute as u32 {
            (
                find_attribute(b_params, text(param.name)),
                has_role(b_params, Role::AllAttributes) || has_stages(b),
            )
        } else if has_memory(param) {
            (find_buffer(b_params, param.role, position(a_params, i)), lists)
        } else {
            (None, true)
        };
        let problem = match found {
            None if may_be_missing => "",
            None => "only one has the parameter ",
            Some(other) if have_same_type(param, &b_params[other]) => "",
            Some(_) => "they have different types for the parameter ",
        };
        if !problem.is_empty() {
            why.add("disagree: ").add(problem).quote(text(param.name));
            return true;
        }
        i += 1;
    }
    false
}

/// Returns true if functions of other stages get the call's attributes too.
const fn has_stages(op: &RawOpDescriptor) -> bool {
    let bundle = &op.bundle;
    bundle.instantiate.is_some()
        || bundle.prepare.is_some()
        || bundle.initialize.is_some()
        || bundle.record.is_some()
}

/// Returns true if a parameter has this role.
const fn has_role(params: &[ParamDescriptor], role: Role) -> bool {
    let mut i = 0;
    while i < params.len() {
        if params[i].role == role as u32 {
            return true;
        }
        i += 1;
    }
    false
}

/// Returns true if a parameter takes a list of operands or results.
const fn has_list(params: &[ParamDescriptor]) -> bool {
    has_role(params, Role::RestOperands) || has_role(params, Role::RestResults)
}

const fn params_of<'a>(op: &RawOpDescriptor) -> &'a [ParamDescriptor] {
    // SAFETY: the descriptors of a library's list are made by the macros, from a slice of this length.
    unsafe { std::slice::from_raw_parts(op.params, op.param_count) }
}

const fn has_memory(param: &ParamDescriptor) -> bool {
    param.role >= Role::Operand as u32 && param.role <= Role::RestResults as u32
}

/// Returns the number of parameters with the role of parameter `i` that precede it.
const fn position(params: &[ParamDescriptor], i: usize) -> usize {
    let (mut n, mut k) = (0, 0);
    while k < i {
        if params[k].role == params[i].role {
            n += 1;
        }
        k += 1;
    }
    n
}

/// Returns the index of the parameter with this role at this position.
const fn find_buffer(params: &[ParamDescriptor], role: u32, at: usize) -> Option<usize> {
    let mut i = 0;
    while i < params.len() {
        if params[i].role == role && position(params, i) == at {
            return Some(i);
        }
        i += 1;
    }
    None
}

const fn find_attribute(params: &[ParamDescriptor], name: &str) -> Option<usize> {
    let mut i = 0;
    while i < params.len() {
        if params[i].role == Role::Attribute as u32 && same(text(params[i].name), name) {
            return Some(i);
        }
        i += 1;
    }
    None
}

/// Returns true if two parameters can stand for the same operand, result or attribute. An element type or rank
/// that one function leaves open matches any.
const fn have_same_type(a: &ParamDescriptor, b: &ParamDescriptor) -> bool {
    if a.role == Role::Attribute as u32 {
        return same(text(a.attribute), text(b.attribute));
    }
    (a.flags == b.flags)
        && (a.dtype.0 == 0 || b.dtype.0 == 0 || a.dtype.0 == b.dtype.0)
        && (a.rank == -1 || b.rank == -1 || a.rank == b.rank)
}
