//! Shardings of programs, as far as they decide whether a program has to be partitioned.

use farcall::ir::sharding::Sharding;
use farcall::ir::{Attribute, Module, Op};

/// Returns true if a module has a sharding other than the replicated one, or converts between a whole tensor
/// and the parts of the devices. Such a program computes on whole tensors, and has to be partitioned before
/// several devices can run it. A program without shardings runs as it is on every device.
pub(crate) fn are_partial(module: &Module) -> bool {
    module.funcs().iter().any(|func| {
        let of_values = func.param_attrs().iter().chain(func.result_attrs());
        let mut found = of_values.flat_map(|attrs| attrs.iter()).any(|(key, value)| is_partial(key, value));
        func.walk(&mut |inst| {
            found |= inst.attrs().iter().any(|(key, value)| is_partial(key, value));
            found |= matches!(inst.op(), Op::CustomCall(call) if splits(&call.target));
        });
        found
    })
}

/// Returns true for targets that convert between a whole tensor and the parts of the devices.
fn splits(target: &str) -> bool {
    target.starts_with("SPMD") || target.starts_with("xla.sdy.") || target.starts_with("sdy.")
}

/// Returns true if an attribute is a sharding that is not replicated.
fn is_partial(key: &str, value: &Attribute) -> bool {
    let is_split = |sharding: &Sharding| sharding.dims.iter().any(|dim| !dim.axes.is_empty());
    match value {
        Attribute::Sharding(sharding) => is_split(sharding),
        Attribute::ShardingPerValue(shardings) => shardings.iter().any(is_split),
        Attribute::String(text) => key == "mhlo.sharding" && **text != *b"{replicated}",
        Attribute::Dialect(attr) => attr.name.starts_with("sdy."),
        _ => false,
    }
}
