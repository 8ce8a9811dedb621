//! Targets of the calls that convert between complete values and their parts on each device.

/// Shardy's call that splits complete values into the device's parts.
pub const GLOBAL_TO_LOCAL: &str = "xla.sdy.GlobalToLocalShape";
/// Shardy's call that joins parts into complete values.
pub const LOCAL_TO_GLOBAL: &str = "xla.sdy.LocalToGlobalShape";
/// GSPMD's call that splits a complete value into the device's part.
pub const FULL_TO_SHARD: &str = "SPMDFullToShardShape";
/// GSPMD's call that joins parts into a complete value.
pub const SHARD_TO_FULL: &str = "SPMDShardToFullShape";
