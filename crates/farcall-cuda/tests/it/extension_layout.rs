//! Compares the mirrors of XLA's extensions with the real headers, as the system's compiler sees them.
//!
//! `FARCALL_XLA_INCLUDE` is a list of include directories, separated by `:`. Folders with
//! `xla/ffi/api/record_c_api.h` and `collectives_c_api.h` are compared.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use farcall_cuda::extension::abi;
use farcall_testing::library::scratch_folder;

#[test]
fn mirrors_match_the_headers() {
    let dirs = std::env::var_os("FARCALL_XLA_INCLUDE").unwrap_or_default();
    let headers = ["record_c_api.h", "collectives_c_api.h"];
    let has_both = |dir: &std::path::PathBuf| headers.iter().all(|header| api(dir).join(header).exists());
    let dirs: Vec<_> = std::env::split_paths(&dirs).filter(has_both).collect();
    if dirs.is_empty() {
        println!("NOT RUN: FARCALL_XLA_INCLUDE names no folder with xla/ffi/api/record_c_api.h");
    }
    for dir in dirs {
        assert_eq!(run(&dir, &program()), expected(), "left: {}, right: the mirrors", dir.display());
        println!("{} facts agree with {}", expected().lines().count(), dir.display());
    }
}

fn api(dir: &Path) -> std::path::PathBuf {
    dir.join("xla/ffi/api")
}

/// Returns true for structs that have a constant `…_STRUCT_SIZE` in the C header.
fn has_struct_size(c_name: &str) -> bool {
    c_name.ends_with("_Args") || c_name.ends_with("_Extension")
}

/// Constants with their C expressions.
fn constants() -> Vec<(&'static str, i64)> {
    vec![
        ("XLA_FFI_Extension_Record", abi::RECORD),
        ("XLA_FFI_Extension_Record_MajorVersion", abi::RECORD_VERSION.0.into()),
        ("XLA_FFI_Extension_Record_MinorVersion", abi::RECORD_VERSION.1.into()),
        ("XLA_FFI_Extension_Collectives", abi::COLLECTIVES),
        ("XLA_FFI_Extension_Collectives_MajorVersion", abi::COLLECTIVES_VERSION.0.into()),
        ("XLA_FFI_Extension_Collectives_MinorVersion", abi::COLLECTIVES_VERSION.1.into()),
        ("XLA_FFI_RecordAction_Create", abi::CREATE.into()),
        ("XLA_FFI_RecordAction_Update", abi::UPDATE.into()),
        ("XLA_FFI_SourceFormat_FUNCTION_PTR", abi::FUNCTION_PTR.into()),
        ("XLA_FFI_KernelArgType_DevicePtr", abi::DEVICE_PTR.into()),
        ("XLA_FFI_KernelArgType_HostValue", abi::HOST_VALUE.into()),
        ("XLA_FFI_GROUP_CROSS_REPLICA", farcall_cuda::extension::CliqueMode::CrossReplica as i64),
        ("XLA_FFI_GROUP_CROSS_PARTITION", farcall_cuda::extension::CliqueMode::CrossPartition as i64),
        (
            "XLA_FFI_GROUP_CROSS_REPLICA_AND_PARTITION",
            farcall_cuda::extension::CliqueMode::CrossReplicaAndPartition as i64,
        ),
        ("XLA_FFI_GROUP_FLATTENED_ID", farcall_cuda::extension::CliqueMode::FlattenedId as i64),
    ]
}

fn expected() -> String {
    let mut out = String::new();
    for layout in abi::LAYOUTS {
        let name = layout.c_name;
        writeln!(out, "{name} {} {}", layout.size, layout.align).unwrap();
        for field in layout.fields {
            writeln!(out, "{name}.{} {} {}", field.name.trim_start_matches("r#"), field.offset, field.size)
                .unwrap();
        }
        if has_struct_size(name) {
            writeln!(out, "{name}_STRUCT_SIZE {}", layout.struct_size).unwrap();
        }
    }
    for (name, value) in constants() {
        writeln!(out, "{name} {value}").unwrap();
    }
    out
}

fn program() -> String {
    let mut out = String::from("#include <stdio.h>\n#include \"xla/ffi/api/record_c_api.h\"\n");
    out += "#include \"xla/ffi/api/collectives_c_api.h\"\nint main() {\n";
    for layout in abi::LAYOUTS {
        let name = layout.c_name;
        writeln!(out, r#"printf("{name} %zu %zu\n", sizeof({name}), _Alignof({name}));"#).unwrap();
        for field in layout.fields {
            let field = field.name.trim_start_matches("r#");
            writeln!(
                out,
                r#"printf("{name}.{field} %zu %zu\n", offsetof({name}, {field}), sizeof((({name}*)0)->{field}));"#
            )
            .unwrap();
        }
        if has_struct_size(name) {
            writeln!(out, r#"printf("{name}_STRUCT_SIZE %zu\n", (size_t){name}_STRUCT_SIZE);"#).unwrap();
        }
    }
    for (name, _) in constants() {
        writeln!(out, r#"printf("{name} %lld\n", (long long){name});"#).unwrap();
    }
    out + "return 0;\n}\n"
}

fn run(include: &Path, source: &str) -> String {
    let stem = scratch_folder().join("extension_layout");
    let file = stem.with_extension("c");
    std::fs::write(&file, source).unwrap();
    let mut compiler = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()));
    compiler.args(["-std=c11", "-w", "-I"]).arg(include).arg(&file).arg("-o").arg(&stem);
    let output = compiler.output().expect("the C compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&stem).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}
