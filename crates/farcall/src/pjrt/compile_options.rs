//! `CompileOptionsProto`: the options of a compilation for one device, as protocol buffers.
//!
//! | message | field | contents |
//! | --- | --- | --- |
//! | `CompileOptionsProto` | 3 | `ExecutableBuildOptionsProto` |
//! | `ExecutableBuildOptionsProto` | 1 | `device_ordinal`: -1, which leaves the choice to the assignment |
//! | | 4, 5 | `num_replicas`, `num_partitions`: 1 |
//! | | 9 | `DeviceAssignmentProto` |
//! | `DeviceAssignmentProto` | 1, 2 | numbers of replicas and partitions: 1 |
//! | | 3 | for the only partition: `replica_device_ids`, field 1 |

/// Returns the options for a program that runs on one device.
pub(super) fn for_device(id: i32) -> Vec<u8> {
    let ids = message(|ids| put_varint(ids, i64::from(id).cast_unsigned()));
    let partition = message(|partition| put_bytes(partition, 1, &ids));
    let assignment = message(|assignment| {
        put_number(assignment, 1, 1);
        put_number(assignment, 2, 1);
        put_bytes(assignment, 3, &partition);
    });
    let build = message(|build| {
        put_number(build, 1, (-1i64).cast_unsigned());
        put_number(build, 4, 1);
        put_number(build, 5, 1);
        put_bytes(build, 9, &assignment);
    });
    message(|options| put_bytes(options, 3, &build))
}

fn message(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

fn put_number(out: &mut Vec<u8>, field: u64, value: u64) {
    put_varint(out, field << 3);
    put_varint(out, value);
}

fn put_bytes(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a number: seven bits a byte, lowest bits first.
fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_one_device() {
        let minus_one = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        let build: Vec<u8> = [
            &[0x08][..],
            &minus_one,
            &[0x20, 1, 0x28, 1],
            &[0x4a, 10],                  // device_assignment, 10 bytes
            &[0x08, 1, 0x10, 1],          // one replica of one partition
            &[0x1a, 4, 0x0a, 2, 0xac, 2], // device 300
        ]
        .concat();
        let expected = [&[0x1a, build.len() as u8][..], &build].concat();
        assert_eq!(for_device(300), expected);
    }
}
