//! Writes modules as portable artifacts.
//!
//! For each operation, the oldest version that can express it is written, so every StableHLO since
//! [`Artifact::version`] can read the artifact.

mod downgrade;
mod encode;

use std::collections::HashMap;

use super::Version;
use crate::attr::{AttrDict, Attribute};
use crate::attributes;
use crate::bytecode::{Bytes, OpHead};
use crate::diag::{Diagnostic, Diagnostics, ProgramError};
use crate::expand;
use crate::module::{Func, Inst, Module, RegionId, ValueId};
use crate::op::Op;
use crate::stack;
use crate::types::{FuncType, Type};
use downgrade::downgraded;
use encode::Encoder;

/// Oldest version that artifacts are written for. StableHLO promises compatibility from 1.0.0 on.
const OLDEST: Version = (1, 0, 0);

/// A portable artifact.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Artifact {
    /// Contents of the file.
    pub bytes: Vec<u8>,
    /// Oldest version of StableHLO that can read the artifact.
    pub version: Version,
}

/// Writes a verified module as a portable artifact. Keeps the names of parameters, but no other locations.
/// Operations of CHLO are expanded to operations of StableHLO.
///
/// # Errors
/// Code `unsupported`, at each instruction that artifacts cannot express: operations of other dialects (CHLO
/// on dynamic shapes, some functions of complex numbers), and attributes of StableHLO that VHLO does not
/// know. Code `memory` if there is not enough memory for the file.
pub fn write(module: &Module) -> Result<Artifact, ProgramError> {
    stack::with_room(|| written(with_chlo_expanded(module).as_ref().unwrap_or(module)))
}

fn written(module: &Module) -> Result<Artifact, ProgramError> {
    let mut writer = Writer {
        module,
        encoder: Encoder::new(OLDEST),
        ir: Bytes::default(),
        values: HashMap::new(),
        diagnostics: Diagnostics::default(),
    };
    writer.module();
    if !writer.diagnostics.is_empty() {
        return Err(writer.diagnostics.into_error(&module.source));
    }
    let version = writer.encoder.version;
    let producer = format!("StableHLO_v{}.{}.{}", version.0, version.1, version.2);
    match writer.encoder.tables.finish(&producer, &writer.ir) {
        Ok(bytes) => Ok(Artifact { bytes, version }),
        Err(e) => Err(ProgramError::new(&module.source, Diagnostic::global("memory", e.to_string()))),
    }
}

/// Returns the module with operations of CHLO expanded where StableHLO can express them; `None` if there are
/// no such operations.
fn with_chlo_expanded(module: &Module) -> Option<Module> {
    let mut found = false;
    for func in module.funcs() {
        func.walk(&mut |inst| found |= inst.op().name().starts_with("chlo."));
    }
    found.then(|| {
        let mut module = module.clone();
        for id in module.func_ids() {
            expand::chlo::run(module.func_mut(id));
        }
        module
    })
}

struct Writer<'m> {
    module: &'m Module,
    encoder: Encoder,
    ir: Bytes,
    /// Numbers of the values of the current function.
    values: HashMap<ValueId, usize>,
    diagnostics: Diagnostics,
}

impl<'m> Writer<'m> {
    fn module(&mut self) {
        let module = self.module;
        let mut attrs = module.attrs.clone();
        attrs.extend(module.name.iter().map(|name| ("sym_name".to_owned(), Attribute::string(name))));
        let attrs = self.encoder.builtin_dictionary(&attrs);
        let name = self.encoder.tables.op("builtin", "module");
        let location = self.encoder.unknown_location();
        self.ir.block(1, &[]);
        let (results, operands) = (&[][..], &[][..]);
        self.ir.op(&OpHead { name, location, attrs, results, operands, regions: 1, isolated: true });
        self.ir.region(module.meshes.len() + module.funcs().len(), 0, &[]);
        for mesh in &module.meshes {
            let mut attrs = mesh.attrs.clone();
            attrs.insert("sym_name".to_owned(), Attribute::string(&mesh.name));
            attrs.insert("mesh".to_owned(), Attribute::dialect("sdy.mesh", mesh.mesh.to_string()));
            let attrs = self.encoder.builtin_dictionary(&attrs);
            let name = self.encoder.tables.op("sdy", "mesh");
            self.ir.op(&OpHead { name, location, attrs, results, operands, regions: 0, isolated: false });
        }
        for func in module.funcs() {
            self.func(func);
        }
    }

    fn func(&mut self, func: &'m Func) {
        let params = func.params().iter().map(|p| func.ty(*p).clone()).collect();
        let ty = Type::Function(FuncType { params, results: func.results().to_vec() }.into());
        let dicts = |dicts: &[AttrDict]| {
            let none = dicts.iter().all(AttrDict::is_empty);
            let dicts = if none { &[] } else { dicts };
            Attribute::Array(dicts.iter().cloned().map(Attribute::Dict).collect())
        };
        let mut attrs = func.attrs.clone();
        attrs.extend([
            ("sym_name".to_owned(), Attribute::string(&func.name)),
            ("sym_visibility".to_owned(), Attribute::string(if func.public { "public" } else { "private" })),
            ("function_type".to_owned(), Attribute::Type(ty)),
            ("arg_attrs".to_owned(), dicts(func.param_attrs())),
            ("res_attrs".to_owned(), dicts(func.result_attrs())),
        ]);
        let attrs = match self.encoder.dictionary(&attrs) {
            Ok(attrs) => attrs,
            Err(message) => {
                let message = format!("@{}: {message}", func.name);
                return self.diagnostics.push(Diagnostic::new("unsupported", func.span, message));
            }
        };
        let name = self.encoder.tables.op("vhlo", "func_v1");
        let location = self.encoder.unknown_location();
        let (results, operands) = (&[][..], &[][..]);
        self.ir.op(&OpHead { name, location, attrs, results, operands, regions: 1, isolated: false });
        self.values.clear();
        self.region(func, Func::BODY, 0);
    }

    /// Writes a region whose values are numbered from `first`.
    fn region(&mut self, func: &'m Func, id: RegionId, first: usize) {
        let region = func.region(id);
        let mut next = first;
        let mut number = |values: &mut HashMap<ValueId, usize>, value: ValueId| {
            values.insert(value, next);
            next += 1;
        };
        let mut args = Vec::with_capacity(region.args().len());
        for (i, arg) in region.args().iter().enumerate() {
            number(&mut self.values, *arg);
            let name = func.param_names.get(i).filter(|_| id == Func::BODY).and_then(Option::as_deref);
            let location = match name {
                Some(name) => self.encoder.named_location(name),
                None => self.encoder.unknown_location(),
            };
            match self.encoder.ty(func.ty(*arg)) {
                Ok(ty) => args.push((ty, location)),
                Err(message) => self.diagnostics.push(Diagnostic::new("unsupported", func.span, message)),
            }
        }
        for inst in region.insts() {
            inst.results().iter().for_each(|result| number(&mut self.values, *result));
        }
        self.ir.region(region.insts().count(), next - first, &args);
        for inst in region.insts() {
            if self.diagnostics.is_full() {
                return;
            }
            if let Err(message) = self.inst(inst) {
                let message = format!("{}: {message}", inst.op().name());
                self.diagnostics.push(Diagnostic::new("unsupported", inst.span(), message));
            }
            for region in inst.region_ids() {
                self.region(func, *region, next);
            }
        }
    }

    /// Writes an instruction up to its regions.
    fn inst(&mut self, inst: Inst<'m>) -> Result<(), String> {
        let full = inst.op().name();
        let base = match full.split_once('.') {
            Some(("stablehlo" | "func", base)) => base,
            Some(("chlo", _)) => {
                return Err("artifacts have operations of StableHLO only, which can express this one for static shapes and \
                            real numbers only"
                    .to_owned());
            }
            _ => return Err("artifacts have operations of StableHLO only".to_owned()),
        };
        if let Op::CustomCall(call) = inst.op()
            && call.target.starts_with("sdy.")
        {
            return Err(format!("artifacts have operations of StableHLO only, not {}", call.target));
        }
        if !inst.captures().is_empty() {
            return Err("artifacts have no regions with captures".to_owned());
        }
        let attrs = attributes::write(inst.op(), self.module);
        let (version, needs, mut attrs) = downgraded(base, attrs, inst)?;
        self.encoder.needs(needs);
        attrs.extend_missing(inst.attrs());
        let attrs = self.encoder.dictionary(&attrs)?;
        let types = inst.results().iter().map(|r| self.encoder.ty(inst.func().ty(*r)));
        let results = types.collect::<Result<Vec<_>, String>>()?;
        let operands: Vec<usize> = inst.operands().iter().map(|v| self.values[v]).collect();
        let name = self.encoder.tables.op("vhlo", version);
        let location = self.encoder.unknown_location();
        let (results, operands) = (&results[..], &operands[..]);
        let regions = inst.region_ids().len();
        self.ir.op(&OpHead { name, location, attrs, results, operands, regions, isolated: false });
        Ok(())
    }
}
