//! Products of matrices in blocks: what `dot_general` and `convolution` have in common.
//!
//! ```text
//! result [rows, columns] ──split──▶ blocks, one or several a task
//!   block: for some columns, for some depth: bring the right factor into panels, unless it is in some
//!            for some rows: the left factor, where it lies, or brought together
//!              for a panel, for a row of tiles ([`micro`]): sums in registers, added to the result
//! ```
//!
//! **Invariants.** Which products are added up in which order depends on sizes alone, never on how blocks are split.

mod abreast;
mod micro;
mod operand;
mod vector;

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::thread::LocalKey;

use farcall_ir::DType;
use farcall_ir::interrupt;
use half::{bf16, f16};
use num_complex::Complex;

use super::args::{Args, Place, Prepared};
use super::types::dispatch;

pub(super) use micro::{Element, Ring, Stored};
use micro::{Micro, Tile};
use operand::Layout;
pub(super) use operand::{Axis, Dim, MOST, Operand, Step};
use operand::{PACKED, join};
use vector::Vector;

/// Multiplications of a task at least: some ten microseconds.
const LEAST: usize = 1 << 22;

/// Tasks of one product, if it is large.
const TASKS: usize = 8;

/// How many products are added up before their sum joins the others: the error of a long sum grows with the length of
/// its parts and with their number, and a tile of a short part does more loads and stores of sums than products.
const SUMMANDS: usize = 192;

/// Bytes of a row of right factors that are brought into panels at once; of a column, those of one part of a sum, or of two
/// if these are fewer.
const WIDTH: usize = 1024;

/// Integers up to these are floats.
const EXACT_32: usize = 1 << 24;
const EXACT_64: usize = 1 << 53;

/// How many products take as long as it takes to bring an element together that takes one unit of effort.
const WORTH: usize = 8;

/// Sums of a block that are kept until they are written.
const AREA: usize = 1 << 17;

/// When right factors are read where they lie. Blocks have whole rows if all have so few bytes that they are near for
/// every block; and for more rows of tiles than these, it pays to bring them together, unless they fit the first level.
#[derive(Clone, Copy)]
struct Near {
    bytes: usize,
    rows: usize,
}

impl Near {
    /// Where a row of a tile takes several lines of the cache, which the processor reads ahead.
    const WIDE: Near = Near { bytes: 2 << 20, rows: 32 };
    /// Where it takes one line. Rows that are a power of two apart share their sets of the cache.
    const NARROW: Near = Near { bytes: 16 << 10, rows: 4 };

    fn of<T>(micro: &Micro<T>) -> Near {
        if micro.columns * size_of::<T>() > size_of::<Line>() { Near::WIDE } else { Near::NARROW }
    }
}

/// Rows of a block at least whose right factors are near. Blocks of whole rows write to memory that is apart.
const ROWS: usize = 32;

/// Bytes between left factors that are read where they lie, at most: the six of a tile, if they are pages apart, share sets
/// of the cache with what else is near.
const PAGE: usize = 4096;

/// Rows of tiles whose left factors are brought together at once.
const TILES: usize = 16;

/// Factors and sums of a batch of products of matrices; sizes and strides in elements.
#[derive(Debug)]
pub(super) struct Product {
    /// Sizes of the dimensions of the batch, with strides of left and right factor and of the result.
    pub(super) batch: Vec<(usize, [usize; 3])>,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) depth: usize,
    pub(super) lhs: Operand,
    pub(super) rhs: Operand,
    /// Dimensions of the result's rows and columns: sizes and strides, which wrap where they go backwards.
    pub(super) out: [Vec<(usize, usize)>; 2],
    /// Where the first matrices begin: left and right factor, result.
    pub(super) start: [usize; 3],
}

/// How a product is split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Split {
    /// Rows and columns of a block.
    rows: usize,
    columns: usize,
    /// Blocks of a matrix along both.
    blocks: [usize; 2],
    /// Blocks of all matrices.
    units: usize,
    /// Those of a task.
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
    /// Matrices of the batch.
    pub(super) fn matrices(&self) -> usize {
        self.batch.iter().fold(1, |n, b| n.saturating_mul(b.0))
    }

    /// Multiplications of elements.
    pub(super) fn work(&self) -> usize {
        [self.rows, self.columns, self.depth].iter().fold(self.matrices(), |n, x| n.saturating_mul(*x))
    }

    /// The distance of rows of the result, if they have one, and columns are neighbours.
    pub(super) fn direct(&self) -> Option<usize> {
        match self.out.each_ref().map(|dims| join(dims)).each_ref().map(Vec::as_slice) {
            [[], [] | [(_, 1)]] => Some(0),
            [[(_, stride)], [] | [(_, 1)]] if isize::try_from(*stride).is_ok() => Some(*stride),
            _ => None,
        }
    }

    /// Blocks as small as it takes to have some tasks, and no smaller: where one is halved, its other factor is brought
    /// together once more. `area`: elements of a block at most. `near`: right factors are read where they lie.
    fn split(&self, micro: [usize; 2], area: usize, near: bool) -> Split {
        let target = (self.work() / TASKS).max(LEAST);
        let [mut rows, mut columns] = [self.rows.max(1), self.columns.max(1)];
        let halves = |n: usize, tile: usize| n.div_ceil(2).next_multiple_of(tile);
        let (left, right) = (self.lhs.effort(), self.rhs.effort().max(PACKED));
        loop {
            let block = rows.saturating_mul(columns);
            if block <= area && block.saturating_mul(self.depth) <= target {
                break;
            }
            let [fewer_rows, fewer_columns] = [halves(rows, micro[0]), halves(columns, micro[1])];
            if near && (ROWS..rows).contains(&fewer_rows) {
                rows = fewer_rows;
                continue;
            }
            let is_worth = |effort: usize, block: usize| block >= effort.saturating_mul(WORTH);
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
        Split { rows, columns, blocks, units, per_task: (LEAST / work).max(1) }
    }

    /// Where a matrix of the batch begins: factors and result.
    fn matrix(&self, mut number: usize) -> [usize; 3] {
        let mut at = self.start;
        for (n, strides) in self.batch.iter().rev() {
            at.iter_mut().zip(strides).for_each(|(at, stride)| *at += number % n * stride);
            number /= n;
        }
        at
    }
}

/// What computes products of the same factors, to parts of one result: from places of factors of type `from` to output
/// 0, of type `to`.
///
/// `places` says where left and right factors are; they and the result hold whatever the strides reach. `None` for
/// types that have no loops.
pub(super) fn prepare(
    products: Vec<Product>,
    [from, to]: [DType; 2],
    places: [Source; 2],
) -> Option<Prepared> {
    computing(products, [from, to], places, None).map(|computing| computing.prepared)
}

/// What computes a block of rows, as [`prepare`] does.
pub(super) struct Computing {
    /// If there are panels, they are in the place of the right factor.
    pub(super) prepared: Prepared,
    pub(super) panels: Option<Panels>,
}

/// Right factors that are brought into panels once for several blocks of rows.
pub(super) struct Panels {
    /// Bytes of all panels, which begin a line of the cache.
    pub(super) bytes: usize,
    /// From the right factor to panels.
    pub(super) pack: Prepared,
}

/// Blocks of rows that have the same right factor.
#[derive(Clone, Copy)]
pub(super) struct Alike {
    /// Rows of all of them.
    pub(super) rows: usize,
    /// Bytes of panels at most.
    pub(super) bytes: usize,
}

/// What computes a product for one of several blocks of rows.
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
    // Sums of so many products of small integers, which floats hold.
    let depth = products.iter().map(|p| p.depth).max().unwrap_or(0);
    macro_rules! small {
        ($S:ty, $R:ty) => {
            match depth.checked_mul((<$S>::MAX as usize + 1).pow(2)) {
                Some(..=EXACT_32) => tasks::<$S, f32, $R>(products, places, alike),
                Some(..=EXACT_64) => tasks::<$S, f64, $R>(products, places, alike),
                _ => return None,
            }
        };
    }
    Some(match (from, to) {
        (DType::S8, DType::S32) => small!(i8, i32),
        (DType::U8, DType::S32) => small!(u8, i32),
        // Sums modulo a power of two.
        (DType::S8, DType::S8) => small!(i8, i8),
        (DType::U8, DType::U8) => small!(u8, u8),
        (DType::S16, DType::S16) => tasks::<i16, i32, i16>(products, places, alike),
        (DType::U16, DType::U16) => tasks::<u16, i32, u16>(products, places, alike),
        (DType::F16, DType::F16) => tasks::<f16, f32, f16>(products, places, alike),
        (DType::BF16, DType::BF16) => tasks::<bf16, f32, bf16>(products, places, alike),
        (DType::F16, DType::F32) => tasks::<f16, f32, f32>(products, places, alike),
        (DType::BF16, DType::F32) => tasks::<bf16, f32, f32>(products, places, alike),
        (a, b) if a != b => return None,
        (DType::F32, _) => tasks::<f32, f32, f32>(products, places, alike),
        (DType::F64, _) => tasks::<f64, f64, f64>(products, places, alike),
        (DType::C64, _) => tasks::<Complex<f32>, Complex<f32>, Complex<f32>>(products, places, alike),
        (DType::C128, _) => tasks::<Complex<f64>, Complex<f64>, Complex<f64>>(products, places, alike),
        _ => return dispatch!(from, [wide_ints], T => tasks::<T, T, T>(products, places, alike)),
    })
}

/// Where a factor is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Input(usize),
    /// At this byte of the scratch memory.
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
        && vector.buffer::<S, T>() <= KEPT
    {
        let prepared = vector.tasks::<S, T, R>(products.remove(0), places);
        return Computing { prepared, panels: None };
    }
    let slow = products.iter().any(|p| p.work() >= 2 * LEAST);
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
        let pack = Prepared::new(move |args| {
            // SAFETY: the right factor, of this type, and room for all panels.
            unsafe { block.pack(args.input_ptr::<S>(0), args.output_ptr(0)) };
        });
        Panels { bytes, pack }
    });
    let buffer = blocks.iter().map(|(_, b)| b.buffer()).max().unwrap_or(0);
    let prepared = Prepared::in_tasks(count, move |args, task| {
        let [x, y] = places.map(|p| args.ptr::<S>(p.place(args)).cast_const());
        let out = args.output_ptr::<R>(0);
        let (first, block) = &blocks[blocks.partition_point(|(first, _)| *first <= task) - 1];
        let y = if block.in_panels { Right::Panels(y.cast()) } else { Right::Factors(y) };
        with_buffer(buffer, |buffer| {
            for unit in block.split.units_of(task - first) {
                // SAFETY: operands and result of these types, and tasks have different blocks.
                unsafe { block.run(unit, x, y, out, buffer) };
            }
        });
    });
    Computing { prepared: if slow { prepared.slow() } else { prepared }, panels }
}

/// Where right factors are read.
#[derive(Clone, Copy)]
enum Right<S, T> {
    Factors(*const S),
    /// All of them, as [`Block::pack`] leaves them.
    Panels(*const T),
}

thread_local! {
    /// Memory for panels: what one task leaves is warm for the next.
    static BUFFER: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// A line of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line(#[expect(dead_code, reason = "memory")] [u8; 64]);

/// Bytes that a thread keeps at most.
const KEPT: usize = 16 << 20;

/// Calls a function with so many bytes.
fn with_buffer(bytes: usize, f: impl FnOnce(*mut u8)) {
    with_memory(&BUFFER, bytes, f);
}

/// Calls a function with so many bytes of what the thread keeps there; returns true if it will find these ones there again.
pub(super) fn with_memory(
    kept: &'static LocalKey<Cell<Vec<Line>>>,
    bytes: usize,
    f: impl FnOnce(*mut u8),
) -> bool {
    let mut buffer = kept.take();
    let lines = bytes.div_ceil(size_of::<Line>());
    if buffer.len() < lines {
        buffer = vec![Line([0; 64]); lines];
    }
    f(buffer.as_mut_ptr().cast());
    let is_kept = lines * size_of::<Line>() <= KEPT;
    if is_kept {
        kept.set(buffer);
    }
    is_kept
}

/// Bytes of panels of all right factors.
fn panel_bytes<T>(product: &Product, micro: &Micro<T>) -> usize {
    let columns = product.columns.checked_next_multiple_of(micro.columns).unwrap_or(usize::MAX);
    columns.saturating_mul(product.depth).saturating_mul(size_of::<T>())
}

/// How blocks are computed.
struct Block<T: 'static> {
    product: Product,
    micro: Micro<T>,
    split: Split,
    /// Columns and depth of right factors that are brought into panels at once.
    width: usize,
    deep: usize,
    /// Rows of tiles that take the same panel one after another; their left factors are brought together at once, unless
    /// they are read where they lie.
    height: usize,
    /// The layout of left factors that are brought together; `panel` is the distance of tiles.
    left: Layout,
    /// The distance along depth of right factors that are read where they lie.
    right: Option<usize>,
    /// Right factors are in panels before blocks are computed.
    in_panels: bool,
    /// The distance of rows of the result, if tiles are written there.
    direct: Option<usize>,
}

impl<T: Element> Block<T> {
    /// For factors of type `S`, and a result of type `R`.
    fn new<S: Stored<T>, R: Stored<T>>(product: Product, alike: Option<Alike>) -> Block<T> {
        let micro = T::micro();
        let direct = product.direct().filter(|_| R::SAME);
        let area = if direct.is_some() { usize::MAX } else { AREA };
        let lies = product.rhs.strides().filter(|[line, _]| S::SAME && *line == 1);
        let bytes = product.columns.saturating_mul(product.depth).saturating_mul(size_of::<T>());
        let near = Near::of(&micro);
        let split = product.split([micro.rows, micro.columns], area, lies.is_some() && bytes <= near.bytes);
        let alike =
            alike.filter(|alike| panel_bytes(&product, &micro) <= alike.bytes && product.matrices() == 1);
        let rows = alike.map_or(split.rows, |alike| alike.rows);
        let few = bytes <= Near::NARROW.bytes || rows <= near.rows * micro.rows;
        let right = lies.filter(|_| few).map(|[_, depth]| depth);
        let in_panels = alike.is_some() && right.is_none();
        let width = (WIDTH / size_of::<T>()).next_multiple_of(micro.columns);
        let width = width.min(split.columns.next_multiple_of(micro.columns));
        let deep = if SUMMANDS * size_of::<T>() < WIDTH { 2 * SUMMANDS } else { SUMMANDS }.min(product.depth);
        let height = (TILES * micro.rows).min(split.rows.next_multiple_of(micro.rows));
        let left = if product.lhs.has_lines_together() {
            Layout { line: 1, depth: micro.rows, panel: micro.rows * deep, width: micro.rows }
        } else {
            Layout { line: deep, depth: 1, panel: micro.rows * deep, width: height }
        };
        Block { product, micro, split, width, deep, height, left, right, in_panels, direct }
    }

    /// Elements of panels, of left factors, and of the result that is not written directly.
    fn parts(&self) -> [usize; 3] {
        let sums = if self.direct.is_some() { 0 } else { self.split.rows * self.split.columns };
        // Of right factors that lie in panels, what is left of the last vector is brought together.
        let width = match (self.in_panels, self.right) {
            (true, _) => 0,
            (_, Some(_)) => self.micro.columns,
            _ => self.width,
        };
        let panels = width * self.deep;
        [panels, self.height * self.deep, sums].map(|n| (n + self.micro.columns).next_multiple_of(64))
    }

    /// Bytes that computing a block takes.
    fn buffer(&self) -> usize {
        self.parts().iter().sum::<usize>() * size_of::<T>()
    }

    /// Computes a block.
    ///
    /// # Safety
    /// The factors and the result are those of the product; the buffer is as large as [`Block::buffer`] says.
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
        // SAFETY: the caller's promise.
        let (x, out) = unsafe { (x.add(x_at), out.add(out_at)) };
        let y = match y {
            // SAFETY: as above.
            Right::Factors(y) => Right::Factors(unsafe { y.add(y_at) }),
            panels @ Right::Panels(_) => panels,
        };
        let buffer = buffer.cast::<T>();
        // SAFETY: parts of the buffer.
        let (left, sums) = unsafe { (buffer.add(panels), buffer.add(panels + left)) };
        let (to, stride) = match self.direct {
            // SAFETY: the first element of the block.
            Some(stride) => (unsafe { out.add(row * stride + column) }.cast::<T>(), stride),
            None => (sums, columns),
        };
        if p.depth == 0 {
            for i in 0..rows {
                for j in 0..columns {
                    // SAFETY: an element of the block.
                    unsafe { to.add(i * stride + j).write(T::ZERO) };
                }
            }
        }
        self.each_part(column..column + columns, |lines, depth| {
            if interrupt::is_due() {
                return;
            }
            // SAFETY: columns and depth that there are, and room for them in the buffer.
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
            // SAFETY: sums of the block, and its places in the result.
            unsafe { self.write(sums, [row, rows], [column, columns], out) };
        }
    }

    /// Calls a function with columns and depth of each part of those columns whose right factors are in panels at once.
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

    /// Where the panels of a part begin, of all.
    fn panels_at(&self, columns: &Range<usize>, depth: &Range<usize>) -> usize {
        let width = columns.len().next_multiple_of(self.micro.columns);
        columns.start * self.product.depth + width * depth.start
    }

    /// Brings all right factors into panels.
    ///
    /// # Safety
    /// The right factor of the product, and room for as many bytes as [`panel_bytes`] says.
    unsafe fn pack<S: Stored<T>>(&self, y: *const S, to: *mut T) {
        let p = &self.product;
        let [_, at, _] = p.matrix(0);
        for column in (0..p.columns).step_by(self.split.columns) {
            if interrupt::is_due() {
                return;
            }
            self.each_part(column..(column + self.split.columns).min(p.columns), |columns, depth| {
                // SAFETY: columns and depth that there are, and their place.
                unsafe {
                    let to = to.add(self.panels_at(&columns, &depth));
                    let panels = self.panels(depth.len());
                    p.rhs.pack(y.add(at), [columns, depth], T::ZERO, to, &panels);
                }
            });
        }
    }

    /// Columns of the next panels, of so many that are left.
    fn part(&self, columns: usize) -> usize {
        let width = self.width.min(columns);
        let whole = width / self.micro.lanes() * self.micro.lanes();
        if self.right.is_some() && whole > 0 { whole } else { width }
    }

    /// Right factors in panels: those that are there, where factors lie, if they are whole vectors, or brought together.
    ///
    /// # Safety
    /// As [`Block::run`]; the columns are those of a [part](Block::part).
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
                // SAFETY: a place in them.
                let first = unsafe { all.add(self.panels_at(&columns, &depth)) };
                return (first, self.panels(depth.len()));
            }
        };
        match self.right {
            Some(stride) if columns.len().is_multiple_of(self.micro.lanes()) => {
                let panel = self.micro.columns;
                // SAFETY: the first one.
                let first = unsafe { y.add(columns.start + depth.start * stride) };
                (first.cast::<T>(), Layout { line: 1, depth: stride, panel, width: panel })
            }
            _ => {
                let panels = self.panels(depth.len());
                // SAFETY: the caller's promise.
                unsafe { self.product.rhs.pack(y, [columns, depth], T::ZERO, buffer, &panels) };
                (buffer.cast_const(), panels)
            }
        }
    }

    /// The layout of panels.
    fn panels(&self, depth: usize) -> Layout {
        let width = self.micro.columns;
        Layout { line: 1, depth: width, panel: width * depth, width }
    }

    /// Computes all rows of a block of which right factors are in panels, so far apart, and room for left ones is at
    /// `to.lhs`.
    ///
    /// # Safety
    /// As [`Block::run`].
    unsafe fn rows<S: Stored<T>>(
        &self,
        x: *const S,
        row: usize,
        depth: Range<usize>,
        to: &Tile<T>,
        panels: usize,
    ) {
        let p = &self.product;
        // Left factors with rows or depth together are read where they lie, unless they are taken often and are far apart.
        let once = to.columns <= self.micro.columns;
        let lies = p.lhs.strides().filter(|[line, stride]| {
            let near = once || line.max(stride).saturating_mul(size_of::<T>()) <= PAGE;
            S::SAME && (p.rows == 1 || near && (*stride <= 1 || *line == 1))
        });
        for first in (0..to.rows).step_by(self.height) {
            let rows = self.height.min(to.rows - first);
            let (left, layout) = match lies {
                Some([line, stride]) => {
                    // SAFETY: a left factor of the block.
                    let at = unsafe { x.add((row + first) * line + depth.start * stride) };
                    let layout = Layout { line, depth: stride, panel: line * self.micro.rows, width: 1 };
                    (at.cast::<T>(), layout)
                }
                None => {
                    let to = to.lhs.0.cast_mut();
                    let lines = row + first..row + first + rows;
                    // SAFETY: rows and depth that there are, and room for them in the buffer.
                    unsafe { p.lhs.pack(x, [lines, depth.clone()], T::ZERO, to, &self.left) };
                    (to.cast_const(), self.left)
                }
            };
            // SAFETY: the left factors of these rows, and their place in the result.
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

    /// Computes all tiles of left factors that are brought together at once, of rows of tiles that are so far apart, and of
    /// panels that are so far apart. A panel stays near for all rows: of `f32` with AVX2, in the first level of the cache.
    ///
    /// # Safety
    /// As [`Block::run`].
    unsafe fn tiles(&self, all: &Tile<T>, down: usize, across: usize) {
        let Micro { rows, columns, .. } = self.micro;
        for (panel, column) in (0..all.columns).step_by(columns).enumerate() {
            for (tile, row) in (0..all.rows).step_by(rows).enumerate() {
                for k in (0..all.depth).step_by(SUMMANDS) {
                    // SAFETY: factors of the tile, and its place in the result.
                    unsafe {
                        self.micro.run(&Tile {
                            to: all.to.add(row * all.stride + column),
                            rows: rows.min(all.rows - row),
                            columns: columns.min(all.columns - column),
                            depth: SUMMANDS.min(all.depth - k),
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

    /// Writes the sums of a block to where they belong.
    ///
    /// # Safety
    /// As [`Block::run`].
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
            // SAFETY: a row of the block.
            let (sums, out) = (unsafe { sums.add(i * columns) }, out.wrapping_add(to));
            let run = across.last().map_or(1, |d| d.0);
            let stride = across.last().map_or(1, |d| d.1);
            let mut j = 0;
            while j < columns {
                let to = at(across, column + j);
                let count = (run - (column + j) % run).min(columns - j);
                for l in 0..count {
                    let place = out.wrapping_add(to.wrapping_add(l.wrapping_mul(stride)));
                    // SAFETY: an element of the row, and its place in the result; the strides stay inside the
                    // result.
                    unsafe { place.write(R::narrow(sums.add(j + l).read())) };
                }
                j += count;
            }
        }
    }
}
