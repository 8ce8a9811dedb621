//! Compares the layout of each struct with the offsets in the C header.

use std::collections::HashMap;

use farcall_pjrt_abi::{ARGUMENTS, Api, ErrorGetCode, FUNCTIONS, Program, STRUCTS, Struct};

/// A line is the struct's name, its `STRUCT_SIZE`, its size, and its members with their offsets.
const HEADER: &str = include_str!("layouts.txt");

/// `STRUCT_SIZE`, size, and members with their offsets.
type Layout = (usize, usize, Vec<(&'static str, usize)>);

/// Returns the structs by name.
fn header() -> HashMap<&'static str, Layout> {
    let lines = HEADER.lines().map(|line| {
        let (head, members) = line.split_once(':').unwrap();
        let mut head = head.split(' ');
        let (name, end) = (head.next().unwrap(), head.next().unwrap().parse().unwrap());
        let size = head.next().unwrap().parse().unwrap();
        let members = members.split_whitespace().map(|member| {
            let (name, offset) = member.split_once('@').unwrap();
            (name, offset.parse().unwrap())
        });
        (name, (end, size, members.collect()))
    });
    lines.collect()
}

#[test]
fn arguments_have_the_layout_of_the_header() {
    let header = header();
    for (name, end, size, members) in ARGUMENTS {
        let (c_end, c_size, c_members) = &header[&*format!("{name}_Args")];
        assert_eq!((end, size), (c_end, c_size), "{name}");
        let own: Vec<_> = members.iter().map(|(member, at)| (member.trim_start_matches("r#"), *at)).collect();
        assert_eq!(own, c_members[2..], "{name}");
    }
}

#[test]
fn structs_have_the_layout_of_the_header() {
    let header = header();
    for (name, size, members) in STRUCTS {
        let (_, c_size, c_members) = &header[name];
        assert_eq!(size, c_size, "{name}");
        let own: Vec<usize> = members.iter().map(|(_, at)| *at).collect();
        let c: Vec<usize> = c_members.iter().map(|(_, at)| *at).collect();
        assert_eq!(own, c, "{name}");
    }
    assert_eq!(header.len(), ARGUMENTS.len() + STRUCTS.len(), "each struct of the list is mirrored");
}

#[test]
fn a_size_that_ends_inside_a_member_excludes_it() {
    let sizes = [16, 24, 27, 28, 29, 31, 32, 33, 1000];
    let complete = sizes.map(ErrorGetCode::complete_bytes);
    assert_eq!(complete, [16, 24, 24, 28, 29, 31, 32, 32, 32]);
    assert_eq!([24, 41, 47, 48].map(Program::complete_bytes), [24, 40, 40, 48]);
}

#[test]
fn the_table_has_the_size_of_the_header() {
    assert_eq!((FUNCTIONS, size_of::<Api>()), (138, 1144));
}
