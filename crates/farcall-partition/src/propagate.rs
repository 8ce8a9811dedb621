//! Propagation: gives a sharding to every value of a program, from the shardings that the program states.
//!
//! Values that control flow connects (a loop's operand, the arguments of its regions, its result) form a
//! group, which has one sharding. There is a round for each user priority, the smallest number first. A round
//! walks over the program until nothing changes: first it follows pointwise operations, which compute each
//! element from the elements at the same place, to a fixed point, and then the other operations. Propagation
//! divides open dimensions only and never shortens a list of axes, so shardings that the user states stay.
//! The method is Shardy's. The partitioner of a custom call without a rule determines the shardings of the
//! call's results instead, as in XLA.

use std::sync::Arc;

use farcall_ir::module::{Inst, Region};
use farcall_ir::op::CustomCall;
use farcall_ir::sharding::TileAssignment;
use farcall_ir::{Diagnostic, Func, InstId, Op, Span, TensorType, ValueId};
use rustc_hash::FxHashMap;

use crate::annotation::Annotation;
use crate::grid::{DeviceGrid, SubAxis};
use crate::manual::Border;
use crate::partitioner::{self, Partitioner, ShardedCall, ShardedTensor};
use crate::report::ShardingSource;
use crate::rotation::Rotation;
use crate::rule::{CallRules, Factor, Rule, TensorFactors, rule};
use crate::tiling::Tiling;

/// A program, and the shardings that it states for more than single values.
pub(crate) struct StatedProgram<'p> {
    pub(crate) grid: &'p DeviceGrid,
    pub(crate) func: &'p Func,
    /// The shardings that the program states for its results.
    pub(crate) results: &'p [Option<Annotation>],
    /// The instructions between values and their parts.
    pub(crate) borders: &'p FxHashMap<InstId, Border>,
    pub(crate) calls: &'p dyn CallRules,
    /// True if the shardings are Shardy's.
    pub(crate) uses_shardy: bool,
}

/// The shardings of the values of a function.
#[derive(Debug)]
pub(crate) struct Shardings {
    /// Group of each value, by the value's index.
    group_of: Vec<u32>,
    groups: Vec<Group>,
}

/// Values that share a sharding.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) tiling: Tiling,
    /// False if devices must have the complete value.
    is_divisible: bool,
    /// True for each dimension that propagation may divide further.
    is_open: Vec<bool>,
    /// User priority of each dimension.
    priority: Vec<u32>,
    /// Sub-axes that must not divide the value.
    excluded: Vec<SubAxis>,
    /// Size of each dimension.
    sizes: Vec<usize>,
    /// Source of the last change of the sharding.
    pub(crate) source: ShardingSource,
    is_stated: bool,
    /// Number of values.
    values: usize,
    /// For a result of a call that its partitioner divides: the tiling that other operations request.
    requested: Option<Tiling>,
}

impl Shardings {
    /// Creates the shardings of a function: no value is divided yet.
    pub(crate) fn new(func: &Func) -> Shardings {
        let mut sets = Sets { parent: (0..func.value_count() as u32).collect() };
        unite_region(&mut sets, func.body());
        let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
        let (mut group_of, mut groups) = (Vec::new(), Vec::new());
        for value in func.values() {
            let root = sets.root(value.index() as u32);
            let number = *numbers.entry(root).or_insert_with(|| {
                groups.push(Group::new(func.tensor(value)));
                groups.len() as u32 - 1
            });
            groups[number as usize].values += 1;
            group_of.push(number);
        }
        Shardings { group_of, groups }
    }

    fn group_index(&self, value: ValueId) -> usize {
        self.group_of[value.index()] as usize
    }

    /// Returns the group of a value.
    pub(crate) fn of(&self, value: ValueId) -> &Group {
        &self.groups[self.group_index(value)]
    }

    /// Sets the sharding that the program states for a value. The first statement about a group counts.
    pub(crate) fn state(&mut self, value: ValueId, stated: &Annotation) {
        let index = self.group_index(value);
        self.groups[index].state(stated);
    }

    /// Propagates to a fixed point. Returns the tilings of the results.
    ///
    /// # Errors
    /// The partitioner of a call fails, or divides a result in a way that the axes of the grid do not.
    pub(crate) fn propagate(&mut self, program: &StatedProgram<'_>) -> Result<Vec<Tiling>, Vec<Diagnostic>> {
        let StatedProgram { grid, func, results, borders, .. } = *program;
        let mut steps = Vec::new();
        let mut of_results = Vec::new();
        func.walk(&mut |inst| match borders.get(&inst.id()) {
            Some(border) => {
                for (i, (operand, result)) in inst.operands().iter().zip(inst.results()).enumerate() {
                    let (whole, part) = if border.enters { (operand, result) } else { (result, operand) };
                    steps.push(Step::border(self, (*whole, *part), border.manual_dims(i), inst));
                }
            }
            None if !is_control(inst.op()) => {
                steps.push(Step::of(self, inst, program));
                steps.extend(Step::rotation(self, inst));
            }
            None => {}
        });
        for (i, (value, stated)) in func.body().returned().iter().zip(results).enumerate() {
            let Some(stated) = stated else {
                of_results.push(self.group_index(*value));
                continue;
            };
            let mut result = Group::new(func.tensor(*value));
            result.state(stated);
            of_results.push(self.groups.len());
            let groups = vec![self.group_index(*value), self.groups.len()];
            self.groups.push(result);
            steps.push(Step::identity(self, groups, ShardingSource::ResultOf(i)));
        }
        let mut priorities: Vec<u32> =
            self.groups.iter().flat_map(|group| group.priority.iter().copied()).chain([0]).collect();
        priorities.sort_unstable();
        priorities.dedup();
        for priority in priorities {
            while self.sweeps(grid, &mut steps, priority, true)?
                | self.sweep(grid, &mut steps, priority, false)?
            {}
        }
        let tiling = |(group, stated): (usize, &Option<Annotation>)| {
            self.groups[group].interface_tiling(grid, stated.as_ref())
        };
        Ok(of_results.into_iter().zip(results).map(tiling).collect())
    }

    /// Repeats sweeps until nothing changes. Returns true if anything changed.
    fn sweeps(
        &mut self,
        grid: &DeviceGrid,
        steps: &mut [Step],
        priority: u32,
        only_pointwise: bool,
    ) -> Result<bool, Vec<Diagnostic>> {
        let mut changed = false;
        while self.sweep(grid, steps, priority, only_pointwise)? {
            changed = true;
        }
        Ok(changed)
    }

    /// Follows each operation twice: in program order, then in reverse order. Returns true if anything
    /// changed.
    fn sweep(
        &mut self,
        grid: &DeviceGrid,
        steps: &mut [Step],
        priority: u32,
        only_pointwise: bool,
    ) -> Result<bool, Vec<Diagnostic>> {
        let mut changed = false;
        for at in (0..steps.len()).chain((0..steps.len()).rev()) {
            let step = &mut steps[at];
            if !step.rule.is_pointwise && only_pointwise {
                continue;
            }
            changed |= match &mut step.partitioned {
                Some(call) => self.call_partitioner(grid, call, &step.groups, step.source, priority)?,
                None => self.follow(grid, step, priority),
            };
        }
        Ok(changed)
    }

    /// Extends the shardings of a call's results by the answers of its partitioner. Returns true if anything
    /// changed.
    fn call_partitioner(
        &mut self,
        grid: &DeviceGrid,
        of: &mut PartitionedCall,
        groups: &[usize],
        source: ShardingSource,
        priority: u32,
    ) -> Result<bool, Vec<Diagnostic>> {
        let (operands, results) = groups.split_at(of.call.operands.len());
        let requested = |group: &usize| {
            let group = &self.groups[*group];
            group.requested.clone().unwrap_or_else(|| group.tiling.clone())
        };
        let tilings: Vec<Tiling> = operands
            .iter()
            .map(|group| self.groups[*group].tiling.clone())
            .chain(results.iter().map(requested))
            .collect();
        if of.tilings.as_ref() == Some(&tilings) {
            return Ok(false);
        }
        let tensors = of.call.operands.iter_mut().chain(&mut of.call.results);
        for (tensor, tiling) in tensors.zip(&tilings) {
            tensor.sharding = tiling.assignment(grid, tensor.ty.sizes(), &[]);
        }
        let inferred = of.partitioner.infer_sharding_from_operands(&of.call);
        let mut answers = Vec::from_iter(inferred.map_err(|problem| of.failed(problem))?);
        if tilings[operands.len()..].iter().any(|tiling| !tiling.is_whole()) {
            let accepted = of.partitioner.propagate_user_sharding(&of.call);
            answers.push(accepted.map_err(|problem| of.failed(problem))?);
        }
        of.tilings = Some(tilings);
        let mut changed = false;
        for answer in answers {
            let tilings = of.result_tilings(grid, &answer).map_err(|problem| of.failed(problem))?;
            for (group, tiling) in results.iter().zip(&tilings) {
                changed |= self.groups[*group].extend_to(grid, tiling, priority, source);
            }
        }
        Ok(changed)
    }

    /// Extends the shardings of an operation's operands and results by each other. Returns true if
    /// anything changed.
    fn follow(&mut self, grid: &DeviceGrid, step: &Step, priority: u32) -> bool {
        if let Some(manual) = &step.manual {
            return self.follow_border(grid, step, manual, priority);
        }
        let rule = &step.rule;
        // For each factor, the longest list of sub-axes that an operand or result has for it. Larger tensors
        // come first.
        let mut best: Vec<&[SubAxis]> = vec![&[]; rule.factors.len()];
        let mut order: Vec<usize> = (0..step.groups.len()).collect();
        order.sort_by_key(|t| std::cmp::Reverse(self.groups[step.groups[*t]].elements()));
        for t in order {
            let group = &self.groups[step.groups[t]];
            let seen = |d: usize| group.priority[d] <= priority;
            for (factor, axes) in projected(grid, rule, &rule.tensors[t], &group.tiling, seen) {
                if axes.len() > best[factor].len() {
                    best[factor] = axes;
                }
            }
        }
        let best: Vec<Vec<SubAxis>> = best.into_iter().map(<[SubAxis]>::to_vec).collect();
        let mut changed = false;
        for (group, factors) in step.groups.iter().zip(&rule.tensors) {
            changed |= self.groups[*group].extend(grid, rule, factors, &best, priority, step.source);
        }
        changed
    }
}

impl Shardings {
    /// Extends the shardings of a value and of its part by each other: they differ by manual sub-axes.
    fn follow_border(
        &mut self,
        grid: &DeviceGrid,
        step: &Step,
        manual: &[Vec<SubAxis>],
        priority: u32,
    ) -> bool {
        let [whole, part] = step.groups[..] else { return false };
        let (of_whole, of_part) = (&self.groups[whole].tiling.dims, &self.groups[part].tiling.dims);
        let prefixed = manual.iter().zip(of_part).map(|(manual, axes)| [&manual[..], axes].concat());
        let prefixed: Vec<Vec<SubAxis>> = prefixed.collect();
        let all_manual: Vec<SubAxis> = manual.concat();
        let stripped = manual.iter().zip(of_whole).map(|(manual, axes)| {
            let rest = axes.strip_prefix(manual.as_slice()).unwrap_or(&[]);
            rest.iter().copied().take_while(|axis| !all_manual.contains(axis)).collect()
        });
        let stripped: Vec<Vec<SubAxis>> = stripped.collect();
        let factors: TensorFactors = (0..prefixed.len()).map(|d| vec![d]).collect();
        let mut changed = false;
        for (group, axes) in [(whole, &prefixed), (part, &stripped)] {
            let mut rule = Rule::identity(&self.groups[group].sizes);
            // Padding of parts is not where padding of the complete value is.
            for (factor, manual) in rule.factors.iter_mut().zip(manual) {
                factor.can_be_uneven = manual.is_empty();
            }
            changed |= self.groups[group].extend(grid, &rule, &factors, axes, priority, step.source);
        }
        changed
    }
}

/// A call without a rule. Its partitioner determines the shardings of its results.
struct PartitionedCall {
    partitioner: Arc<dyn Partitioner>,
    call: ShardedCall,
    span: Span,
    /// Tilings of the operands, and tilings requested for the results, when the partitioner was last called.
    tilings: Option<Vec<Tiling>>,
}

impl PartitionedCall {
    /// Returns the call, unless no partitioner is registered for its target.
    fn of(
        inst: Inst<'_>,
        call: &CustomCall,
        program: &StatedProgram<'_>,
        shardings: &Shardings,
    ) -> Option<PartitionedCall> {
        let partitioner = partitioner::registered(&call.target)?;
        let tiling = |value| &shardings.of(value).tiling;
        let call = ShardedCall::new(inst, call, program.grid, tiling);
        Some(PartitionedCall { partitioner, call, span: inst.span(), tilings: None })
    }

    /// Converts the partitioner's answer for the results.
    fn result_tilings(&self, grid: &DeviceGrid, answer: &[TileAssignment]) -> Result<Vec<Tiling>, String> {
        let results = &self.call.results;
        if answer.len() != results.len() {
            return Err(format!("it returns shardings of {} results, not {}", answer.len(), results.len()));
        }
        let tiling = |(assignment, result): (&TileAssignment, &ShardedTensor)| {
            Tiling::of_assignment(grid, result.ty.rank(), assignment)
        };
        answer.iter().zip(results).map(tiling).collect()
    }

    fn failed(&self, problem: String) -> Vec<Diagnostic> {
        vec![partitioner::failed(&self.call.target, self.span, &problem)]
    }
}

/// An operation that propagation follows.
struct Step {
    rule: Rule,
    /// The call, if its partitioner is called instead of following `rule`.
    partitioned: Option<PartitionedCall>,
    /// The manual sub-axes of each dimension, if the step is a value and its part.
    manual: Option<Vec<Vec<SubAxis>>>,
    /// Groups of the operands and results in the order of the rule.
    groups: Vec<usize>,
    source: ShardingSource,
}

impl Step {
    fn of(shardings: &mut Shardings, inst: Inst<'_>, program: &StatedProgram<'_>) -> Step {
        let values = inst.own_operands().iter().chain(inst.results());
        let groups: Vec<usize> = values.map(|v| shardings.group_index(*v)).collect();
        let source = ShardingSource::Operation(inst.op().name(), inst.span());
        let rule = rule(inst, program.calls);
        let partitioned = match inst.op() {
            // Shardy's shardings propagate by rules alone, as in XLA.
            Op::CustomCall(call) if rule.factors.is_empty() && !program.uses_shardy => {
                PartitionedCall::of(inst, call, program, shardings)
            }
            _ => None,
        };
        for group in groups.iter().skip(inst.own_operands().len()).filter(|_| partitioned.is_some()) {
            let group = &mut shardings.groups[*group];
            // The users of other values in the group need the tiling itself.
            group.requested = (group.values == 1).then(|| group.tiling.clone());
        }
        Step { rule, partitioned, manual: None, groups, source }
    }

    /// The source and the result of a rotation.
    fn rotation(shardings: &Shardings, inst: Inst<'_>) -> Option<Step> {
        let rotation = Rotation::of(inst)?;
        let groups: Vec<usize> =
            [rotation.source, inst.results()[0]].map(|value| shardings.group_index(value)).to_vec();
        let rule = rotation.rule(&shardings.groups[groups[0]].sizes);
        let source = ShardingSource::Operation(inst.op().name(), inst.span());
        Some(Step { rule, partitioned: None, manual: None, groups, source })
    }

    /// Two groups of values of one shape.
    fn identity(shardings: &Shardings, groups: Vec<usize>, source: ShardingSource) -> Step {
        let rule = Rule::identity(&shardings.groups[groups[0]].sizes);
        Step { rule, partitioned: None, manual: None, groups, source }
    }

    fn border(
        shardings: &Shardings,
        (whole, part): (ValueId, ValueId),
        manual: Vec<Vec<SubAxis>>,
        inst: Inst<'_>,
    ) -> Step {
        let groups = vec![shardings.group_index(whole), shardings.group_index(part)];
        let source = ShardingSource::Operation(inst.op().name(), inst.span());
        let rule = Rule { is_pointwise: true, ..Rule::default() };
        Step { rule, partitioned: None, manual: Some(manual), groups, source }
    }
}

/// True for instructions on tensors that devices divide: those in no regions except those of control flow.
pub(crate) fn is_divided(inst: Inst<'_>) -> bool {
    let mut owner = inst.parent().and_then(Region::owner);
    while let Some(inst) = owner {
        if !is_control(inst.op()) {
            return false;
        }
        owner = inst.parent().and_then(Region::owner);
    }
    true
}

/// True for control flow, in whose regions values are tensors that devices divide.
pub(crate) fn is_control(op: &Op) -> bool {
    matches!(op, Op::If | Op::Case | Op::While)
}

impl Group {
    fn new(tensor: Option<&TensorType>) -> Group {
        let sizes = tensor.and_then(TensorType::static_sizes).unwrap_or(&[]);
        // The scales of a tensor that is quantized along a dimension cannot be divided.
        let is_divisible = tensor.is_none_or(|ty| ty.quant.as_ref().is_none_or(|quant| quant.axis.is_none()));
        Group {
            tiling: Tiling::whole(sizes.len()),
            is_divisible,
            is_open: vec![is_divisible; sizes.len()],
            priority: vec![0; sizes.len()],
            excluded: Vec::new(),
            sizes: sizes.to_vec(),
            source: ShardingSource::Default,
            is_stated: false,
            values: 0,
            requested: None,
        }
    }

    /// Returns the tiling of a parameter or result of the program, for which it may state a sharding. The
    /// caller sees the tiling, and may only know complete axes and parts without padding, unless the program
    /// states others.
    pub(crate) fn interface_tiling(&self, grid: &DeviceGrid, stated: Option<&Annotation>) -> Tiling {
        let dim = |d: usize| {
            let axes = &self.tiling.dims[d];
            let plain = grid.complete_axes(even_prefix(grid, axes, self.sizes[d]));
            match stated.and_then(|stated| stated.dims.get(d)) {
                Some(stated) if axes.starts_with(&stated.axes) && stated.axes.len() > plain.len() => {
                    stated.axes.clone()
                }
                _ => plain.to_vec(),
            }
        };
        Tiling { dims: (0..self.sizes.len()).map(dim).collect() }
    }

    fn elements(&self) -> usize {
        self.sizes.iter().product()
    }

    fn state(&mut self, stated: &Annotation) {
        if self.is_stated || !self.is_divisible {
            return;
        }
        self.is_stated = true;
        self.source = ShardingSource::Stated;
        self.excluded = [&stated.replicated[..], &stated.unreduced, &stated.manual].concat();
        for (d, dim) in stated.dims.iter().enumerate() {
            self.tiling.dims[d].clone_from(&dim.axes);
            self.is_open[d] = dim.is_open;
            self.priority[d] = dim.priority;
        }
    }

    /// Extends open dimensions to a tiling. Returns true if anything changed.
    fn extend_to(
        &mut self,
        grid: &DeviceGrid,
        tiling: &Tiling,
        priority: u32,
        source: ShardingSource,
    ) -> bool {
        let rule = Rule::identity(&self.sizes);
        let requested = self.requested.take();
        let changed = self.extend(grid, &rule, &rule.tensors[0], &tiling.dims, priority, source);
        self.requested = requested;
        changed
    }

    /// Extends open dimensions by the sub-axes of their factors. Returns true if anything changed.
    fn extend(
        &mut self,
        grid: &DeviceGrid,
        rule: &Rule,
        factors: &TensorFactors,
        best: &[Vec<SubAxis>],
        priority: u32,
        source: ShardingSource,
    ) -> bool {
        let mut changed = false;
        let is_request = self.requested.is_some();
        let extended = self.requested.as_mut().unwrap_or(&mut self.tiling);
        for (d, factors) in factors.iter().enumerate() {
            if !self.is_open[d] || self.priority[d] > priority {
                continue;
            }
            // A minor factor can be divided only if the major ones are divided completely.
            let mut wanted: Vec<SubAxis> = Vec::new();
            for factor in factors {
                wanted.extend(&best[*factor]);
                if grid.parts(&best[*factor]) != rule.factors[*factor].size {
                    break;
                }
            }
            let now = &extended.dims[d];
            if wanted.len() <= now.len() || !wanted.starts_with(now) {
                continue;
            }
            let is_free = |axis: &SubAxis| {
                !self.excluded.contains(axis) && !extended.dims.iter().any(|dim| dim.contains(axis))
            };
            let mut free: Vec<SubAxis> = now.clone();
            free.extend(wanted[now.len()..].iter().copied().take_while(is_free));
            let free = match factors.as_slice() {
                [factor] if rule.factors[*factor].can_be_uneven => {
                    fitting_prefix(grid, &free, rule.factors[*factor])
                }
                _ => even_prefix(grid, &free, self.sizes[d]),
            };
            if free.len() > now.len() {
                extended.dims[d] = free.to_vec();
                if !is_request {
                    self.source = source;
                }
                changed = true;
            }
        }
        changed
    }
}

/// Returns the longest prefix of a list of sub-axes that divides a size evenly.
pub(crate) fn even_prefix<'a>(grid: &DeviceGrid, axes: &'a [SubAxis], size: usize) -> &'a [SubAxis] {
    let mut parts = 1;
    let fits = axes.iter().take_while(|axis| {
        parts *= grid.size(**axis);
        size.is_multiple_of(parts)
    });
    &axes[..fits.count()]
}

/// Returns the longest start of a list of sub-axes that may divide a factor.
pub(crate) fn fitting_prefix<'a>(grid: &DeviceGrid, axes: &'a [SubAxis], factor: Factor) -> &'a [SubAxis] {
    let fitting = (1..=axes.len()).rev().find(|count| factor.fits(grid.parts(&axes[..*count])));
    &axes[..fitting.unwrap_or(0)]
}

/// Divides the sub-axes of each dimension among its factors, from major to minor. Sub-axes after the first
/// one that does not fit its factor are left out. `seen` selects dimensions.
pub(crate) fn projected<'t>(
    grid: &DeviceGrid,
    rule: &Rule,
    factors: &TensorFactors,
    tiling: &'t Tiling,
    seen: impl Fn(usize) -> bool,
) -> Vec<(usize, &'t [SubAxis])> {
    let mut found = Vec::new();
    for (d, (factors, axes)) in factors.iter().zip(&tiling.dims).enumerate() {
        let mut rest = axes.as_slice();
        if !seen(d) {
            continue;
        }
        for factor in factors {
            let fitting = fitting_prefix(grid, rest, rule.factors[*factor]);
            found.push((*factor, fitting));
            rest = &rest[fitting.len()..];
            if grid.parts(fitting) != rule.factors[*factor].size {
                break;
            }
        }
    }
    found
}

/// Disjoint sets of values.
struct Sets {
    parent: Vec<u32>,
}

impl Sets {
    fn root(&mut self, mut value: u32) -> u32 {
        while self.parent[value as usize] != value {
            let next = self.parent[self.parent[value as usize] as usize];
            self.parent[value as usize] = next;
            value = next;
        }
        value
    }

    fn unite(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.root(a.index() as u32), self.root(b.index() as u32));
        // The earlier value is the root, so that the order of groups follows the text.
        self.parent[a.max(b) as usize] = a.min(b);
    }
}

/// Unites the values that control flow connects, in a region and the regions inside it.
fn unite_region(sets: &mut Sets, region: Region<'_>) {
    for inst in region.insts() {
        for region in inst.regions() {
            if is_control(inst.op()) {
                unite_region(sets, region);
            }
            for (outside, inside) in inst.captures().iter().zip(region.captured_args()) {
                sets.unite(*outside, *inside);
            }
        }
        match inst.op() {
            Op::While => {
                for region in inst.regions() {
                    for (operand, arg) in inst.own_operands().iter().zip(region.own_args()) {
                        sets.unite(*operand, *arg);
                    }
                }
                let returned = inst.region(1).map_or(&[][..], Region::returned);
                for ((operand, result), returned) in
                    inst.own_operands().iter().zip(inst.results()).zip(returned)
                {
                    sets.unite(*operand, *result);
                    sets.unite(*operand, *returned);
                }
            }
            Op::If | Op::Case => {
                for region in inst.regions() {
                    for (result, returned) in inst.results().iter().zip(region.returned()) {
                        sets.unite(*result, *returned);
                    }
                }
            }
            _ => {}
        }
    }
}
