//! Compares the mirror of XLA's C interface with the real headers, as the system's compiler sees them.
//!
//! `FARCALL_XLA_INCLUDE` is a list of include directories with `xla/ffi/api/c_api.h`, one per version,
//! separated by `:`. A C++ program generated from [`abi::LAYOUTS`] prints the layouts of the header's
//! structs; the test compares its output line by line.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use farcall_ffi::abi::{self, FieldLayout, StructLayout};

#[test]
fn mirror_matches_the_headers() {
    let Some(dirs) = std::env::var_os("FARCALL_XLA_INCLUDE").filter(|dirs| !dirs.is_empty()) else {
        println!("NOT RUN: set FARCALL_XLA_INCLUDE to the include directories of one or more jaxlib wheels");
        return;
    };
    for dir in std::env::split_paths(&dirs) {
        let minor = header_minor(&dir);
        let expected = lines_of_the_mirror(minor);
        let found = run(&dir, minor, &program(minor));
        assert_eq!(
            found.lines().count(),
            expected.lines().count(),
            "number of lines for 0.{minor} in {}",
            dir.display()
        );
        for (found, expected) in found.lines().zip(expected.lines()) {
            assert_eq!(found, expected, "left: {} (0.{minor}), right: farcall_ffi::abi", dir.display());
        }
        println!("0.{minor}: {} facts agree with {}", expected.lines().count(), dir.display());
    }
}

/// Returns the structs in the header of this minor version, with their layouts in the mirror.
fn layouts(minor: i32) -> impl Iterator<Item = &'static StructLayout> {
    abi::LAYOUTS.iter().filter(move |l| (l.versions.0..=l.versions.1).contains(&minor))
}

/// Returns a struct's C name, with the renames of version 0.5.
fn c_name(layout: &StructLayout, minor: i32) -> String {
    match layout.c_name {
        "XLA_FFI_Extension_Base" if minor >= 5 => "XLA_FFI_InternalExtension".into(),
        "XLA_FFI_ExecutionContext_Get_Args" if minor >= 5 => "XLA_FFI_InvokeContext_Get_Args".into(),
        other => other.into(),
    }
}

/// Returns the members in the header of this minor version; up to 0.4, the function table ends earlier.
fn fields(layout: &'static StructLayout, minor: i32) -> impl Iterator<Item = &'static FieldLayout> {
    let end = if minor < 5 && layout.name == "Api" { abi::Api::STRUCT_SIZE_V3 } else { layout.size };
    layout.fields.iter().filter(move |field| field.offset < end)
}

/// Returns the C member that a field mirrors.
fn c_field(layout: &StructLayout, field: &str, minor: i32) -> String {
    match field.trim_start_matches("r#") {
        "error_get_details" if minor < 5 => "XLA_FFI_Error_GetMessage".into(),
        "invoke_context_get" if minor < 5 => "XLA_FFI_ExecutionContext_Get".into(),
        header @ ("struct_size" | "extension_start" | "api_version" | "internal_api") => header.into(),
        slot if layout.name == "Api" => c_slot(slot),
        field => field.into(),
    }
}

/// Converts a function's name to C: `thread_pool_num_threads` is `XLA_FFI_ThreadPool_NumThreads`, the object
/// in camel case, then the verb.
fn c_slot(slot: &str) -> String {
    const OBJECTS: [&str; 12] = [
        "error",
        "handler",
        "stream",
        "type",
        "invoke_context",
        "state",
        "device_memory",
        "thread_pool",
        "future",
        "run_id",
        "device_ordinal",
        "custom_options",
    ];
    let camel = |snake: &str| -> String {
        snake.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
    };
    let object = OBJECTS
        .iter()
        .find(|object| slot.starts_with(**object))
        .expect("the name starts with a known object");
    format!("XLA_FFI_{}_{}", camel(object), camel(&slot[object.len() + 1..]))
}

/// Returns true for structs that have a constant `…_STRUCT_SIZE` in the C header.
fn has_struct_size(layout: &StructLayout) -> bool {
    !matches!(layout.name, "ByteSpan" | "Scalar" | "Array" | "TypeId" | "HandlerBundle" | "HandlerBundleV4")
}

/// Returns the enumerators of the mirror that are in this version's header.
fn enumerators(minor: i32) -> Vec<(String, u32)> {
    let all = [
        abi::ExtensionType::C_VALUES,
        abi::ArgType::C_VALUES,
        abi::RetType::C_VALUES,
        abi::AttrType::C_VALUES,
        abi::Stage::C_VALUES,
        abi::ErrorCode::C_VALUES,
        abi::DataType::C_VALUES,
    ];
    all.iter()
        .flat_map(|values| values.iter())
        .filter(|(name, _)| minor >= 5 || *name != "XLA_FFI_ExecutionStage_RECORD")
        .map(|(name, value)| (name.replace("Extension_METADATA", "Extension_Metadata"), *value))
        .collect()
}

fn lines_of_the_mirror(minor: i32) -> String {
    let mut out = String::new();
    for layout in layouts(minor) {
        let name = c_name(layout, minor);
        let last = fields(layout, minor).last().expect("no struct is empty");
        let end = last.offset + last.size;
        let struct_size = layout.struct_size.min(end);
        writeln!(out, "{name} {} {}", end.next_multiple_of(layout.align), layout.align).unwrap();
        for field in fields(layout, minor) {
            writeln!(out, "{name}.{} {} {}", c_field(layout, field.name, minor), field.offset, field.size)
                .unwrap();
        }
        if has_struct_size(layout) {
            writeln!(out, "{name}_STRUCT_SIZE {}", struct_size).unwrap();
        }
    }
    for (name, value) in enumerators(minor) {
        writeln!(out, "{name} {value}").unwrap();
    }
    writeln!(out, "command buffer {}", abi::handler_traits::COMMAND_BUFFER_COMPATIBLE).unwrap();
    out
}

fn program(minor: i32) -> String {
    let mut out = String::from("#include <cstdio>\n#include \"xla/ffi/api/c_api.h\"\nint main() {\n");
    for layout in layouts(minor) {
        let name = c_name(layout, minor);
        writeln!(out, r#"printf("{name} %zu %zu\n", sizeof({name}), alignof({name}));"#).unwrap();
        for field in fields(layout, minor) {
            let field = c_field(layout, field.name, minor);
            writeln!(
                out,
                r#"printf("{name}.{field} %zu %zu\n", offsetof({name}, {field}), sizeof({name}::{field}));"#
            )
            .unwrap();
        }
        if has_struct_size(layout) {
            writeln!(out, r#"printf("{name}_STRUCT_SIZE %zu\n", (size_t){name}_STRUCT_SIZE);"#).unwrap();
        }
    }
    for (name, _) in enumerators(minor) {
        writeln!(out, r#"printf("{name} %u\n", (unsigned){name});"#).unwrap();
    }
    out += r#"printf("command buffer %u\n", (unsigned)XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);"#;
    out + "\n}\n"
}

fn header_minor(dir: &Path) -> i32 {
    let header = dir.join("xla/ffi/api/c_api.h");
    let text =
        std::fs::read_to_string(&header).unwrap_or_else(|e| panic!("cannot read {}: {e}", header.display()));
    let line = text.lines().find_map(|line| line.strip_prefix("#define XLA_FFI_API_MINOR "));
    line.and_then(|minor| minor.trim().parse().ok()).expect("the header defines its minor version")
}

fn run(include: &Path, minor: i32, source: &str) -> String {
    let stem = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("abi_layout_0_{minor}"));
    let file: PathBuf = stem.with_extension("cc");
    std::fs::write(&file, source).unwrap();
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let output = Command::new(compiler)
        .args(["-std=c++17", "-w", "-I"])
        .arg(include)
        .arg(&file)
        .arg("-o")
        .arg(&stem)
        .output()
        .expect("the C++ compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&stem).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}
