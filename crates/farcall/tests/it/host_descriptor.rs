//! Libraries and ops written with `farcall-ffi`, which describe themselves instead of registering themselves.

use std::path::Path;
use std::sync::Arc;

use expect_test::expect;
use farcall::Registry;
use farcall::custom_call::{CallError, CallFrame, CallSite, RunContext};
use farcall::ir::op::{CallConfig, CustomCall};
use farcall::ir::{Attribute, DType, TensorType, Type};
use farcall::registry::Platform;
use farcall_ffi::descriptor::OpDescriptor;

use crate::plugin::ops::{count, panics, scale};
use farcall_testing::engine::load;
use farcall_testing::library::example;

const OPS: &[&OpDescriptor] = farcall_ffi::ops![scale, panics, count];

#[test]
fn ops_of_the_program_itself() {
    let registry = Registry::new();
    registry.register_ops(OPS).unwrap();
    registry.register_ops(OPS).unwrap();
    expect![[r#"
        count: Returns the number of previous runs of this call site. [INSTANTIATE, EXECUTE] from this program
        panics: Always panics. [EXECUTE] from this program
        scale: y = factor · x [EXECUTE] from this program"#]]
    .assert_eq(&describe(&registry));
    check_calls(&registry);
}

#[test]
fn a_library_with_a_descriptor() {
    let path = example("farcall", "host_test_ops");
    let registry = Registry::new();
    let report = load(&registry, &path, &[]).unwrap();
    assert_eq!(report.targets.len(), 3);
    // The library may be named by the path of a copy that another test of this process has loaded first.
    assert!(describe(&registry).contains(".so (farcall library)"), "{}", describe(&registry));
    check_calls(&registry);
    let again = Registry::new();
    load(&again, &path, &[]).unwrap();
    check_calls(&again);
    // The ops of a program and the ops of a library are different functions with the same name.
    let e = registry.register_ops(OPS).unwrap_err().to_string();
    assert!(e.starts_with("`scale` is registered for Host already, by /"), "{e}");
    assert!(e.contains("this program has other functions for it"), "{e}");
}

/// Checks that the old version of a library stays usable after its file has changed. The path of the library
/// is not valid UTF-8.
#[test]
fn a_library_whose_file_changes_is_loaded_beside_its_old_version() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"lib\xff.so"));
    let (host, linked) = (example("farcall", "host_test_ops"), example("farcall", "linked_test_ops"));
    // The file changes in two ways: a linker renames a new file to the path of the old one, while a copy
    // writes over the old file.
    let rename = |from: &Path| {
        std::fs::copy(from, folder.path().join("new.so")).unwrap();
        std::fs::rename(folder.path().join("new.so"), &path).unwrap();
    };
    let write_over = |from: &Path| assert!(std::fs::copy(from, &path).is_ok());
    rename(&host);
    let registry = Registry::new();
    assert_eq!(load(&registry, &path, &[]).unwrap().warnings, Vec::<String>::new());
    let puts: [&dyn Fn(&Path); 2] = [&write_over, &rename];
    for put in puts {
        put(&linked);
        let fork = registry.fork();
        let report = load(&fork, &path, &[]).unwrap();
        let [count, panics, scale] = report.warnings.try_into().unwrap();
        for (warning, name) in [(count, "count"), (panics, "panics"), (scale, "scale")] {
            assert!(warning.contains(&format!("has changed and lacks `{name}` (")), "{warning}");
        }
        assert!(fork.lookup("scale", &Platform::Host).is_none());
        let double = fork.lookup("double", &Platform::Host).unwrap();
        assert_eq!(double.origin().version, 2);
        check_calls(&registry);
        // The first version is loaded again.
        put(&host);
        let report = load(&fork, &path, &[]).unwrap();
        assert_eq!((report.warnings.len(), report.targets[0].origin().version), (5, 1));
        check_calls(&fork);
    }
}

/// Checks the ops of a library that links two crates and serves two platforms. An op of one crate is the
/// derivative of an op of the other crate.
#[test]
fn a_library_of_two_crates() {
    let registry = Registry::new();
    load(&registry, example("farcall", "linked_test_ops"), &[]).unwrap();
    let targets = registry.targets();
    let lines = targets.iter().map(|t| {
        let declaration = t.declaration().unwrap();
        let vjp = declaration.vjp.as_ref().map_or("none", |vjp| vjp.backward.as_str());
        format!("{} for {}: {} vjp {vjp}", t.name(), t.platform(), declaration.signature)
    });
    expect![[r#"
        double for Host: (x: f32[*]) -> (y: f32[*]) vjp double_bwd
        double for CUDA: (x: f32[*]) -> (y: f32[*]) vjp double_bwd
        double_bwd for Host: (dy: f32[*]) -> (dx: f32[*]) vjp none
        double_bwd for CUDA: (dy: f32[*]) -> (dx: f32[*]) vjp none
        thrice for Host: (x: f32[*]) -> (y: f32[*]) vjp none"#]]
    .assert_eq(&lines.collect::<Vec<_>>().join("\n"));

    let f32x2 = || Type::from(TensorType::new(DType::F32, [2]));
    for (name, expected) in [("double", [2.0, -4.0]), ("double_bwd", [2.0, -4.0]), ("thrice", [3.0, -6.0])] {
        let site = site_of(&registry, &CustomCall::new(name), &[f32x2()], &[f32x2()]).unwrap();
        let (mut x, mut y) = ([1.0f32, -2.0], [0.0f32; 2]);
        let mut frame = CallFrame::new(&site);
        // SAFETY: both buffers are two floats.
        unsafe { frame.execute(&[x.as_mut_ptr().cast()], &[y.as_mut_ptr().cast()], &RunContext::new()) }
            .unwrap();
        assert_eq!(y, expected, "{name}");
    }
}

fn check_calls(registry: &Registry) {
    let f32x2 = || Type::from(TensorType::new(DType::F32, [2]));
    let i64x1 = || Type::from(TensorType::new(DType::S64, [1]));
    let run = RunContext::new();

    let site =
        site(registry, "scale", "factor", Attribute::float(3.0, DType::F32), &[f32x2()], &[f32x2()]).unwrap();
    let (mut x, mut y) = ([1.0f32, -2.0], [0.0f32; 2]);
    let mut frame = CallFrame::new(&site);
    // SAFETY: both buffers are two floats.
    unsafe { frame.execute(&[x.as_mut_ptr().cast()], &[y.as_mut_ptr().cast()], &run) }.unwrap();
    assert_eq!(y, [3.0, -6.0]);
    drop(frame);

    let site = site_of(registry, &CustomCall::new("panics"), &[], &[]).unwrap();
    let mut frame = CallFrame::new(&site);
    for _ in 0..2 {
        // SAFETY: the call has no buffers.
        let e = unsafe { frame.execute(&[], &[], &run) }.unwrap_err();
        assert!(e.message.contains("there was nothing"), "{e}");
    }

    let site = self::site(registry, "count", "start", Attribute::i64(5), &[], &[i64x1()]).unwrap();
    let mut frame = CallFrame::new(&site);
    for expected in 5..8 {
        let mut n = [0i64];
        // SAFETY: the result is one integer.
        unsafe { frame.execute(&[], &[n.as_mut_ptr().cast()], &run) }.unwrap();
        assert_eq!(n, [expected]);
    }
    let e = self::site(registry, "count", "start", Attribute::i64(-5), &[], &[i64x1()]).unwrap_err();
    assert!(e.to_string().contains("`count` at p.mlir:1:1 failed in its instantiate stage"), "{e}");
    assert!(e.message.contains("start is -5"), "{e}");
}

fn site(
    registry: &Registry,
    name: &str,
    key: &str,
    attr: Attribute,
    operands: &[Type],
    results: &[Type],
) -> Result<Arc<CallSite>, CallError> {
    let config = CallConfig::Dict([(key.to_owned(), attr)].into());
    site_of(registry, &CustomCall { config, ..CustomCall::new(name) }, operands, results)
}

fn site_of(
    registry: &Registry,
    call: &CustomCall,
    operands: &[Type],
    results: &[Type],
) -> Result<Arc<CallSite>, CallError> {
    let target = registry.resolve(call, &Platform::Host).unwrap();
    CallSite::new(target, call, operands, results, "p.mlir:1:1").map(Arc::new)
}

fn describe(registry: &Registry) -> String {
    let targets = registry.targets();
    let lines = targets
        .iter()
        .map(|t| format!("{}: {} {:?} from {}", t.name(), t.docs().trim(), t.stages(), t.origin()));
    lines.collect::<Vec<_>>().join("\n")
}
