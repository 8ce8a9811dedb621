//! Call frames for handlers written with `farcall-ffi`, and descriptors for the SDK's reader.
//!
//! Any pointer in these frames and descriptors may be null or misaligned.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::{addr_of_mut, null_mut};
use std::sync::Arc;

use farcall::custom_call::{CallFrame, CallSite, RunContext, ThreadPool, host_api};
use farcall::ir::AttrDict;
use farcall::ir::op::{CallConfig, CustomCall};
use farcall::registry::{Platform, Target, TargetOrigin};
use farcall_ffi::abi::{self, *};
use farcall_ffi::descriptor::{
    self, LibraryDescriptor, LibraryOp, OpDescriptor, ParamDescriptor, RawOpDescriptor,
};

use super::ops::{attributes, stateful, typed, variadic};
use farcall_testing::SplitMix;

/// Calls handlers. Returns statistics as text.
pub(crate) fn run(random: &mut SplitMix, iterations: usize) -> String {
    let bundle = HandlerBundle {
        instantiate: None,
        prepare: None,
        initialize: None,
        execute: Some(inside),
        record: None,
    };
    // SAFETY: the bundle's handler is a function of this program.
    let target =
        unsafe { Target::typed("fuzz", Platform::Host, bundle, 0, TargetOrigin::program()) }.unwrap();
    let call = CustomCall { config: CallConfig::Dict(AttrDict::new()), ..CustomCall::new("fuzz") };
    let site = Arc::new(CallSite::new(Arc::new(target), &call, &[], &[], "").unwrap());
    let mut frame = CallFrame::new(&site);
    let run = RunContext::new().with_pool(Arc::new(ThreadPool::new(1)));
    SESSION.set(Some(Session {
        random: SplitMix::new(random.next()),
        left: iterations,
        fine: 0,
        libraries: 0,
        tables: Tables::new(),
        frame: Box::new(Frame::new()),
    }));
    while SESSION.with_borrow(|s| s.as_ref().is_some_and(|s| s.left > 0)) {
        // SAFETY: the call has no buffers.
        unsafe { frame.execute(&[], &[], &run) }.unwrap();
    }
    let Session { fine, libraries, .. } = SESSION.take().expect("was set");
    assert!(fine > iterations / 50, "only {fine} calls succeeded, too few to test the handlers");
    format!("{fine} calls succeeded, {libraries} descriptors were read")
}

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

struct Session {
    random: SplitMix,
    left: usize,
    fine: usize,
    libraries: usize,
    tables: Tables,
    frame: Box<Frame>,
}

/// Handler that calls the handlers under test with the context of its own call.
unsafe extern "C" fn inside(frame: *mut abi::CallFrame) -> *mut Error {
    // SAFETY: the host calls handlers with a valid frame.
    let frame = unsafe { &mut *frame };
    if !frame.extension_start.is_null() {
        // SAFETY: the only extension that this host adds asks for the metadata.
        unsafe {
            let extension = frame.extension_start.cast::<MetadataExtension>();
            (*(*extension).metadata).api_version = ApiVersion::new(0, 5);
        }
        return null_mut();
    }
    let mut session = SESSION.take().expect("was set");
    for _ in 0..1000.min(session.left) {
        session.left -= 1;
        session.step(frame.ctx);
    }
    SESSION.set(Some(session));
    null_mut()
}

const OPS: &[&OpDescriptor] = farcall_ffi::ops![typed, variadic, attributes, stateful];

// ---- Frames --------------------------------------------------------------------------------------

/// Maximum number of operands, and maximum number of results.
const BUFFERS: usize = 6;
/// Maximum number of attributes.
const ATTRS: usize = 12;
/// Maximum size of a buffer or an array, in bytes.
const DATA: usize = 1 << 13;

/// A call frame, with memory for everything that it may point to.
struct Frame {
    frame: abi::CallFrame,
    _after: [u64; 2],
    ins: Side,
    outs: Side,
    attrs: Dictionary,
    inner: Dictionary,
    innermost: Dictionary,
    extension: MetadataExtension,
    other_extension: ExtensionBase,
    metadata: Metadata,
    _later: [u64; 4],
    data: Vec<u128>,
    other: [u64; 64],
}

/// Operands or results.
struct Side {
    kinds: [u32; BUFFERS + 2],
    pointers: [*mut c_void; BUFFERS + 2],
    buffers: [Buffer0; BUFFERS],
    dims: [[i64; 10]; BUFFERS],
}

/// A buffer, followed by memory that is read through misaligned pointers to the buffer.
struct Buffer0 {
    buffer: abi::Buffer,
    _after: u64,
}

struct Dictionary {
    this: abi::Attrs,
    _after: u64,
    kinds: [AttrType; ATTRS + 2],
    names: [*mut ByteSpan; ATTRS + 2],
    values: [*mut c_void; ATTRS + 2],
    name_spans: [(ByteSpan, u64); ATTRS],
    spans: [(ByteSpan, u64); ATTRS],
    scalars: [(Scalar, u64); ATTRS],
    arrays: [(Array, u64); ATTRS],
}

/// Type of an attribute of a valid frame.
#[derive(Clone, Copy)]
enum Good {
    Scalar(DataType),
    Array(DataType),
    Text,
    Dict,
}

/// Operands, results and attributes of a valid call.
type GoodCall = (&'static [(DataType, usize)], &'static [(DataType, usize)], &'static [(&'static str, Good)]);

const GOOD: [GoodCall; 4] = [
    (
        &[(DataType::F32, 2), (DataType::S64, 1)],
        &[(DataType::F32, 2)],
        &[("bias", Good::Scalar(DataType::S32)), ("by", Good::Scalar(DataType::F32))],
    ),
    (
        &[(DataType::U8, 1), (DataType::F64, 3), (DataType::C128, 2)],
        &[(DataType::S16, 2), (DataType::PRED, 1)],
        &[
            ("a", Good::Text),
            ("b", Good::Dict),
            ("c", Good::Array(DataType::F16)),
            ("d", Good::Scalar(DataType::BF16)),
        ],
    ),
    (
        &[(DataType::F32, 1)],
        &[(DataType::F32, 1)],
        &[
            ("array", Good::Array(DataType::S64)),
            ("bytes", Good::Text),
            ("dict", Good::Dict),
            ("flag", Good::Scalar(DataType::PRED)),
            ("flags", Good::Array(DataType::PRED)),
            ("maybe", Good::Text),
            ("name", Good::Text),
            ("wide", Good::Scalar(DataType::C128)),
        ],
    ),
    (&[], &[(DataType::S64, 0)], &[("start", Good::Scalar(DataType::S64))]),
];

const DICT: &[(&str, Good)] =
    &[("inner", Good::Dict), ("k", Good::Scalar(DataType::F64)), ("z", Good::Array(DataType::U16))];

impl Frame {
    fn new() -> Frame {
        let mut frame = std::mem::MaybeUninit::<Frame>::zeroed();
        let at = frame.as_mut_ptr();
        // SAFETY: the vector is written; the other members are integers and pointers, for which zero bytes
        // are valid.
        unsafe {
            addr_of_mut!((*at).data).write(vec![0; 4 * DATA / 16]);
            frame.assume_init()
        }
    }

    /// Fills in a frame that the handler number `op` accepts.
    fn make_good(&mut self, op: usize, stage: Stage, api: *const Api, ctx: *mut InvokeContext) {
        let (ins, outs, attrs) = GOOD[op];
        let data = self.data.as_mut_ptr().cast::<u8>();
        self.data[..DATA / 16].fill(0);
        self.ins.make_good(ins, data);
        self.outs.make_good(outs, data.wrapping_add(DATA));
        self.innermost.make_good(&[("q", Good::Text)], data, null_mut());
        self.inner.make_good(DICT, data, addr_of_mut!(self.innermost.this).cast());
        self.attrs.make_good(attrs, data, addr_of_mut!(self.inner.this).cast());
        let args = abi::Args {
            struct_size: abi::Args::STRUCT_SIZE,
            extension_start: null_mut(),
            size: ins.len() as i64,
            types: self.ins.kinds.as_mut_ptr().cast(),
            args: self.ins.pointers.as_mut_ptr(),
        };
        let rets = abi::Rets {
            struct_size: abi::Rets::STRUCT_SIZE,
            extension_start: null_mut(),
            size: outs.len() as i64,
            types: self.outs.kinds.as_mut_ptr().cast(),
            rets: self.outs.pointers.as_mut_ptr(),
        };
        self.frame = abi::CallFrame {
            struct_size: abi::CallFrame::STRUCT_SIZE,
            extension_start: null_mut(),
            api,
            ctx,
            stage,
            args,
            rets,
            attrs: self.attrs.copy(),
            future: null_mut(),
        };
        if stage == Stage::INSTANTIATE {
            (self.frame.args.size, self.frame.rets.size) = (0, 0);
        }
    }

    /// Corrupts a member of the frame, or the memory that the frame points to.
    fn spoil(&mut self, r: &mut SplitMix, tables: &mut Tables) {
        let other: *mut u64 = self.other.as_mut_ptr();
        match r.below(24) {
            0 => self.frame.struct_size = r.struct_size(abi::CallFrame::STRUCT_SIZE),
            1 => self.frame.stage = Stage(r.enum_value(self.frame.stage.0)),
            2 => {
                let table = tables.pick(r);
                self.frame.api = r.pointer(table);
            }
            3 => self.frame.ctx = r.pick(&[null_mut(), other.cast(), self.frame.ctx.wrapping_byte_add(1)]),
            4 => self.extend(r),
            5 => self.frame.args.struct_size = r.struct_size(abi::Args::STRUCT_SIZE),
            6 => self.frame.rets.struct_size = r.struct_size(abi::Rets::STRUCT_SIZE),
            7 => self.frame.args.size = count(r, BUFFERS),
            8 => self.frame.rets.size = count(r, BUFFERS),
            9 => self.frame.args.types = r.pointer(self.frame.args.types),
            10 => self.frame.rets.types = r.pointer(self.frame.rets.types),
            11 => self.frame.args.args = r.pointer(self.frame.args.args),
            12 => self.frame.rets.rets = r.pointer(self.frame.rets.rets),
            13..16 => self.ins.spoil(r),
            16..18 => self.outs.spoil(r),
            18 => {
                let mut attrs = self.frame.attrs.copied();
                spoil_attrs(&mut attrs, r);
                self.frame.attrs = attrs;
            }
            19 => {
                let mut attrs = self.inner.copy();
                spoil_attrs(&mut attrs, r);
                self.inner.this = attrs;
            }
            20 | 21 => self.attrs.spoil(r),
            22 => self.inner.spoil(r),
            _ => self.data[..64].fill(u128::from(r.next()) << 64 | u128::from(r.next())),
        }
    }

    /// Adds extensions to the frame.
    fn extend(&mut self, r: &mut SplitMix) {
        self.metadata.struct_size = r.struct_size(Metadata::STRUCT_SIZE);
        self.metadata.api_version = ApiVersion::new(-1, -1);
        self.metadata.api_version.struct_size = r.struct_size(ApiVersion::STRUCT_SIZE);
        let metadata = &raw mut self.metadata;
        let other = &raw mut self.other_extension;
        self.other_extension = ExtensionBase {
            struct_size: r.struct_size(size_of::<ExtensionBase>()),
            r#type: ExtensionType(r.enum_value(7)),
            next: null_mut(),
        };
        if self.other_extension.r#type == ExtensionType::METADATA {
            self.other_extension.r#type = ExtensionType(1000);
        }
        self.extension = MetadataExtension {
            extension_base: ExtensionBase {
                struct_size: r.struct_size(MetadataExtension::STRUCT_SIZE),
                r#type: ExtensionType(r.enum_value(ExtensionType::METADATA.0)),
                next: r.pointer(other),
            },
            metadata: r.pointer(metadata),
        };
        let first: *mut ExtensionBase = (&raw mut self.extension).cast();
        if r.one_in(3) {
            self.other_extension.next = r.pointer(first);
            self.extension.extension_base.next = null_mut();
            self.frame.extension_start = r.pointer(other);
        } else {
            self.frame.extension_start = r.pointer(first);
        }
    }
}

fn any_dtype(r: &mut SplitMix) -> DataType {
    let known = r.below(40) as u32;
    DataType(r.enum_value(known))
}

/// Returns a random count: a negative number, or at most `room`.
fn count(r: &mut SplitMix, room: usize) -> i64 {
    match r.below(4) {
        0 => r.pick(&[-1, i64::MIN, i64::MIN + 1, -(1 << 32)]),
        _ => r.below(room + 1) as i64,
    }
}

impl Side {
    fn make_good(&mut self, buffers: &[(DataType, usize)], data: *mut u8) {
        self.kinds = [ArgType::BUFFER.0; BUFFERS + 2];
        for i in 0..BUFFERS {
            let (dtype, rank) = buffers.get(i).copied().unwrap_or((DataType::F32, 1));
            self.dims[i] = [2; 10];
            self.buffers[i].buffer = abi::Buffer {
                struct_size: abi::Buffer::STRUCT_SIZE,
                extension_start: null_mut(),
                dtype,
                // Buffers of a valid call do not overlap.
                data: data.wrapping_add(i * DATA / 8).cast(),
                rank: rank as i64,
                dims: self.dims[i].as_mut_ptr(),
            };
            self.pointers[i] = (&raw mut self.buffers[i].buffer).cast();
        }
    }

    fn spoil(&mut self, r: &mut SplitMix) {
        let i = r.below(3);
        let buffer = &mut self.buffers[i].buffer;
        match r.below(8) {
            0 => self.kinds[i] = r.enum_value(ArgType::BUFFER.0),
            1 => self.pointers[i] = r.pointer(buffer).cast(),
            2 => buffer.struct_size = r.struct_size(abi::Buffer::STRUCT_SIZE),
            3 => buffer.dtype = any_dtype(r),
            4 => {
                if !buffer.data.is_null() {
                    let odd = buffer.data.wrapping_byte_add(1 + r.below(15));
                    buffer.data = r.pick(&[null_mut(), odd]);
                }
            }
            5 => buffer.dims = r.pointer(buffer.dims),
            6 => {
                // The elements always fit in the memory: the rank is at most 5, sizes are at most 2, and an
                // element has at most 16 bytes.
                buffer.rank = if r.one_in(3) { r.number() as i64 | i64::MIN } else { r.below(6) as i64 };
            }
            _ => {
                let huge = 1 << 62;
                let dims = &mut self.dims[i];
                match r.below(4) {
                    // With two huge sizes, the number of elements overflows.
                    0 if buffer.rank >= 2 => dims[..2].fill(huge),
                    1 => dims[r.below(3)] = r.pick(&[-1, i64::MIN, i64::MIN + 1, -2]),
                    2 => dims[r.below(3)] = 0,
                    _ => dims[r.below(3)] = 1,
                }
                // The number of elements overflows, so every element type is safe.
                if dims[0] == huge && buffer.rank >= 2 {
                    buffer.dtype = DataType(r.below(40) as u32);
                }
            }
        }
        // With a single huge dimension, the size in bytes could be valid, but larger than the memory. Such a
        // dimension is made small.
        let rank = usize::try_from(buffer.rank).unwrap_or(0).min(10);
        let dims = &mut self.dims[i];
        if dims[..rank].iter().filter(|d| **d > 2).count() == 1 {
            dims.iter_mut().for_each(|d| *d = (*d).min(2));
        }
    }
}

fn spoil_attrs(attrs: &mut abi::Attrs, r: &mut SplitMix) {
    match r.below(5) {
        0 => attrs.struct_size = r.struct_size(abi::Attrs::STRUCT_SIZE),
        1 => attrs.size = count(r, ATTRS),
        2 => attrs.types = r.pointer(attrs.types),
        3 => attrs.names = r.pointer(attrs.names),
        _ => attrs.attrs = r.pointer(attrs.attrs),
    }
}

/// Copying of `Attrs`, which is not `Copy`.
trait Copied {
    fn copied(&self) -> abi::Attrs;
}

impl Copied for abi::Attrs {
    fn copied(&self) -> abi::Attrs {
        let &abi::Attrs { struct_size, extension_start, size, types, names, attrs } = self;
        abi::Attrs { struct_size, extension_start, size, types, names, attrs }
    }
}

impl Dictionary {
    fn copy(&self) -> abi::Attrs {
        self.this.copied()
    }

    fn make_good(&mut self, attrs: &[(&'static str, Good)], data: *mut u8, dict: *mut c_void) {
        for i in 0..ATTRS {
            let (name, good) = attrs.get(i).copied().unwrap_or(("zz", Good::Text));
            self.name_spans[i].0 = ByteSpan::new(name.as_bytes());
            self.names[i] = &raw mut self.name_spans[i].0;
            self.scalars[i].0 = Scalar { dtype: DataType::F32, value: data.cast() };
            self.arrays[i].0 = Array { dtype: DataType::F32, size: 4, data: data.cast() };
            self.spans[i].0 = ByteSpan::new("größe".as_bytes());
            (self.kinds[i], self.values[i]) = match good {
                Good::Scalar(dtype) => {
                    self.scalars[i].0.dtype = dtype;
                    (AttrType::SCALAR, (&raw mut self.scalars[i].0).cast())
                }
                Good::Array(dtype) => {
                    self.arrays[i].0.dtype = dtype;
                    (AttrType::ARRAY, (&raw mut self.arrays[i].0).cast())
                }
                Good::Text => (AttrType::STRING, (&raw mut self.spans[i].0).cast()),
                Good::Dict => (AttrType::DICTIONARY, dict),
            };
        }
        self.this = abi::Attrs {
            struct_size: abi::Attrs::STRUCT_SIZE,
            extension_start: null_mut(),
            size: attrs.len() as i64,
            types: self.kinds.as_mut_ptr(),
            names: self.names.as_mut_ptr(),
            attrs: self.values.as_mut_ptr(),
        };
    }

    fn spoil(&mut self, r: &mut SplitMix) {
        let i = r.below(8);
        // A length that exceeds any memory.
        let too_much = usize::MAX - r.below(1000);
        match r.below(12) {
            0 => {
                // Only unknown kinds: with another known kind, the handler would read a number of the
                // attribute as a pointer.
                self.kinds[i] = AttrType((r.number() as u32).max(5));
            }
            1 => self.names[i] = r.pointer(self.names[i]),
            2 => {
                self.values[i] = r.pointer(self.values[i].cast::<u64>()).cast();
            }
            3 => self.name_spans[i].0.ptr = std::ptr::null(),
            4 => self.name_spans[i].0.len = r.below(2),
            5 => self.names.swap(i, (i + 1) % 8),
            6 => {
                let span = &mut self.spans[i].0;
                *span = match r.below(4) {
                    0 => ByteSpan { ptr: std::ptr::null(), len: r.number() as usize },
                    1 => ByteSpan::new(b"\xff\xfe\0"),
                    2 => ByteSpan { ptr: span.ptr, len: span.len / 2 },
                    _ => ByteSpan::new(b""),
                };
            }
            7 => self.scalars[i].0.dtype = any_dtype(r),
            8 => self.scalars[i].0.value = r.pointer(self.scalars[i].0.value.cast::<u128>()).cast(),
            9 => self.arrays[i].0.dtype = any_dtype(r),
            10 => self.arrays[i].0.data = r.pointer(self.arrays[i].0.data.cast::<u128>()).cast(),
            _ => self.arrays[i].0.size = r.pick(&[0, 1, 8, too_much, 1 << 63]),
        }
    }
}

// ---- Tables of functions -------------------------------------------------------------------------

/// Function tables of older, newer and incomplete hosts.
struct Tables(Vec<(Api, u64)>);

impl Tables {
    fn new() -> Tables {
        // SAFETY: the host's table has all members.
        Tables((0..16).map(|_| (unsafe { host_api().read() }, 0)).collect())
    }

    /// Returns a table that differs from this host's. There are only sixteen tables, each with few changes,
    /// because handlers cache properties of hosts.
    fn pick(&mut self, r: &mut SplitMix) -> *mut Api {
        let i = r.below(self.0.len());
        let table = &mut self.0[i].0;
        // SAFETY: the host's table has all members.
        *table = unsafe { host_api().read() };
        table.struct_size = r.struct_size(Api::STRUCT_SIZE).min(Api::STRUCT_SIZE);
        match r.below(5) {
            0 => table.api_version.major_version = r.number() as i32,
            // Only the version in the table changes; the functions are still this host's. The functions need
            // not know older layouts of their arguments, so the version is not lower than the host's own.
            1 => table.api_version.minor_version = (r.number() as i32).max(5),
            2 => table.api_version.struct_size = r.struct_size(ApiVersion::STRUCT_SIZE),
            3 => {
                table.error_create = None;
                table.error_destroy = None;
            }
            _ => {
                table.run_id_get = None;
                table.state_get = None;
                table.thread_pool_schedule = None;
                table.error_get_details = None;
            }
        }
        table
    }
}

// ---- One iteration ---------------------------------------------------------------------------------

impl Session {
    fn step(&mut self, ctx: *mut InvokeContext) {
        let r = &mut self.random;
        if r.one_in(16) {
            self.libraries += usize::from(read_descriptor(r));
            return;
        }
        let op = r.below(OPS.len());
        let bundle = LibraryOp::of(OPS[op]).bundle();
        let instantiate = bundle.instantiate.filter(|_| r.one_in(2));
        let (entry, stage) = match instantiate {
            Some(entry) => (entry, Stage::INSTANTIATE),
            None => (bundle.execute.expect("every op has an execute handler"), Stage::EXECUTE),
        };
        self.frame.make_good(op, stage, host_api(), ctx);
        for _ in 0..r.pick(&[0, 1, 1, 1, 2, 2, 3, 5]) {
            self.frame.spoil(r, &mut self.tables);
        }
        let mut frame = &raw mut self.frame.frame;
        if r.one_in(64) {
            frame = r.pointer(frame);
        }
        // SAFETY: the frame is malformed, but all its valid pointers are to memory of this program.
        let error = unsafe { entry(frame) };
        if error.is_null() {
            self.fine += 1;
            return;
        }
        let mut args = ErrorDestroyArgs {
            struct_size: ErrorDestroyArgs::STRUCT_SIZE,
            extension_start: null_mut(),
            error,
        };
        // SAFETY: the arguments are complete.
        unsafe { (*host_api()).error_destroy.expect("this host has all")(&raw mut args) };
    }
}

/// Reads a descriptor with changed members. Returns true if it could be read.
fn read_descriptor(r: &mut SplitMix) -> bool {
    let mut ops: Vec<RawOpDescriptor> = OPS.iter().map(|op| *op.raw()).collect();
    let mut changed: Vec<Vec<ParamDescriptor>> = Vec::new();
    let mut library = LibraryDescriptor {
        ops: std::ptr::null(),
        op_count: ops.len(),
        ..LibraryDescriptor::new("fuzz", "1", OPS)
    };
    let spoil_text = |r: &mut SplitMix, text: &mut ByteSpan| match r.below(4) {
        0 => text.ptr = std::ptr::null(),
        1 => text.len /= 2,
        2 => *text = ByteSpan::new(b"\xff\xfe"),
        _ => *text = ByteSpan::new(b""),
    };
    for _ in 0..r.below(3) {
        let i = r.below(ops.len());
        let op = &mut ops[i];
        match r.below(14) {
            0 => library.struct_size = r.struct_size(library.struct_size).min(size_of::<LibraryDescriptor>()),
            1 => library.version = r.number() as u32,
            2 => library.flags = r.number() as u32,
            3 => spoil_text(r, &mut library.name),
            4 => spoil_text(r, &mut library.library_version),
            5 => op.struct_size = r.struct_size(op.struct_size).min(size_of::<OpDescriptor>()),
            6 => spoil_text(r, &mut op.name),
            7 => spoil_text(r, &mut op.platform),
            8 => op.bundle.execute = None,
            9 => op.params = r.pointer(op.params.cast_mut()),
            10 => op.param_stride = r.pick(&[0, 1, 4, 8, 12, 16, 40, 48, 52, op.param_stride]),
            11 => op.param_count = r.below(2),
            12 => spoil_text(r, &mut op.doc),
            _ => {
                // SAFETY: the descriptors of this program's ops are static constants.
                let mut params =
                    unsafe { std::slice::from_raw_parts(OPS[i].raw().params, OPS[i].raw().param_count) }
                        .to_vec();
                if let Some(param) = params.first_mut() {
                    spoil_text(r, &mut param.name);
                    param.role = r.number() as u32;
                    param.rank = r.number() as i64;
                    param.dtype = DataType(r.number() as u32);
                    param.flags = r.number() as u32;
                    (op.params, op.param_count) = (params.as_ptr(), params.len());
                    changed.push(params);
                }
            }
        }
    }
    let mut table: Vec<*const OpDescriptor> = ops.iter().map(|op| std::ptr::from_ref(op).cast()).collect();
    if r.one_in(4) {
        let i = r.below(table.len());
        table[i] = r.pointer(table[i].cast_mut());
    }
    library.ops = table.as_ptr();
    if r.one_in(4) {
        library.ops = r.pointer(library.ops.cast_mut());
    }
    let mut at = &raw const library;
    if r.one_in(8) {
        at = r.pointer(at.cast_mut());
    }
    // SAFETY: the pointer is null, misaligned, or a descriptor that lives until the end of this function.
    let Ok(read) = (unsafe { descriptor::Library::read(at) }) else { return false };
    let mut seen = read.name().len() + read.version().len() + read.sdk_version().len();
    for op in read.ops() {
        seen += op.name().len() + op.platform().len() + op.doc().len() + op.location().0.len();
        for param in op.params() {
            seen += param.name().len() + param.attribute().len() + usize::from(param.is_optional());
            seen += param.role().map_or(0, |_| 1) + param.rank().unwrap_or(0) % 2;
            seen += param.dtype().map_or(0, |_| 1);
        }
    }
    std::hint::black_box(seen);
    drop(changed);
    true
}
