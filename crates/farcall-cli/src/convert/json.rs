//! JSON form of a module, for programs that analyze programs. `farcall convert --help` describes the format.
//! An incompatible change must increment [`VERSION`].

use farcall::ir::attributes;
use farcall::ir::module::{Func, Inst, Module, Region, ValueId};
use farcall::ir::types::Type;
use farcall::ir::{AttrDict, Attribute};
use serde_json::{Map, Value, json};

/// Version of the format.
const VERSION: u32 = 1;

pub(super) fn module(module: &Module) -> Value {
    let meshes = module.meshes.iter().map(|m| {
        let axes = m.mesh.axes.iter().map(|(name, size)| json!({ "name": name, "size": size }));
        json!({ "name": m.name, "axes": axes.collect::<Vec<_>>(), "device_ids": m.mesh.device_ids })
    });
    json!({
        "version": VERSION,
        "name": module.name,
        "attributes": dict(&module.attrs),
        "meshes": meshes.collect::<Vec<_>>(),
        "functions": module.funcs().iter().map(|f| function(module, f)).collect::<Vec<_>>(),
    })
}

fn function(module: &Module, func: &Func) -> Value {
    let mut dump = Dump { module, func, ids: vec![usize::MAX; func.value_count()], next: 0 };
    let results = func.results().iter().zip(func.result_attrs());
    let results: Vec<Value> =
        results.map(|(t, attrs)| json!({ "type": ty(t), "attributes": dict(attrs) })).collect();
    let params = func.param_attrs().iter().map(dict).collect::<Vec<_>>();
    json!({
        "name": func.name,
        "public": func.public,
        "attributes": dict(&func.attrs),
        "parameter_attributes": params,
        "results": results,
        "body": dump.region(func.body()),
    })
}

struct Dump<'m> {
    module: &'m Module,
    func: &'m Func,
    /// Number of each value, in the order of definition.
    ids: Vec<usize>,
    next: usize,
}

impl<'m> Dump<'m> {
    fn region(&mut self, region: Region<'m>) -> Value {
        let arguments: Vec<Value> = region.args().iter().map(|v| self.define(*v)).collect();
        let instructions: Vec<Value> = region.insts().map(|inst| self.inst(inst)).collect();
        json!({ "arguments": arguments, "instructions": instructions })
    }

    fn inst(&mut self, inst: Inst<'m>) -> Value {
        let operands: Vec<usize> = inst.operands().iter().map(|v| self.ids[v.index()]).collect();
        let regions: Vec<Value> = inst.regions().map(|r| self.region(r)).collect();
        let results: Vec<Value> = inst.results().iter().map(|v| self.define(*v)).collect();
        let mut attrs = attributes::write(inst.op(), self.module);
        attrs.extend(inst.attrs().iter().map(|(key, value)| (key.clone(), value.clone())));
        let mut out = json!({
            "op": inst.op().name(),
            "operands": operands,
            "results": results,
            "attributes": dict(&attrs),
        });
        if !regions.is_empty() {
            out["regions"] = regions.into();
        }
        out
    }

    fn define(&mut self, value: ValueId) -> Value {
        self.ids[value.index()] = self.next;
        self.next += 1;
        json!({ "id": self.next - 1, "type": ty(self.func.ty(value)) })
    }
}

/// Converts a type: its text, and for a tensor, its components.
fn ty(ty: &Type) -> Value {
    let mut out = json!({ "mlir": ty.to_string() });
    if let Type::Tensor(t) = ty {
        out["dtype"] = t.dtype.name().into();
        out["shape"] = t.dims().map(|d| d.size()).collect::<Vec<_>>().into();
    }
    out
}

fn dict(attrs: &AttrDict) -> Value {
    Value::Object(attrs.iter().map(|(key, value)| (key.clone(), attr(value))).collect())
}

/// Converts an attribute: its text, and its value if JSON can represent it.
fn attr(attr: &Attribute) -> Value {
    let mut out = Map::from_iter([("mlir".to_owned(), Value::from(attr.to_string()))]);
    if let Some(value) = value(attr) {
        out.insert("value".to_owned(), value);
    }
    Value::Object(out)
}

fn value(attr: &Attribute) -> Option<Value> {
    match attr {
        Attribute::Unit => Some(true.into()),
        Attribute::Array(items) => items.iter().map(value).collect::<Option<Vec<_>>>().map(Value::from),
        Attribute::Dict(dict) => {
            let entry = |(key, v): (&String, &Attribute)| Some((key.clone(), value(v)?));
            dict.iter().map(entry).collect::<Option<Map<_, _>>>().map(Value::from)
        }
        Attribute::DenseArray(_) => {
            (attr.as_i64_list().map(Value::from)).or_else(|| attr.as_bool_list().map(Value::from))
        }
        Attribute::Symbol(name) => Some((**name).into()),
        _ => attr
            .as_bool()
            .map(Value::from)
            .or_else(|| attr.as_i64().map(Value::from))
            .or_else(|| attr.as_f64().filter(|x| x.is_finite()).map(Value::from))
            .or_else(|| attr.as_str().map(Value::from)),
    }
}
