//! Targets of the calls that convert between complete values and their parts on each device.

/// Shardy's call that returns the parts of values.
pub const GLOBAL_TO_LOCAL: &str = "xla.sdy.GlobalToLocalShape";
/// Shardy's call that returns the values of parts.
pub const LOCAL_TO_GLOBAL: &str = "xla.sdy.LocalToGlobalShape";
/// The call of programs without Shardy that returns the part of a value.
pub const FULL_TO_SHARD: &str = "SPMDFullToShardShape";
/// The call of programs without Shardy that returns the value of a part.
pub const SHARD_TO_FULL: &str = "SPMDShardToFullShape";
