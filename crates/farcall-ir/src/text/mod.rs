//! StableHLO text, in and out.
