//! `CompileOptionsProto`: the options of a compilation, as protocol buffers.
//!
//! Only the fields below are read: the number of devices that a program spans, and their assignment. The
//! other fields choose among implementations of XLA.
//!
//! | message | field | contents |
//! | --- | --- | --- |
//! | `CompileOptionsProto` | 3 | `ExecutableBuildOptionsProto` |
//! | | 4 | `compile_portable_executable`: the caller names the device in each call |
//! | | 7 | `env_option_overrides`, a map: field 1 of an entry is the name |
//! | `ExecutableBuildOptionsProto` | 4, 5 | `num_replicas`, `num_partitions` |
//! | | 9 | `DeviceAssignmentProto` |
//! | `DeviceAssignmentProto` | 1, 2 | numbers of replicas and partitions |
//! | | 3 | for each partition: `replica_device_ids`, field 1 |

use crate::protobuf::{Field, fields, packed, put_bytes, put_number};
use crate::status::{Outcome, Status};

/// Options of a compilation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CompileOptions {
    pub(crate) num_replicas: usize,
    pub(crate) num_partitions: usize,
    /// Device of each partition of each replica, replicas first; empty if the caller leaves it open.
    pub(crate) devices: Vec<i64>,
    /// True if the caller names the device in each call.
    pub(crate) is_portable: bool,
}

impl CompileOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// If the bytes are not a protocol buffer, or the numbers of devices are impossible.
    pub(crate) fn read(bytes: &[u8]) -> Outcome<CompileOptions> {
        let mut options =
            CompileOptions { num_replicas: 1, num_partitions: 1, devices: Vec::new(), is_portable: false };
        for (number, field) in fields(bytes)? {
            match (number, field) {
                (3, Field::Bytes(build)) => options.read_build(build)?,
                (4, Field::Number(flag)) => options.is_portable = flag != 0,
                (7, Field::Bytes(entry)) => check_override(entry)?,
                _ => {}
            }
        }
        Ok(options)
    }

    fn read_build(&mut self, bytes: &[u8]) -> Outcome {
        for (number, field) in fields(bytes)? {
            match (number, field) {
                (4, Field::Number(n)) => self.num_replicas = count(n)?,
                (5, Field::Number(n)) => self.num_partitions = count(n)?,
                (9, Field::Bytes(assignment)) => self.devices = read_assignment(assignment)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Options of XLA's compiler whose names do not begin with `xla_`.
const XLA_OPTIONS: [&str; 4] =
    ["exec_time_optimization_effort", "memory_fitting_effort", "optimization_level", "memory_fitting_level"];

/// Checks the name of an option that the user passes to XLA. The engine has no use for these options.
fn check_override(entry: &[u8]) -> Outcome {
    for (number, field) in fields(entry)? {
        if let (1, Field::Bytes(name)) = (number, field) {
            let name = String::from_utf8_lossy(name);
            if !name.starts_with("xla_") && !XLA_OPTIONS.contains(&&*name) {
                return Err(Status::invalid(format!("No such compile option: '{name}'")));
            }
        }
    }
    Ok(())
}

/// Returns a number of replicas or partitions. 0 is the default of the message, which means 1.
fn count(number: u64) -> Outcome<usize> {
    match u16::try_from(number) {
        Ok(n) => Ok(usize::from(n).max(1)),
        Err(_) => Err(Status::invalid(format!("{number} replicas or partitions are too many"))),
    }
}

fn read_assignment(bytes: &[u8]) -> Outcome<Vec<i64>> {
    let mut of_partitions: Vec<Vec<i64>> = Vec::new();
    for (number, field) in fields(bytes)? {
        if let (3, Field::Bytes(devices)) = (number, field) {
            let mut ids = Vec::new();
            for (_, field) in fields(devices)?.into_iter().filter(|(number, _)| *number == 1) {
                field.append_to(&mut ids)?;
            }
            of_partitions.push(ids.into_iter().map(u64::cast_signed).collect());
        }
    }
    let replicas = of_partitions.first().map_or(0, Vec::len);
    if of_partitions.iter().any(|ids| ids.len() != replicas) {
        return Err(Status::invalid("the device assignment has different numbers of replicas"));
    }
    Ok((0..replicas).flat_map(|replica| of_partitions.iter().map(move |ids| ids[replica])).collect())
}

/// Returns a `DeviceAssignmentProto`.
pub(crate) fn write_assignment(devices: &[i64], num_replicas: usize, num_partitions: usize) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(&mut out, 1, num_replicas as u64);
    put_number(&mut out, 2, num_partitions as u64);
    for partition in 0..num_partitions {
        let of_replica = |replica: usize| devices[replica * num_partitions + partition].cast_unsigned();
        let ids = packed((0..num_replicas).map(of_replica));
        let mut message = Vec::new();
        put_bytes(&mut message, 1, &ids);
        put_bytes(&mut out, 3, &message);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_is_read_as_it_is_written() {
        let devices = [5, 3, 300, 1, 2, 0];
        let assignment = write_assignment(&devices, 2, 3);
        let mut build = Vec::new();
        put_number(&mut build, 4, 2);
        put_number(&mut build, 5, 3);
        put_bytes(&mut build, 9, &assignment);
        let mut options = Vec::new();
        put_bytes(&mut options, 3, &build);
        put_number(&mut options, 4, 1);
        let read = CompileOptions::read(&options).unwrap();
        let expected = CompileOptions {
            num_replicas: 2,
            num_partitions: 3,
            devices: devices.to_vec(),
            is_portable: true,
        };
        assert_eq!(read, expected);
        for end in 0..options.len() {
            let _ = CompileOptions::read(&options[..end]);
        }
    }

    #[test]
    fn no_options_are_the_defaults() {
        let read = CompileOptions::read(&[]).unwrap();
        assert_eq!((read.num_replicas, read.num_partitions, read.devices.len()), (1, 1, 0));
    }
}
