//! Calls that convert between values and their parts, with which the program itself computes: the borders of
//! `sdy.manual_computation` and of JAX's `shard_map`.

use farcall_ir::module::{Inst, ValueDef};
use farcall_ir::op::Op;
use farcall_ir::sharding::{AxisRef, Sharding, borders};
use farcall_ir::{AttrDict, Attribute, Func, TensorType, ValueId};

use crate::annotation::{Annotation, DimAnnotation, Reader};
use crate::grid::SubAxis;

const IN_SHARDINGS: &str = "xla.sdy.in_shardings";
const OUT_SHARDINGS: &str = "xla.sdy.out_shardings";

/// A call between values and parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Border {
    /// True if the operands are complete values and the results their parts.
    pub(crate) enters: bool,
    /// Shardings of the complete values.
    pub(crate) shardings: Vec<Annotation>,
    /// The sub-axes that divide the values in the program.
    pub(crate) axes: Vec<SubAxis>,
}

impl Border {
    /// Reads a border from its instruction; `None` for other instructions.
    ///
    /// # Errors
    /// A sentence that describes a wrong attribute, or sizes that do not match.
    pub(crate) fn of(inst: Inst<'_>, reader: &Reader<'_>) -> Result<Option<Border>, String> {
        let Some(border) = Border::read(inst, reader)? else { return Ok(None) };
        let (operands, results) = (inst.operands(), inst.results());
        if operands.len() != results.len() || border.shardings.len() != results.len() {
            return Err(format!("{} operands have {} results", operands.len(), results.len()));
        }
        for (i, (operand, result)) in operands.iter().zip(results).enumerate() {
            let (whole, part) = if border.enters { (operand, result) } else { (result, operand) };
            border.check(i, sizes(inst, *whole), sizes(inst, *part), reader)?;
        }
        Ok(Some(border))
    }

    fn read(inst: Inst<'_>, reader: &Reader<'_>) -> Result<Option<Border>, String> {
        let target = match inst.op() {
            Op::CustomCall(call) => call.target.as_str(),
            // A call whose operands and results have the same types has become identities with its
            // attributes.
            Op::Reshape => match frontend(inst.attrs()) {
                attrs if attrs.contains_key(IN_SHARDINGS) => borders::GLOBAL_TO_LOCAL,
                attrs if attrs.contains_key(OUT_SHARDINGS) => borders::LOCAL_TO_GLOBAL,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        match target {
            borders::GLOBAL_TO_LOCAL => {
                Border::shardy(inst.attrs(), reader, true, inst.operands().len()).map(Some)
            }
            borders::LOCAL_TO_GLOBAL => {
                Border::shardy(inst.attrs(), reader, false, inst.results().len()).map(Some)
            }
            borders::FULL_TO_SHARD => Border::entry(inst, reader).map(Some),
            borders::SHARD_TO_FULL => {
                let ranks: Vec<usize> = inst.results().iter().map(|v| sizes(inst, *v).len()).collect();
                let stated = reader.read(inst.attrs(), &ranks)?.into_iter().zip(ranks);
                let shardings =
                    stated.map(|(stated, rank)| stated.unwrap_or_else(|| Annotation::whole(rank)));
                let axes = reader.grid.sub_axes().collect();
                Ok(Some(Border { enters: false, shardings: shardings.collect(), axes }))
            }
            _ => Ok(None),
        }
    }

    /// Reads `SPMDFullToShardShape`: the operand's sharding is stated where the operand is defined, and the
    /// call states which axes are manual.
    fn entry(inst: Inst<'_>, reader: &Reader<'_>) -> Result<Border, String> {
        let func = inst.func();
        let [operand] = inst.operands() else { return Err("it takes one operand".to_owned()) };
        let rank = sizes(inst, *operand).len();
        let stated = match func.def(*operand) {
            ValueDef::Result(of, i) => {
                let of = func.inst(of);
                let ranks: Vec<usize> = of.results().iter().map(|v| sizes(inst, *v).len()).collect();
                reader.read(of.attrs(), &ranks)?.into_iter().nth(i as usize).flatten()
            }
            ValueDef::Arg(region, i) if region == Func::BODY => {
                let attrs = func.param_attrs().get(i as usize);
                attrs.map_or(Ok(None), |attrs| {
                    reader.read(attrs, &[rank]).map(|mut stated| stated.pop().flatten())
                })?
            }
            ValueDef::Arg(..) | ValueDef::Nowhere => None,
        };
        let ranks: Vec<usize> = inst.results().iter().map(|v| sizes(inst, *v).len()).collect();
        let own = reader.read(inst.attrs(), &ranks)?.into_iter().next().flatten();
        let manual = own.map_or_else(Vec::new, |own| own.manual);
        let axes = if manual.is_empty() { reader.grid.sub_axes().collect() } else { manual };
        Ok(Border { enters: true, shardings: vec![stated.unwrap_or_else(|| Annotation::whole(rank))], axes })
    }

    /// Checks that the manual axes of a value come first in each dimension and divide it into the part's
    /// sizes.
    fn check(
        &self,
        value: usize,
        whole: &[usize],
        part: &[usize],
        reader: &Reader<'_>,
    ) -> Result<(), String> {
        let stated = &self.shardings[value].dims;
        if stated.len() != whole.len() || whole.len() != part.len() {
            return Err(format!(
                "value {value} has {} dimensions, its part {}, and its sharding {}",
                whole.len(),
                part.len(),
                stated.len()
            ));
        }
        for (d, (manual, stated)) in self.manual_dims(value).iter().zip(stated).enumerate() {
            if stated.axes[manual.len()..].iter().any(|axis| self.axes.contains(axis)) {
                return Err(format!("dimension {d} of value {value} has a manual axis after another axis"));
            }
            if whole[d] != part[d].saturating_mul(reader.grid.parts(manual)) {
                return Err(format!(
                    "dimension {d} of value {value} has {} elements, and {} parts of {}",
                    whole[d],
                    reader.grid.parts(manual),
                    part[d]
                ));
            }
        }
        Ok(())
    }

    fn shardy(attrs: &AttrDict, reader: &Reader<'_>, enters: bool, values: usize) -> Result<Border, String> {
        let frontend = frontend(attrs);
        let key = if enters { IN_SHARDINGS } else { OUT_SHARDINGS };
        let mut shardings = match frontend.get(key) {
            Some(Attribute::ShardingPerValue(all)) => all.to_vec(),
            Some(Attribute::String(text)) => {
                let text = String::from_utf8_lossy(text);
                let body =
                    text.strip_prefix("#sdy.sharding_per_value<").and_then(|rest| rest.strip_suffix('>'));
                body.and_then(Sharding::read_per_value)
                    .ok_or_else(|| format!("{text} is not a list of shardings"))?
            }
            _ => return Err(format!("the attribute `{key}` is missing")),
        };
        // Tokens have shardings, too. They precede the tensors, and the middle form has none.
        let tokens = shardings.len().checked_sub(values);
        match tokens.filter(|n| shardings[..*n].iter().all(|sharding| sharding.dims.is_empty())) {
            Some(tokens) => drop(shardings.drain(..tokens)),
            None => return Err(format!("`{key}` has {} shardings for {values} values", shardings.len())),
        }
        let axes = frontend.get("xla.sdy.manual_axes").map(|attr| match attr {
            Attribute::String(text) => String::from_utf8_lossy(text).into_owned(),
            other => other.to_string(),
        });
        let axes = axes.ok_or("the attribute `xla.sdy.manual_axes` is missing")?;
        let names: Vec<AxisRef> = axes
            .split('"')
            .skip(1)
            .step_by(2)
            .map(|name| AxisRef { name: name.to_owned(), part: None })
            .collect();
        let annotations = shardings.iter().map(|sharding| reader.shardy(sharding));
        let annotations: Vec<Annotation> = annotations.collect::<Result<_, String>>()?;
        let mesh = shardings.first().and_then(|sharding| reader.mesh(&sharding.mesh));
        let axes = match mesh {
            Some(mesh) if !mesh.axes.is_empty() => reader.grid.sub_axes_of(mesh, &names)?,
            _ => Vec::new(),
        };
        Ok(Border { enters, shardings: annotations, axes })
    }

    /// Returns the manual sub-axes at the major end of each dimension of a complete value.
    pub(crate) fn manual_dims(&self, value: usize) -> Vec<Vec<SubAxis>> {
        let dims = self.shardings[value].dims.iter();
        dims.map(|dim| dim.axes.iter().copied().take_while(|axis| self.axes.contains(axis)).collect())
            .collect()
    }

    /// Returns the sharding of a part by the sub-axes that are not manual.
    pub(crate) fn part_annotation(&self, value: usize) -> Annotation {
        let stated = &self.shardings[value];
        let dims = stated
            .dims
            .iter()
            .zip(self.manual_dims(value))
            .map(|(dim, manual)| DimAnnotation { axes: dim.axes[manual.len()..].to_vec(), ..dim.clone() });
        let mut replicated = stated.replicated.clone();
        replicated.extend(&self.axes);
        Annotation { dims: dims.collect(), replicated, ..Annotation::default() }
    }
}

/// Returns the frontend attributes, or all attributes if there are none.
fn frontend(attrs: &AttrDict) -> &AttrDict {
    match attrs.get("mhlo.frontend_attributes") {
        Some(Attribute::Dict(dict)) => dict,
        _ => attrs,
    }
}

fn sizes(inst: Inst<'_>, value: ValueId) -> &[usize] {
    inst.func().tensor(value).and_then(TensorType::static_sizes).unwrap_or(&[])
}
