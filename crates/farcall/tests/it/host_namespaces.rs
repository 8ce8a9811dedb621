//! Libraries with ops of the same names: copies of one library, libraries in namespaces, and libraries that
//! replace registered ops.

use farcall::Registry;
use farcall::ir::op::CustomCall;
use farcall::registry::{LoadError, LoadOptions, Platform, Target};
use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::prelude::*;
use farcall_testing::engine::load;
use farcall_testing::engine::load_with;
use farcall_testing::library::example;

#[handler(name = "double")]
#[signature((x: f32[*]) -> (y: f32[*]))]
fn double(x: &Buffer<f32>, y: &mut Buffer<f32>) {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = 2.0 * x);
}

#[handler(name = "thrice")]
#[signature((x: f32[*]) -> (y: f32[*]))]
fn thrice(x: &Buffer<f32>, y: &mut Buffer<f32>) {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = 3.0 * x);
}

const OPS: &[&OpDescriptor] = farcall_ffi::ops![double, thrice];

fn names(registry: &Registry) -> Vec<String> {
    let targets = registry.targets();
    let on_the_host = targets.iter().filter(|target| *target.platform() == Platform::Host);
    on_the_host.map(|target| target.name().to_owned()).collect()
}

fn in_namespace(namespace: &str) -> LoadOptions {
    LoadOptions { namespace: Some(namespace.into()), ..LoadOptions::default() }
}

fn derivatives(target: &Target) -> Vec<&str> {
    target.declaration().map(|declaration| declaration.derivatives()).unwrap_or_default()
}

#[test]
fn files_with_the_same_bytes_are_one_library() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let built = example("farcall", "host_test_ops");
    for name in ["wheel.so", "checkout.so"] {
        std::fs::copy(&built, path(name)).unwrap();
    }
    let registry = Registry::new();
    load(&registry, path("wheel.so"), &[]).unwrap();
    let of_wheel = registry.targets();
    let report = load(&registry, path("checkout.so"), &[]).unwrap();
    assert_eq!(report.targets.len(), of_wheel.len());
    let same = |(a, b): (&std::sync::Arc<Target>, &std::sync::Arc<Target>)| std::sync::Arc::ptr_eq(a, b);
    assert!(of_wheel.iter().zip(&registry.targets()).all(same));
    // If the file is replaced, it is another version of the library.
    std::fs::copy(example("farcall", "linked_test_ops"), path("new.so")).unwrap();
    std::fs::rename(path("new.so"), path("checkout.so")).unwrap();
    let report = load(&registry, path("checkout.so"), &[]).unwrap();
    assert_eq!(report.warnings.len(), of_wheel.len(), "{:?}", report.warnings);
    assert_eq!(names(&registry), ["double", "double_bwd", "thrice"]);
}

#[test]
fn a_namespace_keeps_ops_apart() {
    let path = example("farcall", "linked_test_ops");
    let registry = Registry::new();
    registry.register_ops(OPS).unwrap();
    load_with(&registry, &path, &in_namespace("vendor")).unwrap();
    assert_eq!(names(&registry), ["double", "thrice", "vendor.double", "vendor.double_bwd", "vendor.thrice"]);
    let double = registry.lookup("vendor.double", &Platform::Host).unwrap();
    assert_eq!((double.local_name(), derivatives(&double)), ("double", vec!["vendor.double_bwd"]));
    assert!(
        double.origin().to_string().ends_with("(farcall library, namespace vendor)"),
        "{}",
        double.origin()
    );
    // The same library can be loaded in a second namespace.
    load_with(&registry, &path, &in_namespace("v2.vendor")).unwrap();
    assert_eq!(names(&registry).len(), 8);
    let e = load_with(&registry, &path, &in_namespace("a-b")).unwrap_err().to_string();
    assert!(
        e.ends_with(
            "`a-b` is not a namespace: write letters, digits and `_`, in parts joined by dots, as in `acme`"
        ),
        "{e}"
    );
}

#[test]
fn a_library_may_choose_its_namespace() {
    let path = example("farcall", "namespaced_test_ops");
    let registry = Registry::new();
    load(&registry, &path, &[]).unwrap();
    assert_eq!(names(&registry), ["acme.double"]);
    let double = registry.lookup("acme.double", &Platform::Host).unwrap();
    assert_eq!(
        derivatives(&double),
        ["acme.double"],
        "the op must be its own tangent op and its own transpose"
    );
    load_with(&registry, &path, &in_namespace("mine")).unwrap();
    assert_eq!(names(&registry), ["acme.double", "mine.double"]);
}

#[test]
fn a_conflict_is_a_line_for_each_library() {
    let registry = Registry::new();
    registry.register_ops(OPS).unwrap();
    let path = example("farcall", "linked_test_ops");
    let e = load(&registry, &path, &[]).unwrap_err();
    assert!(
        matches!(&e, LoadError::NameConflict { others, .. } if others[0].names == ["double", "thrice"]),
        "{e}"
    );
    assert_eq!(
        e.to_string().replace(&path.display().to_string(), "LIB"),
        "library LIB: double, thrice are registered already, by this program; to have both, load it in a namespace \
         (LoadOptions::namespace); to replace the registered ones, LoadOptions::replace"
    );
    assert_eq!(names(&registry), ["double", "thrice"], "a rejected library adds no ops");
}

#[test]
fn a_library_may_replace_others() {
    let registry = Registry::new();
    registry.register_ops(OPS).unwrap();
    let options = LoadOptions { replace: true, ..LoadOptions::default() };
    let path = example("farcall", "linked_test_ops");
    load_with(&registry, &path, &options).unwrap();
    assert_eq!(names(&registry), ["double", "double_bwd", "thrice"]);
    let edition = |name: &str| registry.lookup(name, &Platform::Host).unwrap().edition();
    assert_eq!((edition("double"), edition("double_bwd")), (2, 1));
    let resolve = |name: &str| registry.resolve(&CustomCall::new(name), &Platform::Host);
    assert!(resolve("double@2").is_ok() && resolve("double@1").is_err());
    // Loading the same library again changes nothing.
    load_with(&registry, &path, &options).unwrap();
    assert_eq!(edition("double"), 2);
}
