//! Blocked matrix products, shared by `dot_general` and `convolution`.
//!
//! ```text
//! result [rows, columns] ──split──▶ blocks, one or more per task
//!   block: for each range of columns and of depth: pack the right factor into panels, or read it in place
//!            for each range of rows: read the left factor in place, or pack it
//!              for each panel and row of tiles ([`micro`]): sum in registers, add to the result
//! ```
//!
//! **Invariants.** The order of summation depends only on the sizes of the product, never on its split into
//! blocks.
//!
//! **Terms.** A *panel* is a copy of the right factors for the columns of one tile, in the order in which the
//! tile reads them. *Depth* is the summed dimension. The *lines* of a factor are the rows of the left factor,
//! or the columns of the right factor.

mod micro;
mod operand;
mod several_lines;
mod vector;

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::thread::LocalKey;

use farcall_ir::{DType, interrupt};
use half::{bf16, f16};
use num_complex::Complex;

use super::args::{Args, Place};
use super::loops::prepared::PreparedKernel;
use crate::cache::CACHE_LINE_BYTES;
use micro::{Micro, Tile};
use operand::{Layout, PACKED_EFFORT, join};
use vector::Vector;

pub(super) use micro::{Element, Ring, Stored};
pub(super) use operand::{Axis, Dim, MAX_DIMS, Operand, Step};

/// Minimum number of multiplications per task. They take about ten microseconds.
const MIN_TASK_PRODUCTS: usize = 1 << 22;

/// Number of tasks that a large product is split into.
const TARGET_TASKS: usize = 8;

/// Number of products in a partial sum before it is added to the total. The rounding error of a long sum
/// grows with the length of its partial sums and with their number. With much shorter partial sums, a tile
/// would load and store its sums more often than it adds products.
const PARTIAL_SUM_PRODUCTS: usize = 192;

/// Size in bytes of the part of a row of right factors that is packed into panels at once. The depth of these
/// panels is [`PARTIAL_SUM_PRODUCTS`], or twice that number if `PARTIAL_SUM_PRODUCTS` elements take fewer
/// than `PANEL_ROW_BYTES` bytes.
const PANEL_ROW_BYTES: usize = 1024;

/// Largest magnitude up to which every integer is exact in `f32`.
const MAX_EXACT_F32: usize = 1 << 24;
/// Largest magnitude up to which every integer is exact in `f64`.
const MAX_EXACT_F64: usize = 1 << 53;

/// Number of products that take as long as packing an element that costs one unit of
/// [effort](Operand::effort).
const PRODUCTS_PER_EFFORT: usize = 8;

/// Maximum number of sums of a block that are buffered before they are written to the result.
const MAX_BLOCK_SUMS: usize = 1 << 17;

/// Limits up to which right factors are read in place. If all right factors fit in `bytes`, they stay in
/// cache from block to block, and blocks are made of whole rows. With more than `tile_rows` rows of tiles,
/// packing pays off, unless the right factors fit in the first-level cache.
#[derive(Clone, Copy)]
struct InPlaceLimits {
    bytes: usize,
    tile_rows: usize,
}

impl InPlaceLimits {
    /// Limits for tiles whose rows span several cache lines, which the processor prefetches.
    const WIDE: InPlaceLimits = InPlaceLimits { bytes: 2 << 20, tile_rows: 32 };
    /// Limits for tiles whose rows are one cache line. Rows that are a power of two apart compete for the
    /// same cache sets.
    const NARROW: InPlaceLimits = InPlaceLimits { bytes: 16 << 10, tile_rows: 4 };

    fn of<T>(micro: &Micro<T>) -> InPlaceLimits {
        if micro.columns * size_of::<T>() > size_of::<Line>() {
            InPlaceLimits::WIDE
        } else {
            InPlaceLimits::NARROW
        }
    }
}

/// Minimum number of rows in a block whose right factors are read in place. Such blocks consist of whole
/// rows, so that they write to separate ranges of memory.
const MIN_BLOCK_ROWS: usize = 32;

/// Maximum distance in bytes between left factors that are read in place. At each step, a tile reads one left
/// factor per row (about six). If these factors are pages apart, they compete for cache sets with the other
/// data in use.
const MAX_IN_PLACE_STRIDE_BYTES: usize = 4096;

/// Number of rows of tiles whose left factors are packed at once.
const PACKED_TILE_ROWS: usize = 16;

/// A batch of matrix products. Sizes and strides are in elements.
#[derive(Debug)]
pub(super) struct Product {
    /// Batch dimensions: the size, and the strides in the left factor, the right factor and the result.
    pub(super) batch: Vec<(usize, [usize; 3])>,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) depth: usize,
    pub(super) lhs: Operand,
    pub(super) rhs: Operand,
    /// Dimensions of the result's rows and of its columns: size and stride. Negative strides wrap around.
    pub(super) out: [Vec<(usize, usize)>; 2],
    /// Offsets of the first matrices: left factor, right factor, result.
    pub(super) start: [usize; 3],
}

/// Division of a product into blocks and tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Split {
    /// Rows and columns of a block.
    rows: usize,
    columns: usize,
    /// Number of blocks of a matrix along the rows and along the columns.
    blocks: [usize; 2],
    /// Number of blocks of all matrices.
    units: usize,
    /// Number of blocks per task.
    per_task: usize,
}

impl Split {
    fn tasks(&self) -> usize {
        self.units.div_ceil(self.per_task)
    }

    fn units_of(&self, task: usize) -> Range<usize> {
        task * self.per_task..((task + 1) * self.per_task).min(self.units)
    }
}

impl Product {
    /// Number of matrices in the batch.
    pub(super) fn matrices(&self) -> usize {
        self.batch.iter().fold(1, |n, b| n.saturating_mul(b.0))
    }

    /// Number of multiplications of elements.
    pub(super) fn work(&self) -> usize {
        [self.rows, self.columns, self.depth].iter().fold(self.matrices(), |n, x| n.saturating_mul(*x))
    }

    /// Distance between the rows of the result, if the rows are equally spaced and the columns are
    /// contiguous.
    pub(super) fn direct(&self) -> Option<usize> {
        match self.out.each_ref().map(|dims| join(dims)).each_ref().map(Vec::as_slice) {
            [[], [] | [(_, 1)]] => Some(0),
            [[(_, stride)], [] | [(_, 1)]] if isize::try_from(*stride).is_ok() => Some(*stride),
            _ => None,
        }
    }

    /// Splits the product into enough blocks to occupy the tasks, and no more: each time that blocks are
    /// halved along the rows or the columns, the factor with the other dimension is packed once more. `area`
    /// is the maximum number of elements of a block. `near` is true if right factors are read in place.
    fn split(&self, micro: [usize; 2], area: usize, near: bool) -> Split {
        let target = (self.work() / TARGET_TASKS).max(MIN_TASK_PRODUCTS);
        let [mut rows, mut columns] = [self.rows.max(1), self.columns.max(1)];
        let halves = |n: usize, tile: usize| n.div_ceil(2).next_multiple_of(tile);
        let (left, right) = (self.lhs.effort(), self.rhs.effort().max(PACKED_EFFORT));
        loop {
            let block = rows.saturating_mul(columns);
            if block <= area && block.saturating_mul(self.depth) <= target {
                break;
            }
            let [fewer_rows, fewer_columns] = [halves(rows, micro[0]), halves(columns, micro[1])];
            if near && (MIN_BLOCK_ROWS..rows).contains(&fewer_rows) {
                rows = fewer_rows;
                continue;
            }
            let is_worth = |effort: usize, block: usize| block >= effort.saturating_mul(PRODUCTS_PER_EFFORT);
            let (by_column, by_row) = (rows.saturating_mul(left), columns.saturating_mul(right));
            let by_column = (fewer_columns < columns
                && (block > area || is_worth(by_column, rows.saturating_mul(fewer_columns))))
            .then_some(by_column);
            let by_row = (fewer_rows < rows
                && (block > area || is_worth(by_row, fewer_rows.saturating_mul(columns))))
            .then_some(by_row);
            match (by_column, by_row) {
                (Some(a), Some(b)) if a > b => rows = fewer_rows,
                (Some(_), _) => columns = fewer_columns,
                (None, Some(_)) => rows = fewer_rows,
                (None, None) => break,
            }
        }
        let blocks = [self.rows.div_ceil(rows), self.columns.div_ceil(columns)];
        let units = self.matrices().saturating_mul(blocks[0]).saturating_mul(blocks[1]);
        let work = rows.saturating_mul(columns).saturating_mul(self.depth).max(1);
        Split { rows, columns, blocks, units, per_task: (MIN_TASK_PRODUCTS / work).max(1) }
    }

    /// Returns the offsets of a matrix of the batch: left factor, right factor, result.
    fn matrix(&self, mut number: usize) -> [usize; 3] {
        let mut at = self.start;
        for (n, strides) in self.batch.iter().rev() {
            at.iter_mut().zip(strides).for_each(|(at, stride)| *at += number % n * stride);
            number /= n;
        }
        at
    }
}

/// Prepares products whose results are parts of one tensor. The factors have type `from` and are at `places`
/// (left, right); the result is output 0 and has type `to`.
///
/// The memory of the factors and of the result must contain every element that the strides reach. Returns
/// `None` for types that have no product loops.
pub(super) fn prepare(
    products: Vec<Product>,
    [from, to]: [DType; 2],
    places: [Source; 2],
) -> Option<PreparedKernel> {
    computing(products, [from, to], places, None).map(|computing| computing.prepared)
}

/// A product that [`block`] has prepared.
pub(super) struct Computing {
    /// Computes the product. If there are panels, this code reads the panels instead of the right factor.
    pub(super) prepared: PreparedKernel,
    pub(super) panels: Option<Panels>,
}

/// Right factors that are packed once for several blocks of rows.
pub(super) struct Panels {
    /// Size of all panels in bytes. The memory must start at a cache line.
    pub(super) bytes: usize,
    /// Packs the right factor into the panels.
    pub(super) pack: PreparedKernel,
}

/// Description of several blocks of rows that share a right factor.
#[derive(Clone, Copy)]
pub(super) struct Alike {
    /// Total number of rows of all blocks.
    pub(super) rows: usize,
    /// Maximum size of the panels in bytes.
    pub(super) bytes: usize,
}

/// Prepares a product that is one of several blocks of rows with the same right factor.
pub(super) fn block(product: Product, types: [DType; 2], alike: Alike) -> Option<Computing> {
    computing(vec![product], types, [Source::Input(0), Source::Input(1)], Some(alike))
}

fn computing(
    products: Vec<Product>,
    [from, to]: [DType; 2],
    places: [Source; 2],
    alike: Option<Alike>,
) -> Option<Computing> {
    if !products.iter().all(|p| p.lhs.is_sound() && p.rhs.is_sound()) {
        return None;
    }
    // Products of small integers are computed in `f32` or `f64`, if the largest possible sum of `depth`
    // products is exact in that type.
    let depth = products.iter().map(|p| p.depth).max().unwrap_or(0);
    macro_rules! small {
        ($S:ty, $R:ty) => {
            match depth.checked_mul((<$S>::MAX as usize + 1).pow(2)) {
                Some(..=MAX_EXACT_F32) => tasks::<$S, f32, $R>(products, places, alike),
                Some(..=MAX_EXACT_F64) => tasks::<$S, f64, $R>(products, places, alike),
                _ => return None,
            }
        };
    }
    Some(match (from, to) {
        (DType::S8, DType::S32) => small!(i8, i32),
        (DType::U8, DType::S32) => small!(u8, i32),
        // These sums wrap around modulo a power of two, so signed and unsigned integers have the same bits.
        (DType::S8, DType::S8) => small!(i8, i8),
        (DType::U8, DType::U8) => small!(u8, u8),
        (DType::S16, DType::S16) | (DType::U16, DType::U16) => {
            tasks::<u16, u32, u16>(products, places, alike)
        }
        (DType::F16, DType::F16) => tasks::<f16, f32, f16>(products, places, alike),
        (DType::BF16, DType::BF16) => tasks::<bf16, f32, bf16>(products, places, alike),
        (DType::F16, DType::F32) => tasks::<f16, f32, f32>(products, places, alike),
        (DType::BF16, DType::F32) => tasks::<bf16, f32, f32>(products, places, alike),
        (a, b) if a != b => return None,
        (DType::F32, _) => tasks::<f32, f32, f32>(products, places, alike),
        (DType::F64, _) => tasks::<f64, f64, f64>(products, places, alike),
        (DType::C64, _) => tasks::<Complex<f32>, Complex<f32>, Complex<f32>>(products, places, alike),
        (DType::C128, _) => tasks::<Complex<f64>, Complex<f64>, Complex<f64>>(products, places, alike),
        (DType::S32 | DType::U32, _) => tasks::<u32, u32, u32>(products, places, alike),
        (DType::S64 | DType::U64, _) => tasks::<u64, u64, u64>(products, places, alike),
        _ => return None,
    })
}

/// Location of a factor.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Input(usize),
    /// Byte offset into the scratch memory.
    Scratch(usize),
}

impl Source {
    pub(super) fn place(self, args: &Args<'_>) -> Place {
        match self {
            Source::Input(i) => args.input_place(i),
            Source::Scratch(at) => args.scratch_place().from(at),
        }
    }
}

fn tasks<S: Stored<T>, T: Element + Ring, R: Stored<T>>(
    mut products: Vec<Product>,
    places: [Source; 2],
    alike: Option<Alike>,
) -> Computing {
    if let [product] = products.as_slice()
        && let Some(vector) = Vector::of(product)
        && vector.buffer::<S, T>() <= MAX_KEPT_BYTES
    {
        let prepared = vector.tasks::<S, T, R>(products.remove(0), places);
        return Computing { prepared, panels: None };
    }
    let slow = products.iter().any(|p| p.work() >= 2 * MIN_TASK_PRODUCTS);
    let mut count = 0;
    let blocks: Vec<(usize, Arc<Block<T>>)> = products
        .into_iter()
        .map(|product| {
            let block = Arc::new(Block::new::<S, R>(product, alike));
            let first = count;
            count += block.split.tasks();
            (first, block)
        })
        .collect();
    let panels = blocks.first().filter(|(_, block)| block.in_panels).map(|(_, block)| {
        let (bytes, block) = (panel_bytes(&block.product, &block.micro), Arc::clone(block));
        let pack = PreparedKernel::new(move |args| {
            // SAFETY: input 0 is the right factor, of type `S`, and output 0 has room for all panels
            // (`Panels::bytes`).
            unsafe { block.pack(args.input_ptr::<S>(0), args.output_ptr(0)) };
        });
        Panels { bytes, pack }
    });
    let buffer = blocks.iter().map(|(_, b)| b.buffer()).max().unwrap_or(0);
    let prepared = PreparedKernel::in_tasks(count, move |args, task| {
        let [x, y] = places.map(|p| args.ptr::<S>(p.place(args)).cast_const());
        let out = args.output_ptr::<R>(0);
        let (first, block) = &blocks[blocks.partition_point(|(first, _)| *first <= task) - 1];
        let y = if block.in_panels { Right::Panels(y.cast()) } else { Right::Factors(y) };
        with_buffer(buffer, |buffer| {
            for unit in block.split.units_of(task - first) {
                // SAFETY: the operands and the result have these types, and no two tasks share a block.
                unsafe { block.run(unit, x, y, out, buffer) };
            }
        });
    });
    Computing { prepared: if slow { prepared.slow() } else { prepared }, panels }
}

/// Source of right factors.
#[derive(Clone, Copy)]
enum Right<S, T> {
    Factors(*const S),
    /// All right factors, as packed by [`Block::pack`].
    Panels(*const T),
}

thread_local! {
    /// Memory for panels, kept per thread so that the next task finds it in cache.
    static BUFFER: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// A cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line(
    #[expect(dead_code, reason = "only the size and the alignment matter")] [u8; CACHE_LINE_BYTES],
);

const _: () = assert!(align_of::<Line>() == CACHE_LINE_BYTES, "a line is aligned like a cache line");

/// Maximum size in bytes of a buffer that a thread keeps for its next task.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// Calls a function with a buffer of at least `bytes` bytes.
fn with_buffer(bytes: usize, f: impl FnOnce(*mut u8)) {
    with_memory(&BUFFER, bytes, f);
}

/// Calls a function with at least `bytes` bytes of thread-local memory. Returns true if the next call on this
/// thread finds the same memory, with its contents.
pub(super) fn with_memory(
    kept: &'static LocalKey<Cell<Vec<Line>>>,
    bytes: usize,
    f: impl FnOnce(*mut u8),
) -> bool {
    let mut buffer = kept.take();
    let lines = bytes.div_ceil(size_of::<Line>());
    if buffer.len() < lines {
        buffer = vec![Line([0; CACHE_LINE_BYTES]); lines];
    }
    f(buffer.as_mut_ptr().cast());
    let is_kept = lines * size_of::<Line>() <= MAX_KEPT_BYTES;
    if is_kept {
        kept.set(buffer);
    }
    is_kept
}

/// Size in bytes of the panels of all right factors.
fn panel_bytes<T>(product: &Product, micro: &Micro<T>) -> usize {
    let columns = product.columns.checked_next_multiple_of(micro.columns).unwrap_or(usize::MAX);
    columns.saturating_mul(product.depth).saturating_mul(size_of::<T>())
}

/// Computation of the blocks of one product.
struct Block<T: 'static> {
    product: Product,
    micro: Micro<T>,
    split: Split,
    /// Columns and depth of the right factors that are packed into panels at once.
    width: usize,
    deep: usize,
    /// Number of rows that are multiplied with the same panel one after another. Their left factors are
    /// packed at once, unless they are read in place.
    height: usize,
    /// Layout of packed left factors. Its `panel` is the distance between the factors of neighboring tiles.
    left: Layout,
    /// Stride along the depth of right factors that are read in place.
    right: Option<usize>,
    /// True if the right factors are packed into panels before any block is computed.
    in_panels: bool,
    /// Distance between rows of the result, if tiles are written directly to it.
    direct: Option<usize>,
}

impl<T: Element> Block<T> {
    /// Plans the blocks of a product with factors of type `S` and a result of type `R`.
    fn new<S: Stored<T>, R: Stored<T>>(product: Product, alike: Option<Alike>) -> Block<T> {
        let micro = T::micro();
        let direct = product.direct().filter(|_| R::IS_IDENTITY);
        let area = if direct.is_some() { usize::MAX } else { MAX_BLOCK_SUMS };
        let lies = product.rhs.strides().filter(|[line, _]| S::IS_IDENTITY && *line == 1);
        let bytes = product.columns.saturating_mul(product.depth).saturating_mul(size_of::<T>());
        let near = InPlaceLimits::of(&micro);
        let split = product.split([micro.rows, micro.columns], area, lies.is_some() && bytes <= near.bytes);
        let alike =
            alike.filter(|alike| panel_bytes(&product, &micro) <= alike.bytes && product.matrices() == 1);
        let rows = alike.map_or(split.rows, |alike| alike.rows);
        let few = bytes <= InPlaceLimits::NARROW.bytes || rows <= near.tile_rows * micro.rows;
        let right = lies.filter(|_| few).map(|[_, depth]| depth);
        let in_panels = alike.is_some() && right.is_none();
        let width = (PANEL_ROW_BYTES / size_of::<T>()).next_multiple_of(micro.columns);
        let width = width.min(split.columns.next_multiple_of(micro.columns));
        let deep = if PARTIAL_SUM_PRODUCTS * size_of::<T>() < PANEL_ROW_BYTES {
            2 * PARTIAL_SUM_PRODUCTS
        } else {
            PARTIAL_SUM_PRODUCTS
        }
        .min(product.depth);
        let height = (PACKED_TILE_ROWS * micro.rows).min(split.rows.next_multiple_of(micro.rows));
        let left = if product.lhs.has_lines_together() {
            Layout { line: 1, depth: micro.rows, panel: micro.rows * deep, width: micro.rows }
        } else {
            Layout { line: deep, depth: 1, panel: micro.rows * deep, width: height }
        };
        Block { product, micro, split, width, deep, height, left, right, in_panels, direct }
    }

    /// Number of elements of the three parts of the buffer: for panels, for left factors, and for sums that
    /// are not written directly.
    fn parts(&self) -> [usize; 3] {
        let sums = if self.direct.is_some() { 0 } else { self.split.rows * self.split.columns };
        // If right factors are read in place, only the columns that do not fill a vector are packed.
        let width = match (self.in_panels, self.right) {
            (true, _) => 0,
            (_, Some(_)) => self.micro.columns,
            _ => self.width,
        };
        let panels = width * self.deep;
        [panels, self.height * self.deep, sums].map(|n| (n + self.micro.columns).next_multiple_of(64))
    }

    /// Size in bytes of the buffer that computing a block needs.
    fn buffer(&self) -> usize {
        self.parts().iter().sum::<usize>() * size_of::<T>()
    }

    /// Computes a block.
    ///
    /// # Safety
    /// The pointers must be to the factors and the result of the product, and `buffer` must be valid for
    /// [`Block::buffer`] bytes.
    unsafe fn run<S: Stored<T>, R: Stored<T>>(
        &self,
        unit: usize,
        x: *const S,
        y: Right<S, T>,
        out: *mut R,
        buffer: *mut u8,
    ) {
        let (p, split) = (&self.product, &self.split);
        let [down, across] = split.blocks;
        let [x_at, y_at, out_at] = p.matrix(unit / (down * across));
        let (row, column) = (unit / across % down * split.rows, unit % across * split.columns);
        let (rows, columns) = (split.rows.min(p.rows - row), split.columns.min(p.columns - column));
        let [panels, left, _] = self.parts();
        // SAFETY: the caller guarantees that the factors and the result contain every matrix of the batch
        // (`# Safety`).
        let (x, out) = unsafe { (x.add(x_at), out.add(out_at)) };
        let y = match y {
            // SAFETY: the caller guarantees that the right factor contains every matrix of the batch.
            Right::Factors(y) => Right::Factors(unsafe { y.add(y_at) }),
            panels @ Right::Panels(_) => panels,
        };
        let buffer = buffer.cast::<T>();
        // SAFETY: both offsets are within the buffer, which has the parts that `parts` returns.
        let (left, sums) = unsafe { (buffer.add(panels), buffer.add(panels + left)) };
        let (to, stride) = match self.direct {
            // SAFETY: this is the first element of the block, which lies in the result.
            Some(stride) => (unsafe { out.add(row * stride + column) }.cast::<T>(), stride),
            None => (sums, columns),
        };
        if p.depth == 0 {
            for i in 0..rows {
                for j in 0..columns {
                    // SAFETY: the element belongs to the block.
                    unsafe { to.add(i * stride + j).write(T::ZERO) };
                }
            }
        }
        self.each_part(column..column + columns, |lines, depth| {
            if interrupt::is_due() {
                return;
            }
            // SAFETY: the columns and the depth are within the product, and the buffer has room for their
            // panels.
            unsafe {
                let (right, panels) = self.right(y, lines.clone(), depth.clone(), buffer);
                let to = Tile {
                    to: to.add(lines.start - column),
                    stride,
                    rows,
                    columns: lines.len(),
                    depth: depth.len(),
                    lhs: (left, 0, 0),
                    rhs: (right, panels.depth),
                    add: depth.start > 0,
                };
                self.rows(x, row, depth, &to, panels.panel);
            }
        });
        if self.direct.is_none() {
            // SAFETY: `sums` holds the sums of the block, and `out` contains its elements.
            unsafe { self.write(sums, [row, rows], [column, columns], out) };
        }
    }

    /// Divides `columns`, at their full depth, into the parts that are packed into panels at once. Calls a
    /// function with the columns and the depth of each part.
    fn each_part(&self, columns: Range<usize>, mut f: impl FnMut(Range<usize>, Range<usize>)) {
        let p = &self.product;
        let mut from = columns.start;
        while from < columns.end {
            let width = self.part(columns.end - from);
            for deep in (0..p.depth).step_by(self.deep.max(1)) {
                f(from..from + width, deep..(deep + self.deep).min(p.depth));
            }
            from += width;
        }
    }

    /// Returns the offset of a part's panels within all panels.
    fn panels_at(&self, columns: &Range<usize>, depth: &Range<usize>) -> usize {
        let width = columns.len().next_multiple_of(self.micro.columns);
        columns.start * self.product.depth + width * depth.start
    }

    /// Packs all right factors into panels.
    ///
    /// # Safety
    /// `y` must be the right factor of the product, and `to` must be valid for writes of [`panel_bytes`]
    /// bytes.
    unsafe fn pack<S: Stored<T>>(&self, y: *const S, to: *mut T) {
        let p = &self.product;
        let [_, at, _] = p.matrix(0);
        for column in (0..p.columns).step_by(self.split.columns) {
            self.each_part(column..(column + self.split.columns).min(p.columns), |columns, depth| {
                if interrupt::is_due() {
                    return;
                }
                // SAFETY: the columns and the depth are within the product. The offset of their panels is
                // below `panel_bytes`, for which the caller guarantees room.
                unsafe {
                    let to = to.add(self.panels_at(&columns, &depth));
                    let panels = self.panels(depth.len());
                    p.rhs.pack(y.add(at), [columns, depth], T::ZERO, to, &panels);
                }
            });
        }
    }

    /// Returns the number of columns to pack next, if `columns` columns are left.
    fn part(&self, columns: usize) -> usize {
        let width = self.width.min(columns);
        let whole = width / self.micro.lanes() * self.micro.lanes();
        if self.right.is_some() && whole > 0 { whole } else { width }
    }

    /// Returns the right factors of a part, and their layout. They are panels that were packed beforehand, or
    /// the factors in place if these fill whole vectors, or newly packed panels.
    ///
    /// # Safety
    /// Same requirements as [`Block::run`]; the columns must be a [part](Block::part).
    unsafe fn right<S: Stored<T>>(
        &self,
        y: Right<S, T>,
        columns: Range<usize>,
        depth: Range<usize>,
        buffer: *mut T,
    ) -> (*const T, Layout) {
        let y = match y {
            Right::Factors(y) => y,
            Right::Panels(all) => {
                // SAFETY: the offset is within the panels, which hold all right factors.
                let first = unsafe { all.add(self.panels_at(&columns, &depth)) };
                return (first, self.panels(depth.len()));
            }
        };
        match self.right {
            Some(stride) if columns.len().is_multiple_of(self.micro.lanes()) => {
                let panel = self.micro.columns;
                // SAFETY: this is the first element of the part, which lies in the right factor.
                let first = unsafe { y.add(columns.start + depth.start * stride) };
                (first.cast::<T>(), Layout { line: 1, depth: stride, panel, width: panel })
            }
            _ => {
                let panels = self.panels(depth.len());
                // SAFETY: the caller guarantees that `y` is the right factor and that the buffer has room for
                // the panels of a part.
                unsafe { self.product.rhs.pack(y, [columns, depth], T::ZERO, buffer, &panels) };
                (buffer.cast_const(), panels)
            }
        }
    }

    /// Layout of panels of this depth.
    fn panels(&self, depth: usize) -> Layout {
        let width = self.micro.columns;
        Layout { line: 1, depth: width, panel: width * depth, width }
    }

    /// Computes all rows of a block with the right factors of `to`. `panels` is the distance, in elements,
    /// between the right factors of adjacent columns of tiles. `to.lhs` points to memory for packed left
    /// factors.
    ///
    /// # Safety
    /// Same requirements as [`Block::run`].
    unsafe fn rows<S: Stored<T>>(
        &self,
        x: *const S,
        row: usize,
        depth: Range<usize>,
        to: &Tile<T>,
        panels: usize,
    ) {
        let p = &self.product;
        // Left factors whose rows or depth are contiguous are read in place, unless they are used several
        // times and are far apart.
        let once = to.columns <= self.micro.columns;
        let lies = p.lhs.strides().filter(|[line, stride]| {
            let near = once || line.max(stride).saturating_mul(size_of::<T>()) <= MAX_IN_PLACE_STRIDE_BYTES;
            S::IS_IDENTITY && (p.rows == 1 || near && (*stride <= 1 || *line == 1))
        });
        for first in (0..to.rows).step_by(self.height) {
            if first > 0 && interrupt::is_due() {
                return;
            }
            let rows = self.height.min(to.rows - first);
            let (left, layout) = match lies {
                Some([line, stride]) => {
                    // SAFETY: this is the first left factor of these rows, which belong to the block.
                    let at = unsafe { x.add((row + first) * line + depth.start * stride) };
                    let layout = Layout { line, depth: stride, panel: line * self.micro.rows, width: 1 };
                    (at.cast::<T>(), layout)
                }
                None => {
                    let to = to.lhs.0.cast_mut();
                    let lines = row + first..row + first + rows;
                    // SAFETY: the rows and the depth are within the product, and the buffer has room for
                    // their left factors.
                    unsafe { p.lhs.pack(x, [lines, depth.clone()], T::ZERO, to, &self.left) };
                    (to.cast_const(), self.left)
                }
            };
            // SAFETY: these are the left factors of these rows, and the result contains the rows.
            unsafe {
                let lhs = (left, layout.line, layout.depth);
                self.tiles(
                    &Tile { to: to.to.add(first * to.stride), rows, lhs, ..*to },
                    layout.panel,
                    panels,
                );
            }
        }
    }

    /// Computes the tiles of all rows whose left factors are packed at once. `down` is the distance between
    /// the left factors of neighboring rows of tiles, `across` the distance between panels. A panel stays in
    /// cache for all rows: for `f32` with AVX2, in the first-level cache.
    ///
    /// # Safety
    /// Same requirements as [`Block::run`].
    unsafe fn tiles(&self, all: &Tile<T>, down: usize, across: usize) {
        let Micro { rows, columns, .. } = self.micro;
        for (panel, column) in (0..all.columns).step_by(columns).enumerate() {
            for (tile, row) in (0..all.rows).step_by(rows).enumerate() {
                for k in (0..all.depth).step_by(PARTIAL_SUM_PRODUCTS) {
                    // SAFETY: the factors and the results of the tile lie within `all`.
                    unsafe {
                        self.micro.run(&Tile {
                            to: all.to.add(row * all.stride + column),
                            rows: rows.min(all.rows - row),
                            columns: columns.min(all.columns - column),
                            depth: PARTIAL_SUM_PRODUCTS.min(all.depth - k),
                            lhs: (all.lhs.0.add(tile * down + k * all.lhs.2), all.lhs.1, all.lhs.2),
                            rhs: (all.rhs.0.add(panel * across + k * all.rhs.1), all.rhs.1),
                            add: all.add || k > 0,
                            ..*all
                        });
                    }
                }
            }
        }
    }

    /// Writes the sums of a block to the result.
    ///
    /// # Safety
    /// Same requirements as [`Block::run`].
    unsafe fn write<R: Stored<T>>(
        &self,
        sums: *const T,
        [row, rows]: [usize; 2],
        [column, columns]: [usize; 2],
        out: *mut R,
    ) {
        let at = |dims: &[(usize, usize)], mut i: usize| {
            dims.iter().rev().fold(0usize, |at, (size, stride)| {
                let index = i % size;
                i /= size;
                at.wrapping_add(index.wrapping_mul(*stride))
            })
        };
        let [down, across] = &self.product.out;
        for i in 0..rows {
            let to = at(down, row + i);
            // SAFETY: `sums` has `rows` rows of `columns` sums.
            let (sums, out) = (unsafe { sums.add(i * columns) }, out.wrapping_add(to));
            let run = across.last().map_or(1, |d| d.0);
            let stride = across.last().map_or(1, |d| d.1);
            let mut j = 0;
            while j < columns {
                let to = at(across, column + j);
                let count = (run - (column + j) % run).min(columns - j);
                for l in 0..count {
                    let place = out.wrapping_add(to.wrapping_add(l.wrapping_mul(stride)));
                    // SAFETY: `sums` has this element, and the strides of the product stay within the result.
                    unsafe { place.write(R::narrow(sums.add(j + l).read())) };
                }
                j += count;
            }
        }
    }
}
