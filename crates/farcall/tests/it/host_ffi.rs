//! C++ handlers, compiled against several versions of XLA's headers, called by this host.
#![expect(clippy::print_stdout, reason = "prints which versions of the headers were tested, or why none was")]

use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use expect_test::expect;
use farcall::Registry;
use farcall::custom_call::{CallError, CallFrame, CallSite, RunContext, ThreadPool};
use farcall::ir::attr::IntKind;
use farcall::ir::op::{CallConfig, CustomCall};
use farcall::ir::{AttrDict, Attribute, DType, Literal, TensorType, Type};
use farcall::registry::{ApiKind, LoadError, Platform, TargetSpec};
use farcall_ffi::abi::{ErrorCode, TypeId};
use farcall_testing::engine::load;
use farcall_testing::library::xla_cc;
use farcall_testing::process::alone;

/// Specifications of the handlers that `handlers.cc` exports as plain symbols with every version of the
/// headers.
const SPECS: [&str; 16] = [
    "add_one=AddOne",
    "zoo=Zoo",
    "fail=Fail",
    "counter=instantiate:CounterNew,execute:CounterRun,type:CounterTypeId/CounterTypeInfo",
    "pool=Pool",
    "scratch=Scratch",
    "too_much_scratch=TooMuchScratch",
    "later=Later",
    "where=Where",
    "stream=Stream",
    "token_in=TokenIn",
    "sizes=Sizes",
    "user_data=execute:UserData,type:EmbedderTypeId/EmbedderTypeInfo",
    "forgetful=Forgetful",
    "old_add=untyped:OldAdd",
    "old_swap=untyped:OldSwap",
];

#[test]
fn plain_symbols() {
    each_version(|lib| {
        let report = &lib.report;
        assert_eq!(report.len(), SPECS.len());
        let add = lib.registry.lookup("add_one", &Platform::Host).unwrap();
        assert_eq!(add.api_version(), Some((0, lib.minor)));
        assert_eq!(add.trait_names(), ["command-buffer-compatible"]);
        let out = lib.run("add_one", dict([]), &[f32s(&[1.0, -2.5])], &[ty(DType::F32, &[2])]).unwrap();
        assert_eq!(out[0].as_slice::<f32>(), [2.0, -1.5]);
    });
}

#[test]
fn attributes_of_every_kind() {
    each_version(|lib| {
        let int = |v: i64, d: DType| Attribute::Int(i128::from(v), IntKind::Typed(d));
        let attrs = dict([
            ("b", Attribute::Bool(true)),
            ("i8", int(-8, DType::S8)),
            ("i16", int(-1600, DType::S16)),
            ("i32", int(-320_000, DType::S32)),
            ("i64", int(-(1 << 40), DType::S64)),
            ("u8", int(200, DType::U8)),
            ("u16", int(60_000, DType::U16)),
            ("u32", int(4_000_000_000, DType::U32)),
            ("u64", int(1 << 50, DType::U64)),
            ("f32", Attribute::float(0.25, DType::F32)),
            ("f64", Attribute::float(-1e-3, DType::F64)),
            ("s", Attribute::string("four")),
            ("af32", Attribute::Dense(Literal::from_slice(DType::F32, [3], &[0.5f32, 1.5, -3.0]))),
            ("ai64", Attribute::i64_array(&[1, -2, 1 << 40])),
            ("d", Attribute::Dict(dict([("name", Attribute::string("xyz")), ("k", Attribute::i64(7))]))),
        ]);
        let out = lib.run("zoo", attrs, &[], &[ty(DType::F64, &[16])]).unwrap();
        let (two40, two50) = ((1i64 << 40) as f64, (1i64 << 50) as f64);
        assert_eq!(
            out[0].as_slice::<f64>(),
            [
                1.0,
                -8.0,
                -1600.0,
                -320_000.0,
                -two40,
                200.0,
                60_000.0,
                4e9,
                two50,
                0.25,
                -1e-3,
                4.0,
                -1.0,
                two40 - 1.0,
                7.0,
                3.0
            ]
        );
    });
}

#[test]
fn errors_keep_code_and_words() {
    each_version(|lib| {
        for code in 1..=16 {
            let attrs = dict([
                ("code", Attribute::Int(code, IntKind::Typed(DType::S32))),
                ("message", Attribute::string("because")),
            ]);
            let e = lib.run("fail", attrs, &[], &[]).unwrap_err();
            assert_eq!((i128::from(e.code.0), e.message.as_str()), (code, "because"));
        }
        let e = lib.run("add_one", dict([]), &[], &[ty(DType::F32, &[1])]).unwrap_err();
        expect!["custom call `add_one` at p.mlir:3:8 failed in its execute stage: INVALID_ARGUMENT: Wrong number of arguments: expected 1 but got 0"]
            .assert_eq(&e.to_string().replace("[execute] ", ""));
        let e = lib.run("stream", dict([]), &[], &[]).unwrap_err();
        assert!(e.message.contains("the platform Host has no streams"), "{e}");
        let e = lib.run("too_much_scratch", dict([]), &[], &[]).unwrap_err();
        assert_eq!((e.code, e.message.as_str()), (ErrorCode::RESOURCE_EXHAUSTED, "that was too much"));
    });
}

#[test]
fn state_lives_as_long_as_its_call_site() {
    each_version(|lib| {
        let live = || lib.call_int("LiveStates");
        let before = live();
        let site =
            lib.site("counter", dict([("start", Attribute::i64(40))]), &[], &[ty(DType::S64, &[])]).unwrap();
        let other =
            lib.site("counter", dict([("start", Attribute::i64(0))]), &[], &[ty(DType::S64, &[])]).unwrap();
        assert_eq!(live(), before + 2);
        let mut frames = [CallFrame::new(&site), CallFrame::new(&site)];
        let got: Vec<i64> = (0..4).map(|i| int_of(&mut frames[i % 2])).collect();
        assert_eq!(got, [40, 41, 42, 43]);
        drop((other, frames));
        assert_eq!(live(), before + 1);
        drop(site);
        assert_eq!(live(), before);
        let e = lib
            .site("counter", dict([("start", Attribute::i64(-1))]), &[], &[ty(DType::S64, &[])])
            .unwrap_err();
        expect!["custom call `counter` at p.mlir:3:8 failed in its instantiate stage: INVALID_ARGUMENT: start is negative"]
            .assert_eq(&e.to_string());
    });
}

#[test]
fn tasks_of_tasks_on_a_pool_of_one() {
    each_version(|lib| {
        let site = lib
            .site("pool", dict([]), &[ty(DType::F32, &[9])], &[ty(DType::F32, &[9]), ty(DType::S64, &[])])
            .unwrap();
        let run = RunContext::new().with_pool(Arc::new(ThreadPool::new(1)));
        let x: Vec<f32> = (0..9u8).map(f32::from).collect();
        for _ in 0..20 {
            let out = execute(&mut CallFrame::new(&site), &[f32s(&x)], &run).unwrap();
            let doubled: Vec<f32> = x.iter().map(|x| 2.0 * x).collect();
            assert_eq!(out[0].as_slice::<f32>(), doubled);
            assert_eq!(out[1].as_slice::<i64>(), [1]);
        }
    });
}

#[test]
fn scratch_memory() {
    alone("host_ffi::scratch_memory", || {
        each_version(|lib| {
            let out = lib.run("scratch", dict([]), &[], &[ty(DType::S64, &[])]).unwrap();
            assert_eq!(out[0].as_slice::<i64>(), [1]);
            // Memory that a handler does not free is freed after each call; otherwise this would leak 10 GB.
            let site = lib.site("forgetful", dict([]), &[], &[]).unwrap();
            let mut frame = CallFrame::new(&site);
            let run = RunContext::new();
            for _ in 0..10_000 {
                execute(&mut frame, &[], &run).unwrap();
            }
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let peak = status.lines().find_map(|l| l.strip_prefix("VmPeak:")).unwrap();
            let kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
            assert!(kib < 8 << 20, "the address space has grown to {kib} KiB");
        });
    });
}

#[test]
fn calls_that_complete_later() {
    each_version(|lib| {
        let attrs = |fail: bool| dict([("fail", Attribute::Bool(fail))]);
        let out = lib.run("later", attrs(false), &[f32s(&[3.0])], &[ty(DType::F32, &[1])]).unwrap();
        assert_eq!(out[0].as_slice::<f32>(), [3.0]);
        let e = lib.run("later", attrs(true), &[f32s(&[3.0])], &[ty(DType::F32, &[1])]).unwrap_err();
        assert_eq!((e.code, e.message.as_str()), (ErrorCode::DATA_LOSS, "lost it"));

        // Between launch and completion, other work can proceed.
        let site = lib.site("later", attrs(false), &[ty(DType::F32, &[1])], &[ty(DType::F32, &[1])]).unwrap();
        let mut frame = CallFrame::new(&site);
        let (mut x, mut y) = (5f32, 0f32);
        frame.set_operand(0, (&raw mut x).cast());
        frame.set_result(0, (&raw mut y).cast());
        let run = RunContext::new();
        // SAFETY: both pointers are valid for one element until the call is complete.
        let pending = unsafe { frame.launch(&run) }.unwrap().expect("the call is not complete yet");
        assert!(!pending.is_complete());
        pending.wait().unwrap();
        assert_eq!(y, 5.0);
    });
}

#[test]
fn a_handler_knows_where_it_is() {
    each_version(|lib| {
        let site = lib.site("where", dict([]), &[], &[ty(DType::S64, &[2])]).unwrap();
        let mut run = RunContext::new().with_device_ordinal(3);
        run.set_run_id(77);
        let out = execute(&mut CallFrame::new(&site), &[], &run).unwrap();
        assert_eq!(out[0].as_slice::<i64>(), [77, 3]);
    });
}

#[test]
fn user_data_of_the_run() {
    each_version(|lib| {
        let site = lib.site("user_data", dict([]), &[], &[ty(DType::S64, &[])]).unwrap();
        let mut run = RunContext::new();
        let e = execute(&mut CallFrame::new(&site), &[], &run).unwrap_err();
        assert!(e.message.contains("the run has no user data of `state of user_data`"), "{e}");
        let mut value = 123i64;
        // SAFETY: the symbol is a function that returns the type's id.
        let id = unsafe {
            let function: extern "C" fn() -> *const TypeId =
                std::mem::transmute(lib.symbol("EmbedderTypeId"));
            *function()
        };
        // SAFETY: the value outlives the run.
        unsafe { run.set_user_data(id, (&raw mut value).cast()) };
        let out = execute(&mut CallFrame::new(&site), &[], &run).unwrap();
        assert_eq!(out[0].as_slice::<i64>(), [123]);
    });
}

#[test]
fn tokens_and_tuples_are_buffers() {
    each_version(|lib| {
        let x = ty(DType::F32, &[2]);
        let site = lib.site("token_in", dict([]), &[Type::Token, x.clone()], &[Type::Token]).unwrap();
        assert_eq!(site.operands().len(), 2);
        assert!(site.operands()[0].is_token() && site.results()[0].is_token());
        execute(&mut CallFrame::new(&site), &[f32s(&[]), f32s(&[1.0, 2.0])], &RunContext::new()).unwrap();

        let tuple = Type::Tuple([x, Type::Tuple([ty(DType::S8, &[3])].into())].into());
        let site =
            lib.site("sizes", dict([]), &[tuple, ty(DType::F64, &[])], &[ty(DType::S64, &[3])]).unwrap();
        let inputs = [f32s(&[0.0; 2]), Literal::zeros(DType::S8, [3]), Literal::zeros(DType::F64, [])];
        let out = execute(&mut CallFrame::new(&site), &inputs, &RunContext::new()).unwrap();
        assert_eq!(out[0].as_slice::<i64>(), [8, 3, 8]);
    });
}

#[test]
fn stages_of_a_run_hand_on_their_state() {
    each_version(|lib| {
        if lib.minor < 3 {
            return;
        }
        let spec = "stages=prepare:Prepare,initialize:Initialize,execute:Stages";
        load(&lib.registry, &lib.path, &[spec.parse().unwrap()]).unwrap();
        let site = lib.site("stages", dict([]), &[], &[ty(DType::S64, &[])]).unwrap();
        assert!(site.has_run_stages());
        let live = || lib.call_int("LiveStates");
        let before = live();
        let mut frame = CallFrame::new(&site);
        let run = RunContext::new();
        for _ in 0..2 {
            let mut out = 0i64;
            let out = [(&raw mut out).cast()];
            // SAFETY: the result is one `i64`.
            unsafe {
                frame.prepare(&[], &out, &run).unwrap();
                frame.initialize(&[], &out, &run).unwrap();
            }
            assert_eq!((int_of(&mut frame), int_of(&mut frame)), (15, 16));
            assert_eq!(live(), before + 2);
        }
        drop(frame);
        assert_eq!(live(), before);
    });
}

#[test]
fn the_untyped_api() {
    each_version(|lib| {
        let f = ty(DType::F32, &[]);
        let scalar = |x: f32| Literal::from_slice(DType::F32, [], &[x]);
        let call = CustomCall::new("old_add");
        let out = lib.run_call(&call, &[scalar(2.0), scalar(3.0)], std::slice::from_ref(&f)).unwrap();
        assert_eq!(out[0].as_slice::<f32>(), [5.0]);
        let call = CustomCall::new("old_swap");
        let out = lib.run_call(&call, &[scalar(2.0), scalar(3.0)], &[f.clone(), f]).unwrap();
        assert_eq!((out[0].as_slice::<f32>(), out[1].as_slice::<f32>()), (&[3f32][..], &[2f32][..]));
    });
}

#[test]
fn the_untyped_api_with_text_and_status() {
    let Some(path) = self_registering() else { return };
    let registry = Registry::new();
    load(&registry, &path, &["unified=untyped:OldUnified".parse().unwrap()]).unwrap();
    let lib = Lib { registry, path, minor: 0, report: Vec::new() };
    let call = |text: &str| CustomCall {
        api_version: Some(3),
        config: CallConfig::Text(text.as_bytes().into()),
        ..CustomCall::new("unified")
    };
    let out = lib.run_call(&call("\x01\x02"), &[], &[ty(DType::F32, &[])]).unwrap();
    assert_eq!(out[0].as_slice::<f32>(), [3.0]);
    let e = lib.run_call(&call("too long"), &[], &[ty(DType::F32, &[])]).unwrap_err();
    assert_eq!((e.code, e.message.as_str()), (ErrorCode::INTERNAL, "too long"));
}

#[test]
fn a_library_registers_itself_in_every_registry_that_loads_it() {
    let Some(path) = self_registering() else { return };
    let describe = |registry: &Registry| -> Vec<String> {
        let about = |t: &farcall::registry::Target| {
            format!("{} {} {:?} {:?}", t.name(), t.platform(), t.trait_names(), t.stages())
        };
        registry.targets().iter().map(|t| about(t)).collect()
    };
    let first = Registry::new();
    load(&first, &path, &[]).unwrap();
    expect![[r#"
        add_one Host ["command-buffer-compatible"] [EXECUTE]
        add_one CUDA ["command-buffer-compatible"] [EXECUTE]
        counter Host [] [INSTANTIATE, EXECUTE]
        traited Host ["command-buffer-compatible"] [EXECUTE]"#]]
    .assert_eq(&describe(&first).join("\n"));
    let second = Registry::new();
    load(&second, &path, &[]).unwrap();
    assert_eq!(describe(&first), describe(&second));
    load(&first, &path, &[]).unwrap();
    assert!(Registry::global().get("traited", &Platform::Host, ApiKind::Typed).is_none());
    let counter = first.lookup("counter", &Platform::Host).unwrap();
    assert!(counter.state_type().unwrap().type_id > 1 << 32);
    assert!(counter.origin().to_string().ends_with(".so (registered itself)"), "{}", counter.origin());
}

#[test]
fn a_bundle_with_a_record_stage_is_taken_and_executed() {
    for (path, minor) in xla_cc("records", &["-DRECORDS"], usize::MAX) {
        if minor < 5 {
            continue;
        }
        let registry = Registry::new();
        let report = load(&registry, &path, &[]).unwrap();
        let target = &report.targets[0];
        assert_eq!(
            format!("{} {:?} {:?}", target.name(), target.stages(), target.trait_names()),
            r#"recorded [EXECUTE, RECORD] ["command-buffer-compatible"]"#
        );
        let lib = Lib { registry, path, minor, report: Vec::new() };
        let out = lib.run("recorded", dict([]), &[f32s(&[1.0])], &[ty(DType::F32, &[1])]).unwrap();
        assert_eq!(out[0].as_slice::<f32>(), [2.0]);
    }
}

#[test]
fn handlers_that_this_host_cannot_run_are_refused() {
    each_version(|lib| {
        let refused = |spec: &str| {
            let e = load(&Registry::new(), &lib.path, &[spec.parse().unwrap()]).unwrap_err();
            e.to_string().split_once(".so: ").unwrap().1.to_owned()
        };
        expect!["the execute handler of `f` was built for XLA FFI 0.77; this host supports 0.1 to 0.5"]
            .assert_eq(&refused("f=FromTheFuture"));
        expect!["the execute handler of `f` does not report its version: it returned without an answer; is the symbol an XLA FFI handler? A function of the older, untyped interface is registered with api_version=0"]
            .assert_eq(&refused("f=Silent"));
        let e = load(&Registry::new(), &lib.path, &["f=AddOn".parse().unwrap()]).unwrap_err();
        assert!(
            e.to_string()
                .ends_with("has no symbol `AddOn` (for the execute stage of target `f`); it has AddOne"),
            "{e}"
        );
    });
}

#[test]
fn a_state_type_must_be_known_first() {
    let Some((path, _)) = xla_cc("untyped_state", &[], 1).into_iter().next() else { return };
    let registry = Registry::new();
    let spec: TargetSpec = "counter=instantiate:CounterNew,execute:CounterRun".parse().unwrap();
    let e = load(&registry, &path, std::slice::from_ref(&spec)).unwrap_err().to_string();
    assert!(
        e.contains("the instantiate handler of `counter` does not report its version: Types used"),
        "{e}"
    );
    assert!(e.contains("type:ID_SYMBOL/INFO_SYMBOL"), "{e}");
}

#[test]
fn failed_registrations_of_a_library_are_reported() {
    let Some((path, _)) = xla_cc("refused", &["-DREFUSED"], 1).into_iter().next() else { return };
    let e = load(&Registry::new(), &path, &[]).unwrap_err();
    assert!(matches!(&e, LoadError::Refused { errors, .. } if errors.len() == 1), "{e}");
    assert!(e.to_string().contains("`from_the_future` was built for XLA FFI 0.77"), "{e}");
}

#[test]
fn a_name_that_is_taken_is_a_question_of_the_registry() {
    let Some((path, _)) = xla_cc("taken", &["-DSELF_REGISTER"], 1).into_iter().next() else { return };
    let Some(other) = self_registering() else { return };
    let registry = Registry::new();
    load(&registry, &other, &[]).unwrap();
    let e = load(&registry, &path, &[]).unwrap_err().to_string();
    assert!(e.contains("add_one") && e.contains(" are registered already, by /"), "{e}");
    assert_eq!(load(&Registry::new(), &path, &[]).unwrap().targets.len(), 4);
}

#[test]
fn concurrent_runs_have_a_frame_each() {
    each_version(|lib| {
        let site = lib.site("add_one", dict([]), &[ty(DType::F32, &[64])], &[ty(DType::F32, &[64])]).unwrap();
        std::thread::scope(|scope| {
            for t in 0..4u8 {
                let site = &site;
                scope.spawn(move || {
                    let mut frame = CallFrame::new(site);
                    let run = RunContext::new();
                    for _ in 0..1000 {
                        let out = execute(&mut frame, &[f32s(&[f32::from(t); 64])], &run).unwrap();
                        assert_eq!(out[0].as_slice::<f32>(), [f32::from(t) + 1.0; 64]);
                    }
                });
            }
        });
    });
}

// ---- Helpers ---------------------------------------------------------------------------------

/// `handlers.cc`, compiled with one version of the headers, and a registry with its plain symbols.
struct Lib {
    registry: Registry,
    path: PathBuf,
    minor: i32,
    report: Vec<String>,
}

impl Lib {
    fn site(
        &self,
        name: &str,
        attrs: AttrDict,
        operands: &[Type],
        results: &[Type],
    ) -> Result<Arc<CallSite>, CallError> {
        let call = CustomCall { config: CallConfig::Dict(attrs), ..CustomCall::new(name) };
        self.site_of(&call, operands, results)
    }

    fn site_of(
        &self,
        call: &CustomCall,
        operands: &[Type],
        results: &[Type],
    ) -> Result<Arc<CallSite>, CallError> {
        let target = self.registry.resolve(call, &Platform::Host).unwrap();
        CallSite::new(target, call, operands, results, "p.mlir:3:8").map(Arc::new)
    }

    fn run(
        &self,
        name: &str,
        attrs: AttrDict,
        inputs: &[Literal],
        results: &[Type],
    ) -> Result<Vec<Literal>, CallError> {
        let call = CustomCall { config: CallConfig::Dict(attrs), ..CustomCall::new(name) };
        self.run_call(&call, inputs, results)
    }

    fn run_call(
        &self,
        call: &CustomCall,
        inputs: &[Literal],
        results: &[Type],
    ) -> Result<Vec<Literal>, CallError> {
        let operands: Vec<Type> = inputs.iter().map(|l| l.ty().into()).collect();
        let site = self.site_of(call, &operands, results)?;
        execute(&mut CallFrame::new(&site), inputs, &RunContext::new())
    }

    fn symbol(&self, name: &str) -> *mut c_void {
        let path = std::ffi::CString::new(self.path.to_str().unwrap()).unwrap();
        let name = std::ffi::CString::new(name).unwrap();
        // SAFETY: the library is already open; this call only finds it.
        let symbol = unsafe { libc::dlsym(libc::dlopen(path.as_ptr(), libc::RTLD_NOW), name.as_ptr()) };
        assert!(!symbol.is_null());
        symbol
    }

    fn call_int(&self, name: &str) -> i32 {
        // SAFETY: the symbol is a function of this type.
        let function: extern "C" fn() -> i32 = unsafe { std::mem::transmute(self.symbol(name)) };
        function()
    }
}

/// Calls a frame's handler on literals.
fn execute(frame: &mut CallFrame, inputs: &[Literal], run: &RunContext) -> Result<Vec<Literal>, CallError> {
    let mut inputs = inputs.to_vec();
    let mut outputs: Vec<Literal> = Vec::new();
    for leaf in frame.site().results() {
        let dims: Vec<usize> = leaf.dims.iter().map(|d| usize::try_from(*d).unwrap()).collect();
        outputs.push(Literal::zeros(leaf.dtype.dtype().unwrap_or(DType::U8), dims));
    }
    let pointers =
        |l: &mut [Literal]| -> Vec<*mut u8> { l.iter_mut().map(|l| l.bytes_mut().as_mut_ptr()).collect() };
    let (ins, outs) = (pointers(&mut inputs), pointers(&mut outputs));
    // SAFETY: the literals have the types of the call, so the handler stays within their memory.
    unsafe { frame.execute(&ins, &outs, run) }?;
    Ok(outputs)
}

fn int_of(frame: &mut CallFrame) -> i64 {
    execute(frame, &[], &RunContext::new()).unwrap()[0].as_slice::<i64>()[0]
}

fn dict<const N: usize>(entries: [(&str, Attribute); N]) -> AttrDict {
    entries.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

fn f32s(values: &[f32]) -> Literal {
    Literal::from_slice(DType::F32, [values.len()], values)
}

fn ty(dtype: DType, dims: &[usize]) -> Type {
    TensorType::new(dtype, dims).into()
}

/// Runs a test for each version of the headers.
fn each_version(test: impl Fn(&Lib)) {
    static LIBS: LazyLock<Vec<(PathBuf, i32)>> = LazyLock::new(|| xla_cc("plain", &[], usize::MAX));
    for (path, minor) in LIBS.iter() {
        println!("XLA FFI 0.{minor}");
        let registry = Registry::new();
        let specs: Vec<TargetSpec> = SPECS.iter().map(|s| s.parse().unwrap()).collect();
        let report = load(&registry, path, &specs).unwrap();
        let names = report.targets.iter().map(|t| t.name().to_owned()).collect();
        test(&Lib { registry, path: path.clone(), minor: *minor, report: names });
    }
}

/// Returns the path of `handlers.cc`, compiled as a library that registers itself, with the first version of
/// the headers.
fn self_registering() -> Option<PathBuf> {
    static LIB: LazyLock<Vec<(PathBuf, i32)>> = LazyLock::new(|| xla_cc("self", &["-DSELF_REGISTER"], 1));
    LIB.first().map(|(path, _)| path.clone())
}
