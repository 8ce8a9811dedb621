//! Products and operations on their results, computed in stages. Each block of rows passes through all stages
//! before the next block, so that the values between the stages stay in the cache. Shapes may change between
//! the stages. The last product, which may be the only one, may be written transposed.
//!
//! ```text
//! dot ──▶ tiles ──▶ dot ──▶ transpose        for each block of rows: one stage after another
//! ```
//!
//! The dimensions of a product's result that come from its left factor are the *grid*: all values between the
//! stages have these dimensions. A value goes *along* a grid dimension if one of its own dimensions
//! corresponds to the grid dimension. Along the other grid dimensions, every block uses the same elements of
//! the value.

use std::cell::Cell;
use std::sync::Arc;

use farcall_ir::op::DotGeneral;
use farcall_ir::{Op, TensorType, interrupt};
use smallvec::SmallVec;

use super::InPlace;
use super::args::Place;
use super::body::{Body, BodyInst};
use super::dot::{self, Laid};
use super::loops::lower;
use super::loops::prepared::{PlacedKernel, PreparedKernel};
use super::product::{self, Alike, Computing, Line, Panels, Source};

/// Maximum number of products that are summed for an element of the first stage. With more products,
/// computing an element takes much longer than moving it.
const MAX_DEPTH: usize = 256;

/// Maximum size in bytes of the values between the stages of a block.
const CACHE_BYTES: usize = 256 << 10;

/// Minimum and maximum number of rows in a block.
const BLOCK_ROWS: [usize; 2] = [32, 256];
/// Preferred number of blocks.
const PREFERRED_BLOCKS: usize = 8;
/// Minimum number of blocks if there is work for several threads.
const MIN_BLOCKS: usize = 4;

/// Maximum number of bytes of right factors that a thread packs into panels and keeps for several blocks.
const MAX_PANEL_BYTES: usize = 2 << 20;

/// Minimum number of multiplications in a task.
const MIN_TASK_PRODUCTS: usize = 1 << 22;

/// Alignment of the parts of a block's memory.
const ALIGNMENT: usize = 64;

/// For each dimension of the grid, the dimension of a value that corresponds to it; `None` if the value does
/// not go along the grid dimension.
type Along = SmallVec<[Option<usize>; 4]>;

/// Prepares a kernel for the region of a fusion that begins with a product.
pub(super) fn prepare(body: &Body) -> Option<PreparedKernel> {
    is_plain(body).then_some(())?;
    let before = before_transpose(body);
    let (body, written) =
        before.as_ref().map_or((body, None), |(body, strides)| (body, Some(strides.as_slice())));
    if let ([only], Some(strides)) = (&body.insts[..], written) {
        return transposed(body, only, strides);
    }
    let stages = stages(body);
    let grid = Grid::new(body, &stages)?;
    let along = along(body, &grid)?;
    let mut building = Building {
        body,
        stages: &stages,
        grid: &grid,
        along: &along,
        written,
        homes: Vec::new(),
        bytes: 0,
        panels: 0,
    };
    let steps = building.steps()?;
    let (bytes, inputs) = (building.bytes, body.args.len());
    let outputs = body.returned.len();
    let blocks = grid.blocks();
    let work = building.work()?;
    if blocks < MIN_BLOCKS && work.saturating_mul(blocks) >= 2 * MIN_TASK_PRODUCTS {
        return None;
    }
    let per_task = (MIN_TASK_PRODUCTS / work.max(1)).max(1);
    let alike = grid.blocks_alike();
    let prepared = PreparedKernel::in_tasks(blocks.div_ceil(per_task), move |args, task| {
        // From here the panels belong to this task; if it panics, they are discarded.
        let mut packed = PACKED.take();
        let is_kept = product::with_memory(&MEMORY, bytes, |memory| {
            let bases: SmallVec<[*mut u8; 12]> = (0..inputs)
                .map(|i| args.input_ptr::<u8>(i).cast_mut())
                .chain((0..outputs).map(|i| args.output_ptr::<u8>(i)))
                .chain([memory])
                .collect();
            for block in task * per_task..((task + 1) * per_task).min(blocks) {
                if interrupt::is_due() {
                    return;
                }
                let (at, these) = (grid.at(block), Some((args.run_number(), block / alike)));
                let wanted = steps.iter().filter(|step| !step.is_alike || packed != these);
                // SAFETY: the bases are operands, results and the memory of this task's blocks.
                wanted.for_each(|step| unsafe { step.run(&bases, &at) });
                packed = these;
            }
        });
        if is_kept {
            PACKED.set(packed);
        }
    });
    Some(prepared.numbered())
}

/// Returns true if every value has elements, and none is quantized.
fn is_plain(body: &Body) -> bool {
    let plain = |t: &TensorType| t.quant.is_none() && t.elements().is_some_and(|n| n > 0);
    body.args.iter().chain(body.insts.iter().map(|i| &i.ty)).all(plain)
}

/// Returns the outputs that may share memory with operands. A result of the last elementwise operations may
/// be in the memory of an operand, if no earlier stage reads the operand and each block reads only its own
/// rows of the operand.
pub(super) fn in_place(body: &Body) -> InPlace {
    let stages = stages(body);
    // This function may be called for a body that `prepare` does not support.
    let Some(last) = stages.last().filter(|_| body.is_sound() && is_plain(body)) else {
        return InPlace::Nowhere;
    };
    let is_moved = |inst: &BodyInst| {
        matches!(inst.op, Op::DotGeneral(_) | Op::Transpose { .. }) || inst.reducer.is_some()
    };
    let along = Grid::new(body, &stages).and_then(|grid| along(body, &grid));
    let Some(along) = along.filter(|_| !body.insts[last.clone()].iter().any(is_moved)) else {
        return InPlace::Nowhere;
    };
    let own_rows = |value: usize| along[value].iter().enumerate().all(|(d, own)| *own == Some(d));
    let read_before = |x: usize| body.insts[..last.start].iter().any(|inst| inst.operands.contains(&x));
    let made_before = |value: usize| value < body.args.len() + last.start;
    let outputs = (0..body.returned.len()).filter(|o| made_before(body.returned[*o])).collect();
    let inputs = (0..body.args.len()).filter(|x| !own_rows(*x) || read_before(*x)).collect();
    InPlace::But { outputs, inputs }
}

/// If the region ends with a product and a transpose that keeps columns contiguous, returns the region
/// without the transpose, and the strides with which the product's result is written instead.
fn before_transpose(body: &Body) -> Option<(Body, Vec<usize>)> {
    let (last, insts) = body.insts.split_last()?;
    let (product, Op::Transpose { permutation }) = (insts.last()?, &last.op) else { return None };
    let value = body.args.len() + insts.len() - 1;
    let is_last = body.returned == [value + 1] && last.operands == [value];
    let together = permutation.last().is_some_and(|d| d + 1 == permutation.len());
    if !matches!(product.op, Op::DotGeneral(_)) || !is_last || !together {
        return None;
    }
    let mut strides = vec![0; permutation.len()];
    for (d, stride) in permutation.iter().zip(Laid::row_major(last.ty.sizes()).strides) {
        *strides.get_mut(*d)? = stride;
    }
    let body = Body { args: body.args.clone(), insts: insts.to_vec(), returned: vec![value] };
    Some((body, strides))
}

/// Prepares a single product whose result is written with these strides.
fn transposed(body: &Body, inst: &BodyInst, strides: &[usize]) -> Option<PreparedKernel> {
    let (Op::DotGeneral(d), &[x, y]) = (&inst.op, inst.operands.as_slice()) else { return None };
    let [of_x, of_y] = [body.args.get(x)?, body.args.get(y)?];
    let types = dot::types(of_x, of_y, &inst.ty)?;
    let out = Laid { sizes: inst.ty.sizes().to_vec(), strides: strides.to_vec() };
    let [of_x, of_y] = [of_x, of_y].map(|t| Laid::row_major(t.sizes()));
    let product = dot::laid(d, [&of_x, &of_y, &out])?;
    // A product with a vector sums in an order that depends on the layout of the result.
    let is_of_matrices = product.rows > 1 && product.columns > 1;
    product.direct().filter(|_| is_of_matrices)?;
    product::prepare(vec![product], types, [Source::Input(x), Source::Input(y)])
}

thread_local! {
    /// Values between the stages of a block.
    static MEMORY: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
    /// Identifies the right factors that `MEMORY` holds in panels: the number of the run, and the number of
    /// the group of blocks that share these factors. `None` if there are no panels.
    static PACKED: Cell<Option<(u64, usize)>> = const { Cell::new(None) };
}

/// Instructions that are computed together: a product, or the instructions between two products.
type Stage = std::ops::Range<usize>;

fn stages(body: &Body) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    for i in 0..body.insts.len() {
        match stages.last_mut() {
            Some(stage) if !is_product(body, i) && !is_product(body, stage.start) => stage.end = i + 1,
            _ => stages.push(i..i + 1),
        }
    }
    stages
}

fn is_product(body: &Body, inst: usize) -> bool {
    matches!(body.insts[inst].op, Op::DotGeneral(_))
}

/// The grid dimensions, and their division into blocks.
struct Grid {
    sizes: Vec<usize>,
    /// Sizes of a block along these dimensions.
    block: Vec<usize>,
    /// Number of batch dimensions, which come first.
    batch: usize,
}

impl Grid {
    /// Creates the grid for a region that begins with a product, if computing by blocks pays off.
    fn new(body: &Body, stages: &[Stage]) -> Option<Grid> {
        let first = body.insts.first()?;
        let Op::DotGeneral(d) = &first.op else { return None };
        let lhs = body.ty(*first.operands.first()?)?;
        let rows = dot::free(lhs.rank(), &d.lhs_batch, &d.lhs_contract)?;
        let depth = d.lhs_contract.iter().fold(1usize, |n, dim| n.saturating_mul(lhs.sizes()[*dim]));
        let batch = d.lhs_batch.len();
        let sizes = first.ty.sizes().get(..batch + rows.len())?.to_vec();
        if depth > MAX_DEPTH || stages.len() < 2 {
            return None;
        }
        let all: usize = sizes.iter().product();
        let bytes = kept(body, stages)? / all;
        let most =
            (CACHE_BYTES / bytes.max(1)).min(BLOCK_ROWS[1]).min((all / PREFERRED_BLOCKS).max(BLOCK_ROWS[0]));
        let mut block = vec![1; sizes.len()];
        let mut left = most;
        for (block, size) in block.iter_mut().zip(&sizes).skip(batch).rev() {
            *block = (1..=left.min(*size)).rev().find(|n| size.is_multiple_of(*n))?;
            left /= *block;
            if *block < *size {
                break;
            }
        }
        (block.iter().product::<usize>() >= BLOCK_ROWS[0]).then_some(Grid { sizes, block, batch })
    }

    fn blocks(&self) -> usize {
        self.sizes.iter().zip(&self.block).map(|(size, block)| size / block).product()
    }

    /// Number of consecutive blocks with the same right factors.
    fn blocks_alike(&self) -> usize {
        let rows = self.sizes.iter().zip(&self.block).skip(self.batch);
        rows.map(|(size, block)| size / block).product()
    }

    /// Returns the index along the grid at which a block begins.
    fn at(&self, mut number: usize) -> SmallVec<[usize; 4]> {
        let mut at: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.sizes.len());
        for (d, at) in at.iter_mut().enumerate().rev() {
            let count = self.sizes[d] / self.block[d];
            *at = number % count * self.block[d];
            number /= count;
        }
        at
    }

    /// Returns the sizes of a block's part of a value.
    fn part(&self, ty: &TensorType, along: &Along) -> Vec<usize> {
        let mut sizes = ty.sizes().to_vec();
        for (own, block) in along.iter().zip(&self.block) {
            if let Some(own) = own {
                sizes[*own] = *block;
            }
        }
        sizes
    }
}

/// Estimates the number of bytes that stages store for later stages. Like [`Building::settle`], the estimate
/// puts the results of elementwise operations into the memory of operands that are read for the last time.
fn kept(body: &Body, stages: &[Stage]) -> Option<usize> {
    let mut bytes = 0usize;
    for stage in stages {
        let size = |i: usize| Some((body.insts[i].ty.dtype.size(), body.insts[i].ty.elements()?));
        let reads = |i: usize| {
            body.insts[stage.clone()].iter().any(|inst| inst.operands.contains(&(body.args.len() + i)))
        };
        let is_last = |i: &usize| reads(*i) && !is_taken_after(body, *i, stage);
        let mut places: Vec<(usize, usize)> = match is_product(body, stage.start) {
            true => Vec::new(),
            false => (0..stage.start).filter(is_last).map(size).collect::<Option<_>>()?,
        };
        for i in stage.clone().filter(|i| is_taken_after(body, *i, stage)) {
            let made = size(i)?;
            if body.returned.contains(&(body.args.len() + i)) {
                continue;
            }
            match places.iter().position(|place| *place == made) {
                Some(place) => drop(places.swap_remove(place)),
                None => bytes = bytes.saturating_add(made.0.saturating_mul(made.1)),
            }
        }
    }
    Some(bytes)
}

/// Returns true if an instruction after a stage uses the result of `inst`, or the region returns it.
fn is_taken_after(body: &Body, inst: usize, stage: &Stage) -> bool {
    let value = body.args.len() + inst;
    body.returned.contains(&value) || body.insts[stage.end..].iter().any(|i| i.operands.contains(&value))
}

/// Returns, for each value, the dimensions that correspond to grid dimensions. They are derived backwards,
/// from the results to the operands. `None` if blocks cannot be computed one by one.
fn along(body: &Body, grid: &Grid) -> Option<Vec<Along>> {
    let mut all: Vec<Option<Along>> = vec![None; body.args.len() + body.insts.len()];
    let rows: Along = (0..grid.sizes.len()).map(Some).collect();
    let demand = |all: &mut Vec<Option<Along>>, x: usize, along: Along| -> Option<()> {
        let sizes = body.ty(x)?.sizes();
        let fits = along.iter().zip(&grid.sizes).all(|(own, n)| own.is_none_or(|d| sizes.get(d) == Some(n)));
        let same = all[x].as_ref().is_none_or(|known| *known == along);
        all[x] = Some(along);
        (fits && same).then_some(())
    };
    for value in &body.returned {
        demand(&mut all, *value, rows.clone())?;
    }
    for (i, inst) in body.insts.iter().enumerate().rev() {
        let own = all[body.args.len() + i].clone()?;
        let taken = match &inst.op {
            Op::DotGeneral(d) => of_product(body, grid, inst, d).filter(|_| own == rows)?,
            _ => of_elements(body, inst, &own)?,
        };
        for (x, along) in inst.operands.iter().zip(taken) {
            demand(&mut all, *x, along)?;
        }
    }
    all.into_iter().collect()
}

/// Returns, for each factor of a product, the dimensions that correspond to grid dimensions.
fn of_product(body: &Body, grid: &Grid, inst: &BodyInst, d: &DotGeneral) -> Option<Vec<Along>> {
    let &[x, y] = inst.operands.as_slice() else { return None };
    let rows = dot::free(body.ty(x)?.rank(), &d.lhs_batch, &d.lhs_contract)?;
    // A product with a vector sums in another order than a product of matrices.
    let columns = inst.ty.sizes().get(grid.sizes.len()..)?.iter().product::<usize>();
    if d.lhs_batch.len() != grid.batch
        || d.rhs_batch.len() != grid.batch
        || grid.batch + rows.len() != grid.sizes.len()
        || columns < 2
        || y >= body.args.len()
    {
        return None;
    }
    let lhs = d.lhs_batch.iter().copied().chain(rows).map(Some).collect();
    let mut rhs: Along = d.rhs_batch.iter().copied().map(Some).collect();
    rhs.resize(grid.sizes.len(), None);
    Some(vec![lhs, rhs])
}

/// Returns, for each operand of a tile operation, the dimensions that correspond to grid dimensions. `own`
/// has these dimensions for the result.
fn of_elements(body: &Body, inst: &BodyInst, own: &Along) -> Option<Vec<Along>> {
    let whole: Along = own.iter().map(|_| None).collect();
    let types: Option<SmallVec<[&TensorType; 3]>> = inst.operands.iter().map(|x| body.ty(*x)).collect();
    let (types, is_whole) = (types?, *own == whole);
    let renamed = |name: &dyn Fn(usize) -> Option<usize>| -> Option<Along> {
        own.iter().map(|d| d.map_or(Some(None), |d| name(d).map(Some))).collect()
    };
    Some(match (&inst.op, types.as_slice()) {
        (Op::Constant(literal), []) => (is_whole || literal.is_splat()).then(Vec::new)?,
        (Op::Iota { dim }, []) => (!own.contains(&Some(*dim))).then(Vec::new)?,
        (Op::BroadcastInDim { dims }, [x]) => {
            let at = |d: usize| dims.iter().position(|to| *to == d);
            // Along a dimension in which the operand is repeated, all blocks read the same elements.
            let from = |d: usize| at(d).filter(|i| x.sizes().get(*i) == inst.ty.sizes().get(d));
            vec![own.iter().map(|d| d.and_then(from)).collect()]
        }
        (Op::Reduce { dims }, [x, _]) => {
            let kept: Vec<usize> = (0..x.rank()).filter(|d| !dims.contains(d)).collect();
            vec![renamed(&|d| kept.get(d).copied())?, whole]
        }
        (Op::Reshape, [x]) => {
            let same = reshaped(x.sizes(), inst.ty.sizes());
            vec![renamed(&|d| same.iter().find(|(_, to)| *to == d).map(|(from, _)| *from))?]
        }
        (op, _) if op.moves_elements() => is_whole.then(|| vec![whole; types.len()])?,
        (_, types) => {
            let of = |x: &&TensorType| match x.rank() {
                0 => Some(whole.clone()),
                _ => (x.sizes() == inst.ty.sizes()).then(|| own.clone()),
            };
            types.iter().map(of).collect::<Option<_>>()?
        }
    })
}

/// Returns pairs of dimensions that correspond to each other in two shapes, from outer to inner. On either
/// side, dimensions of size 1 may have no counterpart.
fn reshaped(from: &[usize], to: &[usize]) -> Vec<(usize, usize)> {
    let (mut i, mut j, mut same) = (0, 0, Vec::new());
    while let (Some(a), Some(b)) = (from.get(i), to.get(j)) {
        match (a == b, *a, *b) {
            (true, ..) => {
                same.push((i, j));
                (i, j) = (i + 1, j + 1);
            }
            (false, 1, _) => i += 1,
            (false, _, 1) => j += 1,
            _ => break,
        }
    }
    same
}

struct Building<'a> {
    body: &'a Body,
    stages: &'a [Stage],
    grid: &'a Grid,
    along: &'a [Along],
    /// Strides of the only result, if it is not row-major.
    written: Option<&'a [usize]>,
    /// Start of each value for which it is known: the number of a base address, and a byte offset. The base
    /// addresses are the operands, then the results, then the block memory.
    homes: Vec<Option<(usize, usize)>>,
    /// Size of a block's memory in bytes.
    bytes: usize,
    /// Size of the panels in bytes.
    panels: usize,
}

impl Building<'_> {
    fn steps(&mut self) -> Option<Vec<Step>> {
        let body = self.body;
        self.homes = (0..body.args.len()).map(|base| Some((base, 0))).collect();
        self.homes.resize(self.along.len(), None);
        for (i, value) in body.returned.iter().enumerate() {
            // A result must be computed by the region, not be one of its operands, and must be returned only
            // once.
            self.homes[*value].is_none().then_some(())?;
            self.homes[*value] = Some((body.args.len() + i, 0));
        }
        let mut steps = Vec::new();
        for stage in self.stages {
            match &body.insts[stage.start].op {
                Op::DotGeneral(d) => steps.extend(self.product(&body.insts[stage.start], d, stage)?),
                _ => steps.push(self.tiles(stage)?),
            }
        }
        Some(steps)
    }

    /// Number of multiplications per block.
    fn work(&self) -> Option<usize> {
        let products = self.body.insts.iter().filter_map(|inst| match &inst.op {
            Op::DotGeneral(d) => Some((inst, d)),
            _ => None,
        });
        let mut work = 0usize;
        for (inst, d) in products {
            let lhs = self.body.ty(inst.operands[0])?;
            let depth = d.lhs_contract.iter().fold(1usize, |n, dim| n.saturating_mul(lhs.sizes()[*dim]));
            work = work.saturating_add(inst.ty.elements()?.saturating_mul(depth));
        }
        Some(work / self.grid.blocks().max(1))
    }

    /// Reserves a part of a block's memory. Returns the number of its base address, and its byte offset.
    fn room(&mut self, bytes: usize) -> Option<(usize, usize)> {
        let at = self.bytes;
        self.bytes = at.checked_add(bytes.checked_next_multiple_of(ALIGNMENT)?)?;
        Some((self.memory(), at))
    }

    /// Reserves a part of a block's memory, as a spot that is the same for every block.
    fn room_spot(&mut self, bytes: usize) -> Option<Spot> {
        let (base, offset) = self.room(bytes)?;
        Some(Spot { place: Place { base, offset, size: bytes }, steps: SmallVec::new() })
    }

    /// Returns the number of the base address that is the block memory.
    fn memory(&self) -> usize {
        self.body.args.len() + self.body.returned.len()
    }

    /// Returns the type of a block's part of a value.
    fn part(&self, value: usize) -> Option<TensorType> {
        let ty = self.body.ty(value)?;
        Some(TensorType::new(ty.dtype, self.grid.part(ty, &self.along[value])))
    }

    /// Returns the place of a block's part of a value, and the sizes and strides of the part.
    fn spot(&self, value: usize) -> Option<(Spot, Laid)> {
        let (ty, along) = (self.body.ty(value)?, &self.along[value]);
        let (base, offset) = self.homes[value]?;
        let size = ty.dtype.size();
        let sizes = self.grid.part(ty, along);
        if base == self.memory() {
            let place = Place { base, offset, size: sizes.iter().product::<usize>() * size };
            return Some((Spot { place, steps: SmallVec::new() }, Laid::row_major(&sizes)));
        }
        let strides = match self.written.filter(|_| self.body.returned == [value]) {
            Some(strides) => strides.to_vec(),
            None => Laid::row_major(ty.sizes()).strides,
        };
        let steps = along.iter().map(|own| own.map_or(0, |d| strides[d] * size)).collect();
        let reach: usize = sizes.iter().zip(&strides).map(|(n, stride)| (n - 1) * stride).sum();
        let place = Place { base, offset, size: (reach + 1) * size };
        Some((Spot { place, steps }, Laid { sizes, strides }))
    }

    fn product(&mut self, inst: &BodyInst, d: &DotGeneral, stage: &Stage) -> Option<SmallVec<[Step; 2]>> {
        let &[x, y] = inst.operands.as_slice() else { return None };
        let value = self.body.args.len() + stage.start;
        if self.homes[value].is_none() {
            let bytes = self.part(value)?.bytes()?;
            self.homes[value] = Some(self.room(bytes)?);
        }
        let types = dot::types(self.body.ty(x)?, self.body.ty(y)?, &inst.ty)?;
        let [x, y, out] = [self.spot(x)?, self.spot(y)?, self.spot(value)?];
        let product = dot::laid(d, [&x.1, &y.1, &out.1])?;
        product.direct()?;
        let rows = self.grid.sizes[self.grid.batch..].iter().product();
        let room = if self.grid.blocks_alike() > 1 { MAX_PANEL_BYTES.saturating_sub(self.panels) } else { 0 };
        let Computing { prepared, panels } = product::block(product, types, Alike { rows, bytes: room })?;
        let mut steps = SmallVec::new();
        let mut right = y.0;
        if let Some(Panels { bytes, pack }) = panels {
            self.panels += bytes;
            let panels = self.room_spot(bytes)?;
            steps.push(Step::new(pack, vec![right, panels.clone()], 1, true));
            right = panels;
        }
        steps.push(Step::new(prepared, vec![x.0, right, out.0], 2, false));
        Some(steps)
    }

    /// Compiles elementwise operations and reductions of rows.
    fn tiles(&mut self, stage: &Stage) -> Option<Step> {
        let first = self.body.args.len();
        let insts = &self.body.insts[stage.clone()];
        let inside = first + stage.start..first + stage.end;
        let mut inputs: Vec<usize> = Vec::new();
        for x in insts.iter().flat_map(|i| &i.operands).filter(|x| !inside.contains(x)) {
            if !inputs.contains(x) {
                inputs.push(*x);
            }
        }
        let outputs: Vec<usize> =
            inside.clone().filter(|x| is_taken_after(self.body, x - first, stage)).collect();
        let number = |x: &usize| match inputs.iter().position(|i| i == x) {
            Some(input) => input,
            None => inputs.len() + x - inside.start,
        };
        let part = Body {
            args: inputs.iter().map(|x| self.part(*x)).collect::<Option<_>>()?,
            insts: (inside.clone().zip(insts))
                .map(|(value, inst)| {
                    let operands = inst.operands.iter().map(number).collect();
                    Some(BodyInst { operands, ty: self.part(value)?, ..inst.clone() })
                })
                .collect::<Option<_>>()?,
            returned: outputs.iter().map(number).collect(),
        };
        let made: Vec<TensorType> = outputs.iter().map(|x| self.part(*x)).collect::<Option<_>>()?;
        let args: Vec<&TensorType> = part.args.iter().collect();
        let prepared = lower::tiles(&args, &part, &made.iter().collect::<Vec<_>>())?;
        self.settle(&part, &inputs, &outputs, stage)?;
        let mut spots = Vec::with_capacity(inputs.len() + outputs.len() + 1);
        for value in inputs.iter().chain(&outputs) {
            let (spot, laid) = self.spot(*value)?;
            // Tile programs read and write contiguous memory.
            is_together(&laid).then_some(())?;
            spots.push(spot);
        }
        if prepared.scratch() > 0 {
            spots.push(self.room_spot(prepared.scratch())?);
        }
        Some(Step::new(prepared, spots, inputs.len(), false))
    }

    /// Places the results of a stage for later stages: in the memory of operands that are read for the last
    /// time, or in new memory.
    fn settle(&mut self, body: &Body, inputs: &[usize], outputs: &[usize], stage: &Stage) -> Option<()> {
        let mut taken: Vec<usize> = Vec::new();
        let allowed = lower::in_place(body);
        for (o, output) in outputs.iter().enumerate() {
            if self.homes[*output].is_some() {
                continue;
            }
            let ty = self.part(*output)?;
            let same = |x: usize| {
                let from = self.part(x).filter(|from| from.dtype.size() == ty.dtype.size());
                from.is_some_and(|from| from.elements() == ty.elements())
            };
            let in_place = inputs.iter().enumerate().find(|(i, x)| {
                self.homes[**x].is_some_and(|(base, _)| base == self.memory())
                    && !taken.contains(i)
                    && !is_taken_after(self.body, **x - self.body.args.len(), stage)
                    && same(**x)
                    && allowed.allows(o, *i)
            });
            self.homes[*output] = match in_place {
                Some((i, x)) => {
                    taken.push(i);
                    self.homes[*x]
                }
                None => Some(self.room(ty.bytes()?)?),
            };
        }
        Some(())
    }
}

/// Returns true if the elements of a part are contiguous.
fn is_together(part: &Laid) -> bool {
    let own = Laid::row_major(&part.sizes);
    let strides = part.strides.iter().zip(&own.strides);
    part.sizes.iter().zip(strides).all(|(n, (a, b))| *n == 1 || a == b)
}

/// The place of the first block's part of a value. For each dimension of the grid, `steps` has the distance
/// in bytes from one row of the value to the next. Values in the block memory have no distances.
#[derive(Clone)]
struct Spot {
    place: Place,
    steps: SmallVec<[usize; 4]>,
}

/// A step that computes a stage of a block, or packs right factors into panels for it.
struct Step {
    /// The kernel, placed for the first block.
    kernel: PlacedKernel,
    /// For each place, the distances from row to row along the dimensions of the grid.
    steps: Vec<SmallVec<[usize; 4]>>,
    /// True if the step computes the same for all blocks with the same right factors.
    is_alike: bool,
}

impl Step {
    fn new(prepared: PreparedKernel, spots: Vec<Spot>, inputs: usize, is_alike: bool) -> Step {
        let (places, steps): (Vec<Place>, _) = spots.into_iter().map(|s| (s.place, s.steps)).unzip();
        Step { kernel: PlacedKernel::new(Arc::new(prepared), places.into(), inputs), steps, is_alike }
    }

    /// Runs the step for the block that begins at row `at`. `bases` are operands, results, and the block's
    /// memory.
    ///
    /// # Safety
    /// Operands and results have the types of the fusion, and the block's memory has the reserved size. No
    /// other task computes this block.
    unsafe fn run(&self, bases: &[*mut u8], at: &[usize]) {
        let distance = |i: usize| self.steps[i].iter().zip(at).map(|(step, row)| step * row).sum();
        // SAFETY: the caller guarantees the memory (`# Safety` above), and blocks are within operands and
        // results.
        unsafe { self.kernel.run_moved(bases, distance) };
    }
}
