//! C++ code that throws, wherever this host calls C++: the result is an error, and the next call works.
#![cfg(feature = "cxx-exceptions")]

use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use expect_test::expect;
use farcall::Registry;
use farcall::custom_call::{CallError, CallFrame, CallSite, RunContext, ThreadPool};
use farcall::ir::attr::IntKind;
use farcall::ir::op::{CallConfig, CustomCall};
use farcall::ir::{Attribute, DType, TensorType, Type};
use farcall::registry::Platform;
use farcall_ffi::abi::ErrorCode;
use farcall_testing::engine::load;
use farcall_testing::library::plain_cc;

#[test]
fn a_description_that_throws() {
    let Some(path) = plain_cc("farcall", "describes", "describes_0", &["-DHOW=0"]) else { return };
    let e = load(&Registry::new(), &path, &[]).unwrap_err().to_string();
    assert!(
        e.ends_with("its description of itself failed: C++ exception std::runtime_error: no ops today"),
        "{e}"
    );
}

#[test]
fn every_stage_and_every_kind() {
    let Some(lib) = Lib::get() else { return };
    let mut seen = Vec::new();
    for stage in 0..4 {
        for kind in 0..=7 {
            match lib.all_stages("throws", kind, stage) {
                Ok(()) => assert_eq!(kind, 0),
                Err(e) => {
                    assert_eq!(e.code, ErrorCode::INTERNAL);
                    seen.push(e.to_string());
                }
            }
            // The same call succeeds if it does not throw.
            lib.all_stages("throws", 0, stage).unwrap();
            assert_eq!(lib.live(), 0);
        }
    }
    assert_eq!(seen.len(), 28);
    expect!["custom call `throws` at p.mlir:3:8 failed in its instantiate stage: INTERNAL: C++ exception std::runtime_error: out of luck"]
        .assert_eq(&seen[0]);
    expect![[r#"
        custom call `throws` at p.mlir:3:8 failed in its execute stage: INTERNAL: C++ exception std::runtime_error: out of luck
        custom call `throws` at p.mlir:3:8 failed in its execute stage: INTERNAL: C++ exception (anonymous namespace)::Misfortune: bad day
        custom call `throws` at p.mlir:3:8 failed in its execute stage: INTERNAL: C++ exception std::string: a string
        custom call `throws` at p.mlir:3:8 failed in its execute stage: INTERNAL: C++ exception char const*: some chars
        custom call `throws` at p.mlir:3:8 failed in its execute stage: INTERNAL: C++ exception of type int
        custom call `throws` at p.mlir:3:8 failed in its execute stage: INTERNAL: C++ exception of type (anonymous namespace)::Bare
        custom call `throws` at p.mlir:3:8 failed in its execute stage: INTERNAL: C++ exception std::bad_alloc: std::bad_alloc"#]]
        .assert_eq(&seen[21..].join("\n"));
}

#[test]
fn one_frame_throws_and_works_by_turns() {
    let Some(lib) = Lib::get() else { return };
    let run = RunContext::new();
    for target in ["untyped", "untyped_status", "untyped_opaque"] {
        let version = match target {
            "untyped" => 1,
            "untyped_status" => 2,
            _ => 3,
        };
        let call = CustomCall { api_version: Some(version), ..CustomCall::new(target) };
        let ty = || Type::from(TensorType::new(DType::S32, []));
        let site = lib.site(&call, &[ty()], &[ty()]).unwrap();
        let mut frame = CallFrame::new(&site);
        for kind in [1, 0, 6, 0] {
            let (mut kind, mut out) = (kind, 0i32);
            // SAFETY: both buffers are one integer.
            let outcome = unsafe { frame.execute(&[(&raw mut kind).cast()], &[(&raw mut out).cast()], &run) };
            assert_eq!(outcome.is_err(), kind != 0, "{outcome:?}");
            if let Err(e) = outcome {
                assert!(e.message.starts_with("C++ exception "), "{e}");
            }
        }
    }
}

#[test]
fn a_handler_that_throws_when_asked_for_its_metadata() {
    let Some(lib) = Lib::get() else { return };
    let e = load(&Registry::new(), &lib.path, &["f=Shy".parse().unwrap()]).unwrap_err().to_string();
    assert!(
        e.ends_with("the execute handler of `f` does not report its version: C++ exception std::runtime_error: do not ask"),
        "{e}"
    );
}

#[test]
fn a_task_that_throws_fails_its_call() {
    let Some(lib) = Lib::get() else { return };
    let site = lib.site(&call("task", 1, 3), &[], &[]).unwrap();
    let fine = lib.site(&call("task", 0, 3), &[], &[]).unwrap();
    let run = RunContext::new().with_pool(Arc::new(ThreadPool::new(1)));
    let (mut frame, mut fine) = (CallFrame::new(&site), CallFrame::new(&fine));
    for _ in 0..3 {
        // SAFETY: the call has no buffers.
        let (e, ok) = unsafe { (frame.execute(&[], &[], &run).unwrap_err(), fine.execute(&[], &[], &run)) };
        assert_eq!(ok, Ok(()));
        assert_eq!(e.message, "in a task of the handler: C++ exception std::runtime_error: out of luck");
    }
}

#[test]
fn a_deleter_that_throws_ends_there() {
    let Some(lib) = Lib::get() else { return };
    for _ in 0..3 {
        let site = lib.site(&call("stateful", 0, 0), &[], &[]).unwrap();
        assert_eq!(lib.live(), 1);
        let mut frame = CallFrame::new(&site);
        let run = RunContext::new();
        for _ in 0..2 {
            // SAFETY: the call has no buffers.
            unsafe {
                frame.prepare(&[], &[], &run).unwrap();
                frame.initialize(&[], &[], &run).unwrap();
                frame.execute(&[], &[], &run).unwrap();
            }
            assert_eq!(lib.live(), 3);
        }
        drop((frame, site));
        assert_eq!(lib.live(), 0);
    }
}

#[test]
fn a_library_that_registers_itself_through_the_cxx_symbol() {
    let Some(path) = plain_cc("farcall", "throws", "throws_self", &["-DSELF_REGISTER"]) else { return };
    let registry = Registry::new();
    let report = load(&registry, &path, &[]).unwrap();
    assert_eq!((report.targets.len(), report.targets[0].name()), (1, "throws"));
    assert_eq!(report.notes, Vec::<String>::new());
}

// ---- Helpers ---------------------------------------------------------------------------------

/// `throws.cc` in a registry. Only one test at a time may use its counters.
struct Lib {
    registry: Registry,
    path: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Lib {
    fn get() -> Option<Lib> {
        static PATH: LazyLock<Option<PathBuf>> =
            LazyLock::new(|| plain_cc("farcall", "throws", "throws", &[]));
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let path = PATH.clone()?;
        let registry = Registry::new();
        let specs = [
            "throws=instantiate:Throws,prepare:Throws,initialize:Throws,execute:Throws",
            "task=TaskThrows",
            "stateful=instantiate:Stateful,prepare:Stateful,initialize:Stateful,execute:Stateful,\
             type:StateTypeId/StateTypeInfo",
            "untyped=untyped:Untyped",
            "untyped_status=untyped:UntypedStatus",
            "untyped_opaque=untyped:UntypedOpaque",
        ];
        load(&registry, &path, &specs.map(|s| s.parse().unwrap())).unwrap();
        Some(Lib { registry, path, _alone: alone })
    }

    fn site(&self, call: &CustomCall, ins: &[Type], outs: &[Type]) -> Result<Arc<CallSite>, CallError> {
        let target = self.registry.resolve(call, &Platform::Host).unwrap();
        CallSite::new(target, call, ins, outs, "p.mlir:3:8").map(Arc::new)
    }

    fn all_stages(&self, target: &str, kind: i32, stage: i32) -> Result<(), CallError> {
        let site = self.site(&call(target, kind, stage), &[], &[])?;
        let mut frame = CallFrame::new(&site);
        let run = RunContext::new();
        // SAFETY: the call has no buffers.
        unsafe {
            frame.prepare(&[], &[], &run)?;
            frame.initialize(&[], &[], &run)?;
            frame.execute(&[], &[], &run)
        }
    }

    /// Number of the library's objects that are not destroyed.
    fn live(&self) -> i32 {
        let path = std::ffi::CString::new(self.path.to_str().unwrap()).unwrap();
        // SAFETY: the library is already open, and the symbol is a function of this type.
        unsafe {
            let symbol = libc::dlsym(libc::dlopen(path.as_ptr(), libc::RTLD_NOW), c"Live".as_ptr());
            std::mem::transmute::<*mut std::ffi::c_void, extern "C" fn() -> i32>(symbol)()
        }
    }
}

fn call(target: &str, kind: i32, stage: i32) -> CustomCall {
    let int = |v: i32| Attribute::Int(v.into(), IntKind::Typed(DType::S32));
    let attrs = [("kind".to_owned(), int(kind)), ("stage".to_owned(), int(stage))];
    CustomCall { config: CallConfig::Dict(attrs.into()), ..CustomCall::new(target) }
}
