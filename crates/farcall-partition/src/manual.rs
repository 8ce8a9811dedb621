//! Calls that convert between values and their parts, with which the program itself computes: the borders of
//! `sdy.manual_computation` and of JAX's `shard_map`.

use farcall_ir::module::Inst;
use farcall_ir::op::Op;
use farcall_ir::sharding::{AxisRef, Sharding};
use farcall_ir::{AttrDict, Attribute};

use crate::annotation::{Annotation, DimAnnotation, Reader};
use crate::grid::SubAxis;

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
    /// Returns the border that an instruction is; `None` if it is another operation. `operand` returns the
    /// sharding that the program states for the operand of an instruction.
    ///
    /// # Errors
    /// A sentence that describes a wrong attribute.
    pub(crate) fn of(inst: Inst<'_>, reader: &Reader<'_>) -> Result<Option<Border>, String> {
        let Op::CustomCall(call) = inst.op() else { return Ok(None) };
        let ranks = |values: &[farcall_ir::ValueId]| -> Vec<usize> {
            values.iter().map(|v| inst.func().tensor(*v).map_or(0, farcall_ir::TensorType::rank)).collect()
        };
        match call.target.as_str() {
            "xla.sdy.GlobalToLocalShape" => {
                Border::shardy(inst.attrs(), reader, true, &ranks(inst.operands())).map(Some)
            }
            "xla.sdy.LocalToGlobalShape" => {
                Border::shardy(inst.attrs(), reader, false, &ranks(inst.results())).map(Some)
            }
            "SPMDFullToShardShape" => {
                let stated = inst.func().defining_inst(inst.operands()[0]);
                let stated =
                    stated.map_or(Ok(vec![None]), |of| reader.read(of.attrs(), &ranks(of.results())))?;
                Ok(Some(Border::all_axes(reader, true, stated, &ranks(inst.operands()))))
            }
            "SPMDShardToFullShape" => {
                let ranks = ranks(inst.results());
                let stated = reader.read(inst.attrs(), &ranks)?;
                Ok(Some(Border::all_axes(reader, false, stated, &ranks)))
            }
            _ => Ok(None),
        }
    }

    /// A border of a computation in which every axis is manual.
    fn all_axes(
        reader: &Reader<'_>,
        enters: bool,
        stated: Vec<Option<Annotation>>,
        ranks: &[usize],
    ) -> Border {
        let whole = |rank: &usize| Annotation::whole(*rank);
        let shardings =
            stated.into_iter().zip(ranks).map(|(stated, rank)| stated.unwrap_or_else(|| whole(rank)));
        Border { enters, shardings: shardings.collect(), axes: reader.grid.sub_axes().collect() }
    }

    fn shardy(
        attrs: &AttrDict,
        reader: &Reader<'_>,
        enters: bool,
        ranks: &[usize],
    ) -> Result<Border, String> {
        let frontend = match attrs.get("mhlo.frontend_attributes") {
            Some(Attribute::Dict(dict)) => dict,
            _ => attrs,
        };
        let key = if enters { "xla.sdy.in_shardings" } else { "xla.sdy.out_shardings" };
        let shardings = match frontend.get(key) {
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
        if shardings.len() != ranks.len() {
            return Err(format!("`{key}` has {} shardings for {} values", shardings.len(), ranks.len()));
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
