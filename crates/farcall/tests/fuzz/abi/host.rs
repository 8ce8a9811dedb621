//! Malformed calls of the host's functions, inside and outside of a handler.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use farcall::Registry;
use farcall::custom_call::{CallFrame, CallSite, RunContext, ThreadPool, host_api};
use farcall::ir::AttrDict;
use farcall::ir::op::{CallConfig, CustomCall};
use farcall::registry::{Platform, Target, TargetOrigin};
use farcall_ffi::abi::{self, *};
use farcall_testing::SplitMix;

/// Number of calls per handler.
const BATCH: usize = 100;

/// Calls functions of the host. Returns statistics as text.
pub(crate) fn run(random: &mut SplitMix, iterations: usize) -> String {
    let bundle = HandlerBundle {
        instantiate: Some(handler),
        prepare: Some(handler),
        initialize: Some(handler),
        execute: Some(handler),
        record: None,
    };
    // SAFETY: the bundle's handlers are functions of this program.
    let target =
        unsafe { Target::typed("fuzz", Platform::Host, bundle, 0, TargetOrigin::program()) }.unwrap();
    let target = Arc::new(target);
    let call = CustomCall { config: CallConfig::Dict(AttrDict::new()), ..CustomCall::new("fuzz") };
    let run = RunContext::new().with_pool(Arc::new(ThreadPool::new(1)));
    SESSION.with_borrow_mut(|s| *s = Session::new(random.next(), iterations));
    let left = || SESSION.with_borrow(|s| s.left) > 0;
    let mut failed = 0;
    while left() {
        let Ok(site) = CallSite::new(Arc::clone(&target), &call, &[], &[], "") else {
            failed += 1;
            continue;
        };
        let mut frame = CallFrame::new(&Arc::new(site));
        for _ in 0..4 {
            // SAFETY: the call has no buffers.
            let outcomes = unsafe {
                [
                    frame.prepare(&[], &[], &run),
                    frame.initialize(&[], &[], &run),
                    frame.execute(&[], &[], &run),
                ]
            };
            failed += outcomes.iter().filter(|o| o.is_err()).count();
        }
        // Calls without a context, outside of all handlers.
        SESSION.with_borrow_mut(|s| s.batch(null_mut()));
    }
    let Session { errors, fine, .. } = SESSION.take();
    drop(errors);
    let registered = Registry::global().targets().len();
    assert!(fine > iterations / 50, "only {fine} calls succeeded, too few to test the host");
    format!("{fine} calls of the host succeeded; {failed} custom calls failed; {registered} targets exist")
}

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
}

/// Handler that calls the host's functions, and returns an arbitrary result.
unsafe extern "C" fn handler(frame: *mut abi::CallFrame) -> *mut Error {
    // SAFETY: the host calls handlers with a valid frame.
    let frame = unsafe { &mut *frame };
    if !frame.extension_start.is_null() {
        // SAFETY: the only extension that this host adds asks for the metadata.
        return unsafe { answer(frame) };
    }
    SESSION.with_borrow_mut(|s| {
        s.batch(frame.ctx);
        let r = &mut s.random;
        match r.below(12) {
            0 => return s.error(),
            1 => return std::ptr::without_provenance_mut(r.number() as usize),
            2 => frame.future = std::ptr::without_provenance_mut(r.number() as usize & !0xf | 8),
            3 => frame.future = s.completed_future(),
            4 => {
                frame.future = s.completed_future();
                return s.error();
            }
            _ => {}
        }
        null_mut()
    })
}

/// Answers a query for the metadata.
///
/// # Safety
/// The frame's extension must be such a query.
unsafe fn answer(frame: &abi::CallFrame) -> *mut Error {
    // SAFETY: the caller guarantees that the extension asks for the metadata.
    unsafe {
        (*(*frame.extension_start.cast::<MetadataExtension>()).metadata).api_version = ApiVersion::new(0, 5);
    }
    null_mut()
}

/// A handler with valid metadata.
unsafe extern "C" fn proper(frame: *mut abi::CallFrame) -> *mut Error {
    // SAFETY: the host only asks this handler for its metadata.
    unsafe { answer(&*frame) }
}

/// Handlers with missing or invalid metadata.
unsafe extern "C" fn silent(_: *mut abi::CallFrame) -> *mut Error {
    null_mut()
}

unsafe extern "C" fn stray(_: *mut abi::CallFrame) -> *mut Error {
    std::ptr::without_provenance_mut(0x1238)
}

unsafe extern "C" fn wild(frame: *mut abi::CallFrame) -> *mut Error {
    // SAFETY: the host only asks this handler for its metadata.
    unsafe {
        let extension = (*frame).extension_start.cast::<MetadataExtension>();
        let metadata = &mut *(*extension).metadata;
        metadata.api_version = ApiVersion::new(i32::MIN, i32::MAX);
        metadata.traits = u32::MAX;
        metadata.state_type_id = TypeId { type_id: -1 };
        metadata.struct_size = usize::MAX;
        (*frame).future = std::ptr::without_provenance_mut(24);
    }
    null_mut()
}

unsafe extern "C" fn odd(frame: *mut abi::CallFrame) -> *mut Error {
    // SAFETY: the host only asks this handler for its metadata.
    unsafe {
        let extension = (*frame).extension_start.cast::<MetadataExtension>();
        (*(*extension).metadata).traits = 0xffff_0000;
        (*(*extension).metadata).state_type_id = TypeId { type_id: i64::MIN };
        answer(&*frame)
    }
}

unsafe extern "C" fn task(_: *mut c_void) {}
unsafe extern "C" fn forget(_: *mut c_void) {}

/// Objects that a handler can use in calls.
#[derive(Default)]
struct Session {
    random: SplitMix,
    left: usize,
    fine: usize,
    errors: Vec<*mut Error>,
    futures: Vec<*mut Future>,
    scratch: Vec<*mut c_void>,
    /// Memory of another type.
    other: Box<[u64]>,
    id: TypeId8,
}

/// Memory for a type id, with room for an id at a misaligned address.
#[derive(Default)]
#[repr(C, align(8))]
struct TypeId8 {
    id: i64,
    _after: i64,
}

/// Calls a function of the host with these members; `struct_size` and `extension_start` are random. Returns
/// the error and the arguments.
macro_rules! call {
    ($session:ident, $function:ident, $args:ident { $($field:ident: $value:expr),* $(,)? }) => {
        call!($session, $function, $args { $($field: $value),* } as _)
    };
    ($session:ident, $function:ident, $args:ident { $($field:ident: $value:expr),* } as $cast:ty) => {{
        let mut args = (
            $args {
                struct_size: told_apart($session.random.struct_size($args::STRUCT_SIZE), $args::STRUCT_SIZE),
                extension_start: $session.random.pick(&[null_mut(), $session.other.as_mut_ptr().cast()]),
                $($field: $value),*
            },
            // Memory after the arguments, which is read through misaligned pointers.
            [0u64; 2],
        );
        let at = &raw mut args.0;
        let at = if $session.random.one_in(8) { $session.random.pointer(at) } else { at };
        // SAFETY: the pointer is null, misaligned, or to arguments of this type.
        let error = unsafe { api().$function.unwrap()(at.cast::<$cast>()) };
        (error, args.0)
    }};
}

/// Returns `size`, or a nearby size if `size` would mark the arguments as structs of another version. That
/// version has pointers at other offsets, and the host cannot protect itself against a caller that states a
/// wrong version.
fn told_apart(size: usize, right: usize) -> usize {
    const { assert!(StateSetArgs::STRUCT_SIZE == StateGetArgs::STRUCT_SIZE) };
    let old = StateSetArgsV2::STRUCT_SIZE..StateSetArgs::STRUCT_SIZE;
    match right {
        StateSetArgs::STRUCT_SIZE if old.contains(&size) => old.start - 1,
        StateSetArgsV2::STRUCT_SIZE if size >= old.end => old.start,
        _ => size,
    }
}

fn api() -> &'static Api {
    // SAFETY: the table is static.
    unsafe { &*host_api() }
}

impl Session {
    fn new(seed: u64, left: usize) -> Session {
        Session { random: SplitMix::new(seed), left, other: vec![0; 256].into(), ..Session::default() }
    }

    /// Calls functions of the host, with the context of a handler or without a context.
    fn batch(&mut self, ctx: *mut InvokeContext) {
        for _ in 0..BATCH.min(self.left) {
            self.left -= 1;
            let error = self.step(ctx);
            if error.is_null() {
                self.fine += 1;
            } else {
                self.keep(error);
            }
        }
        self.scratch.clear();
    }

    /// Keeps an error for later use, and destroys an old one.
    fn keep(&mut self, error: *mut Error) {
        self.errors.push(error);
        if self.errors.len() > 8 {
            let i = self.random.below(8);
            let mut args = ErrorDestroyArgs {
                struct_size: ErrorDestroyArgs::STRUCT_SIZE,
                extension_start: null_mut(),
                error: self.errors.swap_remove(i),
            };
            // SAFETY: the arguments are complete.
            unsafe { api().error_destroy.unwrap()(&raw mut args) };
        }
    }

    fn step(&mut self, ctx: *mut InvokeContext) -> *mut Error {
        let s = self;
        let ctx = s.context(ctx);
        match s.random.below(20) {
            0 => {
                let message =
                    s.random.pick(&[c"so".as_ptr(), c"".as_ptr(), std::ptr::null(), c"\xff\xfe".as_ptr()]);
                let errc = ErrorCode(s.random.number() as u32);
                let (error, _) = call!(s, error_create, ErrorCreateArgs { message: message, errc: errc });
                assert!(!error.is_null());
                error
            }
            1 if s.random.one_in(2) => {
                let error = s.error();
                call!(
                    s,
                    error_get_details,
                    ErrorGetMessageArgs { error: error, message: std::ptr::null() } as ErrorGetDetailsArgs
                );
                null_mut()
            }
            1 => {
                let (error, errc) = (s.error(), ErrorCode::OK);
                call!(
                    s,
                    error_get_details,
                    ErrorGetDetailsArgs { error: error, message: std::ptr::null(), errc: errc }
                );
                null_mut()
            }
            2 => {
                let error = s.error();
                call!(s, error_destroy, ErrorDestroyArgs { error: error });
                null_mut()
            }
            3 => s.register_handler(),
            4 => s.register_type(),
            5 => call!(s, stream_get, StreamGetArgs { ctx: ctx, stream: null_mut() }).0,
            6 => {
                let type_id = s.type_id();
                call!(
                    s,
                    invoke_context_get,
                    InvokeContextGetArgs { ctx: ctx, type_id: type_id, data: null_mut() }
                )
                .0
            }
            7 => {
                let (type_id, state) = (s.type_id(), s.other.as_mut_ptr().cast());
                if s.random.one_in(3) {
                    return call!(
                        s,
                        state_set,
                        StateSetArgsV2 { ctx: ctx, type_id: type_id, state: state } as StateSetArgs
                    )
                    .0;
                }
                let stage = s.stage();
                call!(s, state_set, StateSetArgs { ctx: ctx, stage: stage, type_id: type_id, state: state }).0
            }
            8 => {
                let type_id = s.type_id();
                if s.random.one_in(3) {
                    return call!(
                        s,
                        state_get,
                        StateGetArgsV2 { ctx: ctx, type_id: type_id, state: null_mut() } as StateGetArgs
                    )
                    .0;
                }
                let stage = s.stage();
                call!(
                    s,
                    state_get,
                    StateGetArgs { ctx: ctx, stage: stage, type_id: type_id, state: null_mut() }
                )
                .0
            }
            9 => {
                let (size, alignment) = s.allocation();
                let (error, args) = call!(
                    s,
                    device_memory_allocate,
                    DeviceMemoryAllocateArgs { ctx: ctx, size: size, alignment: alignment, data: null_mut() }
                );
                if !args.data.is_null() {
                    // SAFETY: scratch memory has at least one byte.
                    unsafe { args.data.cast::<u8>().write(1) };
                    s.scratch.push(args.data);
                }
                error
            }
            10 => {
                let data = match s.scratch.len() {
                    n if n > 0 && !s.random.one_in(4) => s.scratch[s.random.below(n)],
                    _ => std::ptr::without_provenance_mut(s.random.number() as usize),
                };
                let size = s.random.number() as usize;
                call!(s, device_memory_free, DeviceMemoryFreeArgs { ctx: ctx, size: size, data: data }).0
            }
            11 => {
                let work: Option<Task> = s.random.pick(&[None, Some(task)]);
                call!(
                    s,
                    thread_pool_schedule,
                    ThreadPoolScheduleArgs { ctx: ctx, task: work, data: null_mut() }
                )
                .0
            }
            12 => {
                let at = s.other.as_mut_ptr().cast::<i64>();
                let num_threads = s.random.pointer(at);
                let (error, _) = call!(
                    s,
                    thread_pool_num_threads,
                    ThreadPoolNumThreadsArgs { ctx: ctx, num_threads: num_threads }
                );
                s.other[..2].fill(0);
                error
            }
            13 if s.random.one_in(20) => {
                let (error, args) = call!(s, future_create, FutureCreateArgs { future: null_mut() });
                if error.is_null() {
                    s.futures.push(args.future);
                }
                error
            }
            13 | 14 => {
                let future = s.future();
                call!(s, future_set_available, FutureSetAvailableArgs { future: future }).0
            }
            15 => {
                let (future, error) = (s.future(), s.error());
                call!(s, future_set_error, FutureSetErrorArgs { future: future, error: error }).0
            }
            16 => call!(s, run_id_get, RunIdGetArgs { ctx: ctx, run_id: 0 }).0,
            17 => call!(s, device_ordinal_get, DeviceOrdinalGetArgs { ctx: ctx, device_ordinal: 0 }).0,
            18 => {
                let extension_type = s.random.number() as i64;
                call!(
                    s,
                    invoke_context_find_extension,
                    InvokeContextFindExtensionArgs {
                        ctx: ctx,
                        extension_type: extension_type,
                        extension: std::ptr::null()
                    }
                )
                .0
            }
            _ => call!(s, custom_options_get, CustomOptionsGetArgs { ctx: ctx, attrs: std::ptr::null() }).0,
        }
    }

    fn register_handler(&mut self) -> *mut Error {
        let s = self;
        let (name, platform) = (s.span(), s.span());
        let mut one = || {
            let all: [Option<HandlerFn>; 8] =
                [None, None, None, Some(proper), Some(silent), Some(stray), Some(wild), Some(odd)];
            s.random.pick(&all)
        };
        let (instantiate, prepare, initialize, execute, record) = (one(), one(), one(), one(), one());
        let traits = s.random.number() as u32;
        if s.random.one_in(2) {
            let bundle = HandlerBundleV4 { instantiate, prepare, initialize, execute };
            let args = call!(
                s,
                handler_register,
                HandlerRegisterArgsV4 { name: name, platform: platform, bundle: bundle, traits: traits }
                    as HandlerRegisterArgs
            );
            return args.0;
        }
        let bundle = HandlerBundle { instantiate, prepare, initialize, execute, record };
        call!(
            s,
            handler_register,
            HandlerRegisterArgs { name: name, platform: platform, bundle: bundle, traits: traits }
        )
        .0
    }

    fn register_type(&mut self) -> *mut Error {
        let s = self;
        let (name, type_id) = (s.span(), s.type_id());
        let mut info = (
            TypeInfo {
                struct_size: s.random.struct_size(TypeInfo::STRUCT_SIZE),
                extension_start: null_mut(),
                deleter: s.random.pick(&[None, Some(forget as unsafe extern "C" fn(*mut c_void))]),
            },
            0u64,
        );
        let at = s.random.pointer(&raw mut info.0).cast_const();
        call!(s, type_register, TypeRegisterArgs { name: name, type_id: type_id, type_info: at }).0
    }

    fn context(&mut self, ctx: *mut InvokeContext) -> *mut InvokeContext {
        match self.random.below(16) {
            0 => null_mut(),
            1 => ctx.wrapping_byte_add(1),
            2 => self.other.as_mut_ptr().cast(),
            _ => ctx,
        }
    }

    fn stage(&mut self) -> Stage {
        let right = self.random.below(5) as u32;
        Stage(self.random.enum_value(right))
    }

    fn type_id(&mut self) -> *mut TypeId {
        // Never the type of another test's states: the deleter of that type would treat a state of this test
        // as one of its own.
        let any = self.random.number() as i64;
        self.id.id = self.random.pick(&[0, 0, 1, 2, 3, -1, i64::MIN, 0x4643_0000_ffff_0000, any % 50]);
        let at = (&raw mut self.id).cast::<TypeId>();
        self.random.pointer(at)
    }

    fn span(&mut self) -> ByteSpan {
        let text: &[u8] = self.random.pick(&[
            &b"fuzz.a"[..],
            b"fuzz.b",
            b"fuzz.c",
            b"Host",
            b"cpu",
            b"CUDA",
            b"",
            b"\xff\xfe",
            b"a\0b",
            "größe".as_bytes(),
        ]);
        let len = match self.random.below(12) {
            // A length that exceeds any memory.
            0 => usize::MAX - self.random.below(100),
            1 => self.random.below(text.len() + 1),
            _ => text.len(),
        };
        match self.random.below(12) {
            0 => ByteSpan { ptr: std::ptr::null(), len },
            _ => ByteSpan { ptr: text.as_ptr().cast(), len },
        }
    }

    /// Returns an error of the host, which may be used again later, or an arbitrary pointer that is not
    /// aligned to 16 bytes.
    fn error(&mut self) -> *mut Error {
        match self.errors.len() {
            n if n > 0 && !self.random.one_in(4) => {
                let i = self.random.below(n);
                if self.random.one_in(2) { self.errors[i] } else { self.errors.swap_remove(i) }
            }
            _ => std::ptr::without_provenance_mut(self.random.number() as usize & !0xf | 8),
        }
    }

    fn future(&mut self) -> *mut Future {
        match self.futures.len() {
            n if n > 0 && !self.random.one_in(4) => self.futures[self.random.below(n)],
            _ => std::ptr::without_provenance_mut(self.random.number() as usize & !0xf | 8),
        }
    }

    /// Returns a future that is complete, so that its call does not wait.
    fn completed_future(&mut self) -> *mut Future {
        let s = self;
        let future = s.futures.pop().unwrap_or(null_mut());
        let mut args = FutureSetAvailableArgs {
            struct_size: FutureSetAvailableArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            future,
        };
        // SAFETY: the arguments are complete.
        let error = unsafe { api().future_set_available.unwrap()(&raw mut args) };
        if !error.is_null() {
            s.keep(error);
        }
        future
    }

    fn allocation(&mut self) -> (usize, usize) {
        let size = match self.random.below(4) {
            0 => usize::MAX - self.random.below(1 << 16),
            1 => (isize::MAX as usize) - self.random.below(1 << 16),
            _ => self.random.below(5000),
        };
        let alignment = match self.random.below(4) {
            0 => self.random.number() as usize,
            1 => 1 << self.random.below(64),
            _ => 1 << self.random.below(13),
        };
        (size, alignment)
    }
}
