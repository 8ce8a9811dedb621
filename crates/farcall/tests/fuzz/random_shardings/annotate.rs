//! Random shardings of the values of a program, in the forms that programs state.
//!
//! Instructions that become a manual computation are marked with an attribute ([`MANUAL`]). The program with
//! the mark computes the same on one device; [`with_manual_computations`] replaces the marks.

use std::sync::Arc;

use farcall::ir::module::{Inst, NamedMesh, Rewriter};
use farcall::ir::op::CustomCall;
use farcall::ir::sharding::{AxisRef, DimSharding, Mesh, MeshRef, Sharding};
use farcall::ir::{AttrDict, Attribute, Func, InstId, Module, NewInst, Op, TensorType, Type, ValueId};
use farcall_testing::SplitMix;

/// Name of the mesh.
const MESH: &str = "mesh";

/// Attribute of an instruction that each device computes on its part: the sharding of its operands and
/// results. Its manual axes are the replicated axes and the axes of the dimensions.
pub(crate) const MANUAL: &str = "test.manual";

/// Axes of a mesh that divide several values, and how programs state them.
pub(crate) struct Annotator {
    random: SplitMix,
    axes: Vec<(String, usize)>,
    /// True if shardings are XLA's tile assignments.
    tiled: bool,
    /// True if every axis divides its dimension evenly.
    even: bool,
    /// True if every axis divides its dimension of a parameter or result evenly.
    pub(crate) even_interface: bool,
}

impl Annotator {
    /// Chooses a mesh. With `even`, every axis divides its dimension evenly.
    pub(crate) fn new(seed: u64, even: bool) -> Annotator {
        let mut random = SplitMix::new(seed);
        let sizes: &[usize] = random.pick(&[
            &[2],
            &[2, 2],
            &[2, 2],
            &[2, 2, 2],
            &[2, 2, 2],
            &[4],
            &[4, 2],
            &[1, 2],
            &[3],
            &[2, 3],
        ]);
        let axes = ["x", "y", "z"].iter().zip(sizes).map(|(name, size)| ((*name).to_owned(), *size));
        let tiled = random.one_in(4);
        Annotator { axes: axes.collect(), random, tiled, even, even_interface: even }
    }

    /// Returns the number of devices.
    pub(crate) fn devices(&self) -> usize {
        self.axes.iter().map(|(_, size)| size).product()
    }

    /// States shardings of parameters, results and instructions.
    pub(crate) fn annotate(&mut self, module: &mut Module) {
        if !self.tiled {
            let mut device_ids: Vec<i64> = Vec::new();
            if self.random.one_in(4) {
                device_ids = (0..self.devices() as i64).collect();
                for i in 0..device_ids.len() {
                    let j = self.random.below(device_ids.len());
                    device_ids.swap(i, j);
                }
            }
            let mesh = Mesh { axes: self.axes.clone(), device_ids };
            module.meshes.push(NamedMesh { name: MESH.to_owned(), mesh, attrs: AttrDict::new() });
        }
        for id in module.func_ids() {
            let is_main = module[id].name == "main";
            if is_main {
                self.interface(module.func_mut(id));
            }
            // Functions may be called in regions that compute elements.
            self.values(module.func_mut(id), is_main && !self.tiled);
        }
    }

    /// States shardings of the parameters and results.
    fn interface(&mut self, func: &mut Func) {
        let types = |values: &[ValueId]| -> Vec<Option<TensorType>> {
            values.iter().map(|v| func.tensor(*v).cloned()).collect()
        };
        let (params, results) = (types(func.params()), types(func.body().returned()));
        let even = std::mem::replace(&mut self.even, self.even_interface);
        for (i, ty) in params.iter().enumerate() {
            if let Some((key, stated)) =
                ty.as_ref().filter(|_| self.random.one_in(2)).map(|ty| self.stated_of_value(ty))
            {
                func.param_attrs_mut()[i].insert(key, stated);
            }
        }
        for (i, ty) in results.iter().enumerate() {
            if let Some((key, stated)) =
                ty.as_ref().filter(|_| self.random.one_in(2)).map(|ty| self.stated_of_value(ty))
            {
                func.result_attrs_mut()[i].insert(key, stated);
            }
        }
        self.even = even;
    }

    /// States shardings of instructions, and of operands by constraints.
    fn values(&mut self, func: &mut Func, can_be_manual: bool) {
        for id in divided(func) {
            let inst = func.inst(id);
            let tensors = |values: &[ValueId]| -> Option<Vec<TensorType>> {
                values.iter().map(|v| func.tensor(*v).cloned()).collect()
            };
            let (operands, results) = (tensors(inst.own_operands()), tensors(inst.results()));
            let own = inst.own_operands().to_vec();
            let is_call = matches!(inst.op(), Op::CustomCall(_) | Op::Return);
            let pointwise = is_pointwise(inst);
            // Operations that combine elements along dimensions.
            let is_mixing = matches!(
                inst.op(),
                Op::Reduce { .. }
                    | Op::DotGeneral(_)
                    | Op::Convolution(_)
                    | Op::Sort { .. }
                    | Op::ReduceWindow(_)
                    | Op::SelectAndScatter(_)
                    | Op::Scatter(_)
                    | Op::Gather(_)
            );
            if let Some(results) = results.filter(|results| !is_call && !results.is_empty()) {
                let types: Vec<&TensorType> = results.iter().collect();
                if pointwise && can_be_manual && self.random.one_in(4) {
                    let sharding = self.manual(&results[0]);
                    func.attrs_mut(id).insert(MANUAL.to_owned(), Attribute::Sharding(sharding.into()));
                } else if self.random.one_in(6) {
                    let (key, stated) = self.stated(&types);
                    func.attrs_mut(id).insert(key, stated);
                }
            }
            let Some(operands) = operands else { continue };
            for (i, ty) in operands.iter().enumerate() {
                // Constants stay in place, since operations may read them.
                let is_constant =
                    func.defining_inst(own[i]).is_some_and(|inst| matches!(inst.op(), Op::Constant(_)));
                let is_stated =
                    if is_mixing { self.random.one_in(2) } else { !is_constant && self.random.one_in(8) };
                if !is_stated {
                    continue;
                }
                let (key, stated) = self.stated_of_value(ty);
                let (target, key) = if self.tiled {
                    ("Sharding", key.as_str())
                } else {
                    ("sdy.sharding_constraint", "sharding")
                };
                let mut r = Rewriter::new(func);
                let call = Op::CustomCall(Box::new(CustomCall::new(target)));
                let value = r.value_before(id, call, [own[i]], ty.clone());
                let mut new = r.func().inst(id).operands().to_vec();
                new[i] = value;
                r.set_operands(id, new);
                if let Some(made) = r.func().defining_inst(value).map(Inst::id) {
                    r.attrs_mut(made).insert(key.to_owned(), stated);
                }
            }
        }
    }

    /// Returns the attribute that states a random sharding of a parameter, result or operand.
    fn stated_of_value(&mut self, ty: &TensorType) -> (String, Attribute) {
        match self.stated(&[ty]) {
            (key, Attribute::ShardingPerValue(shardings)) => {
                (key, Attribute::Sharding(shardings[0].clone().into()))
            }
            stated => stated,
        }
    }

    /// Returns the attribute that states random shardings of the results of an instruction.
    fn stated(&mut self, types: &[&TensorType]) -> (String, Attribute) {
        let shardings: Vec<Sharding> = types.iter().map(|ty| self.sharding(ty)).collect();
        if self.tiled {
            let texts: Vec<String> = shardings.iter().map(|sharding| self.tiles(sharding)).collect();
            let text = if texts.len() == 1 { texts[0].clone() } else { format!("{{{}}}", texts.join(", ")) };
            return ("mhlo.sharding".to_owned(), Attribute::string(text));
        }
        ("sdy.sharding".to_owned(), Attribute::ShardingPerValue(shardings.into()))
    }

    /// Returns the axes of the mesh in random order. Some axes are cut into two parts.
    fn pool(&mut self) -> Vec<(AxisRef, usize)> {
        let mut pool = Vec::new();
        for (name, size) in &self.axes {
            let axis = |part| AxisRef { name: name.clone(), part };
            if *size == 4 && !self.tiled && self.random.one_in(2) {
                pool.extend([(axis(Some((1, 2))), 2), (axis(Some((2, 2))), 2)]);
            } else {
                pool.push((axis(None), *size));
            }
        }
        for i in 0..pool.len() {
            let j = self.random.below(pool.len());
            pool.swap(i, j);
        }
        pool
    }

    fn sharding(&mut self, ty: &TensorType) -> Sharding {
        let sizes = ty.sizes();
        let mut parts = vec![1; sizes.len()];
        let mut dims = vec![DimSharding::default(); sizes.len()];
        let mut replicated = Vec::new();
        for (axis, size) in self.pool() {
            if !self.tiled && self.random.one_in(8) {
                replicated.push(axis);
                continue;
            }
            if sizes.is_empty() || self.random.one_in(4) {
                continue;
            }
            let d = self.random.below(sizes.len());
            if self.even && !sizes[d].is_multiple_of(parts[d] * size) {
                continue;
            }
            parts[d] *= size;
            // Neighboring parts of an axis are one axis.
            match dims[d].axes.last_mut() {
                Some(last) if last.name == axis.name && last.part < axis.part => last.part = None,
                _ => dims[d].axes.push(axis),
            }
        }
        // Replicated axes are in the order of the mesh.
        let place = |axis: &AxisRef| (self.axes.iter().position(|(name, _)| *name == axis.name), axis.part);
        replicated.sort_by_key(place);
        for dim in &mut dims {
            dim.open = self.random.one_in(3);
            let can_wait = dim.open || !dim.axes.is_empty();
            dim.priority = (can_wait && self.random.one_in(4)).then(|| self.random.below(3) as u32);
        }
        Sharding { mesh: MeshRef::Named(MESH.to_owned()), dims, replicated, unreduced: Vec::new() }
    }

    /// Returns a sharding whose axes divide evenly: manual axes, and after them others.
    fn manual(&mut self, ty: &TensorType) -> Sharding {
        let even = std::mem::replace(&mut self.even, true);
        let sharding = self.sharding(ty);
        self.even = even;
        let dims = sharding.dims.into_iter().map(|dim| DimSharding { axes: dim.axes, ..Default::default() });
        Sharding { dims: dims.collect(), ..sharding }
    }

    /// Writes a sharding as a tile assignment.
    fn tiles(&self, sharding: &Sharding) -> String {
        let place = |axis: &AxisRef| self.axes.iter().position(|(name, _)| *name == axis.name).unwrap_or(0);
        let mut order: Vec<usize> = sharding.dims.iter().flat_map(|dim| &dim.axes).map(place).collect();
        if order.is_empty() {
            return "{replicated}".to_owned();
        }
        let size = |axes: &[usize]| axes.iter().map(|i| self.axes[*i].1).product::<usize>();
        let mut tiles: Vec<usize> =
            sharding.dims.iter().map(|dim| size(&dim.axes.iter().map(place).collect::<Vec<_>>())).collect();
        let rest: Vec<usize> = (0..self.axes.len()).filter(|i| !order.contains(i)).collect();
        let last = if size(&rest) > 1 { " last_tile_dim_replicate" } else { "" };
        if size(&rest) > 1 {
            tiles.push(size(&rest));
        }
        order.extend(rest);
        let list = |numbers: &[usize]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let sizes: Vec<usize> = self.axes.iter().map(|(_, size)| *size).collect();
        format!("{{devices=[{}]<=[{}]T({}){last}}}", list(&tiles), list(&sizes), list(&order))
    }
}

/// Returns the instructions on tensors that devices divide, the last one first.
fn divided(func: &Func) -> Vec<InstId> {
    let mut found = Vec::new();
    let mut inside = Vec::new();
    func.walk(&mut |inst| {
        let owner = inst.parent().and_then(|region| region.owner());
        let is_divided = owner.is_none_or(|owner| {
            matches!(owner.op(), Op::If | Op::Case | Op::While) && !inside.contains(&owner.id())
        });
        if is_divided { found.push(inst.id()) } else { inside.push(inst.id()) }
    });
    found.reverse();
    found
}

/// True for operations whose operands and results have one shape.
fn is_pointwise(inst: Inst<'_>) -> bool {
    let func = inst.func();
    let plain = |v: &ValueId| func.tensor(*v).filter(|ty| ty.quant.is_none() && ty.is_static());
    let Some(shape) = inst.results().first().and_then(plain).map(TensorType::sizes) else { return false };
    matches!(inst.op(), Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Convert | Op::Select | Op::Copy)
        && inst.results().len() == 1
        && inst.operands().iter().all(|v| plain(v).is_some_and(|ty| ty.sizes() == shape))
}

/// Replaces each marked instruction by a computation on parts. About half of the axes are manual.
pub(crate) fn with_manual_computations(module: &Module) -> Module {
    let mut module = module.clone();
    let meshes = module.meshes.clone();
    for id in module.func_ids() {
        let mut marked = Vec::new();
        module[id].walk(&mut |inst| {
            if let Some(Attribute::Sharding(sharding)) = inst.attrs().get(MANUAL) {
                marked.push((inst.id(), Arc::clone(sharding)));
            }
        });
        for (inst, sharding) in marked {
            replace(module.func_mut(id), inst, &sharding, &meshes);
        }
    }
    module
}

/// Returns the program without marks.
pub(crate) fn without_manual_computations(module: &Module) -> Module {
    let mut module = module.clone();
    for id in module.func_ids() {
        let mut insts = Vec::new();
        module[id].walk(&mut |inst| insts.push(inst.id()));
        insts.iter().for_each(|inst| drop(module.func_mut(id).attrs_mut(*inst).remove(MANUAL)));
    }
    module
}

fn replace(func: &mut Func, id: InstId, sharding: &Sharding, meshes: &[NamedMesh]) {
    let mesh_axes = &meshes[0].mesh.axes;
    // A dimension's axes are manual up to the first cut axis or, in every other dimension, up to the second
    // axis.
    let mut manual: Vec<String> = Vec::new();
    let mut parts = Vec::new();
    for (d, dim) in sharding.dims.iter().enumerate() {
        let most = if d % 2 == 0 { usize::MAX } else { 1 };
        let own = dim.axes.iter().take(most).take_while(|axis| axis.part.is_none());
        let names: Vec<String> = own.map(|axis| axis.name.clone()).collect();
        let size = |name: &String| mesh_axes.iter().find(|(own, _)| own == name).map_or(1, |(_, size)| *size);
        parts.push(names.iter().map(size).product::<usize>());
        manual.extend(names);
    }
    manual
        .extend(sharding.replicated.iter().filter(|axis| axis.part.is_none()).map(|axis| axis.name.clone()));
    let mut r = Rewriter::new(func);
    let inst = r.func().inst(id);
    let (operands, op, mut attrs) = (inst.operands().to_vec(), inst.op().clone(), inst.attrs().clone());
    attrs.remove(MANUAL);
    let local = |ty: &TensorType| -> TensorType {
        let sizes: Vec<usize> = ty.sizes().iter().zip(&parts).map(|(size, n)| size / n).collect();
        ty.with_sizes(sizes)
    };
    let whole = r.func().tensor(inst.results()[0]).cloned().expect("the result is a tensor");
    let tensors: Vec<TensorType> = operands.iter().filter_map(|v| r.func().tensor(*v).cloned()).collect();
    let names: Vec<String> = manual.iter().map(|name| format!("\"{name}\"")).collect();
    let call = |target: &str, key: &str, values: &[ValueId]| {
        let mut frontend = AttrDict::new();
        let all = vec![format!("<{sharding}>"); values.len()].join(", ");
        frontend.insert(key.to_owned(), Attribute::string(format!("#sdy.sharding_per_value<[{all}]>")));
        let axes = format!("#sdy<manual_axes{{{}}}>", names.join(", "));
        frontend.insert("xla.sdy.manual_axes".to_owned(), Attribute::string(axes));
        let call = Op::CustomCall(Box::new(CustomCall::new(target)));
        let mut new = NewInst::new(call, values.iter().copied());
        new.attrs = AttrDict::from_iter([("mhlo.frontend_attributes".to_owned(), Attribute::Dict(frontend))]);
        new
    };
    let entry = call("xla.sdy.GlobalToLocalShape", "xla.sdy.in_shardings", &operands);
    let entry = r.insert_before(id, entry, tensors.iter().map(|ty| Type::from(local(ty))));
    let inside = r.func().inst(entry).results().to_vec();
    let mut new = NewInst::new(op, inside);
    new.attrs = attrs;
    let made = r.insert_before(id, new, [Type::from(local(&whole))]);
    let part = r.func().inst(made).results()[0];
    let exit = call("xla.sdy.LocalToGlobalShape", "xla.sdy.out_shardings", &[part]);
    let exit = r.insert_before(id, exit, [Type::from(whole)]);
    let result = r.func().inst(exit).results()[0];
    r.replace(id, &[result]);
}

/// Returns the program without each of its statements in turn.
pub(crate) fn with_fewer_shardings(module: &Module) -> Vec<Module> {
    const KEYS: [&str; 4] = ["sdy.sharding", "sharding", "mhlo.sharding", MANUAL];
    let mut found = Vec::new();
    let stated = |attrs: &AttrDict| KEYS.iter().find(|key| attrs.contains_key(key)).copied();
    for id in module.func_ids() {
        let mut without = |change: &dyn Fn(&mut Func)| {
            let mut module = module.clone();
            change(module.func_mut(id));
            found.push(module);
        };
        let func = &module[id];
        for i in 0..func.param_attrs().len() {
            if let Some(key) = stated(&func.param_attrs()[i]) {
                without(&|func| drop(func.param_attrs_mut()[i].remove(key)));
            }
        }
        for i in 0..func.result_attrs().len() {
            if let Some(key) = stated(&func.result_attrs()[i]) {
                without(&|func| drop(func.result_attrs_mut()[i].remove(key)));
            }
        }
        func.walk(&mut |inst| {
            let id = inst.id();
            match (stated(inst.attrs()), inst.op()) {
                (Some(_), Op::CustomCall(_)) => {
                    let operand = inst.operands()[0];
                    without(&|func| Rewriter::new(func).replace(id, &[operand]));
                }
                (Some(key), _) => without(&|func| drop(func.attrs_mut(id).remove(key))),
                (None, _) => {}
            }
        });
    }
    found
}
