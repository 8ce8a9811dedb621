//! Conversion of FlatBuffers tables to [`Exported`].

use farcall_sig::DType;

use super::flat::{Bytes, Error, List, Reading, Table};
use super::{Aval, AvalDType, AvalSharding, DisabledCheck, Exported, MAX_DEPTH, Memory, Tree};
use crate::bytecode;

// Fields of `Exported`.
const VERSION: usize = 0;
const NAME: usize = 1;
const IN_TREE: usize = 2;
const IN_AVALS: usize = 3;
const OUT_TREE: usize = 4;
const OUT_AVALS: usize = 5;
const DEVICES_SHORT: usize = 6;
const IN_SHARDINGS: usize = 7;
const OUT_SHARDINGS: usize = 8;
const PLATFORMS: usize = 9;
const ORDERED_EFFECTS: usize = 10;
const UNORDERED_EFFECTS: usize = 11;
const DISABLED_CHECKS: usize = 12;
const MODULE: usize = 13;
const CONVENTION: usize = 14;
const KEPT: usize = 15;
const GLOBAL_CONSTANTS: usize = 16;
const VJP: usize = 17;
const DEVICES: usize = 18;
const UNIQUE_AVALS: usize = 19;
const UNIQUE_MESHES: usize = 20;
const UNIQUE_SHARDINGS: usize = 21;
const IN_AVAL_INDICES: usize = 22;
const OUT_AVAL_INDICES: usize = 23;
const IN_SHARDING_INDICES: usize = 24;
const OUT_SHARDING_INDICES: usize = 25;
const JAX_VERSION: usize = 26;

/// Number of objects that each byte of a file may yield. An argument that gives its type by index takes only
/// four bytes, but yields a type with all its sizes.
const ITEMS_PER_BYTE: usize = 2;

/// Number of objects that any file may yield, however short.
const MIN_ITEMS: usize = 1 << 16;

/// Bytes of text that count as one object.
const BYTES_PER_ITEM: usize = 8;

/// Element types by their number in the schema.
const DTYPES: [AvalDType; 30] = {
    use AvalDType::{Float0, Key, Plain};
    use DType::*;
    [
        Plain(Pred),
        Plain(S8),
        Plain(S16),
        Plain(S32),
        Plain(S64),
        Plain(U8),
        Plain(U16),
        Plain(U32),
        Plain(U64),
        Plain(F16),
        Plain(F32),
        Plain(F64),
        Plain(C64),
        Plain(C128),
        Plain(BF16),
        Plain(S4),
        Plain(U4),
        Plain(F8E4M3B11FNUZ),
        Plain(F8E4M3FN),
        Plain(F8E4M3FNUZ),
        Plain(F8E5M2),
        Plain(F8E5M2FNUZ),
        Float0,
        Plain(F8E4M3),
        Plain(F8E3M4),
        Plain(F8E8M0FNU),
        Plain(F4E2M1FN),
        Key("fry"),
        Key("rbg"),
        Key("unsafe_rbg"),
    ]
};

/// Returns true if the root table has a program and the required fields around it.
pub(super) fn looks_right(bytes: &[u8]) -> bool {
    let Ok(root) = Bytes(bytes).root() else { return false };
    let module = || {
        let fields =
            root.text(NAME)?.is_some() && root.table(IN_TREE)?.is_some() && root.u16(CONVENTION)? > 0;
        Ok::<_, Error>(fields && bytecode::is_bytecode(root.bytes(MODULE)?.0))
    };
    // A field cannot be read: an offset leads beyond the end of `bytes`. `bytes` may be only the beginning of
    // a file that was truncated or comes from a pipe, so the calling convention alone decides.
    module().unwrap_or_else(|_| root.u16(CONVENTION).is_ok_and(|convention| convention > 0))
}

pub(super) fn exported(bytes: &[u8]) -> Reading<Exported<'_>> {
    let mut reader = Reader { left: bytes.len().saturating_mul(ITEMS_PER_BYTE).saturating_add(MIN_ITEMS) };
    reader.exported(Bytes(bytes).root()?, 0)
}

/// Reader with a budget. Tables may be referenced more than once, so every use is charged.
struct Reader {
    /// Remaining budget in objects, each of which may be [`BYTES_PER_ITEM`] bytes of text.
    left: usize,
}

type Avals = Vec<Aval>;
type Shardings = Vec<Option<AvalSharding>>;

impl Reader {
    fn charge(&mut self, items: usize, table: &Table<'_>) -> Reading<()> {
        match self.left.checked_sub(items) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => table.wrong("parts of the file are used too often"),
        }
    }

    fn charge_text(&mut self, len: usize, table: &Table<'_>) -> Reading<()> {
        self.charge(1 + len / BYTES_PER_ITEM, table)
    }

    fn exported<'a>(&mut self, table: Table<'a>, depth: usize) -> Reading<Exported<'a>> {
        self.charge(1, &table)?;
        if depth >= MAX_DEPTH {
            return table.wrong(format!("derivatives nest more than {MAX_DEPTH} deep"));
        }
        let Some(in_tree) = table.table(IN_TREE)? else {
            return table.wrong("the tree of the arguments is missing");
        };
        let Some(out_tree) = table.table(OUT_TREE)? else {
            return table.wrong("the tree of the results is missing");
        };
        let artifact = table.bytes(MODULE)?;
        if !bytecode::is_bytecode(artifact.0) {
            return table.wrong("the program is not MLIR bytecode");
        }
        let unique = self.avals(&table, UNIQUE_AVALS)?;
        let meshes = self.meshes(&table)?;
        let mut named = Vec::new();
        let list = table.list(UNIQUE_SHARDINGS, 4)?;
        for i in 0..list.len {
            named.push(self.named(&list.table(i)?, &meshes)?);
        }
        let devices = match table.u32(DEVICES)? {
            0 => u32::from(table.u16(DEVICES_SHORT)?),
            n => n,
        };
        let exported = Exported {
            serialization_version: table.u16(VERSION)?,
            jax_version: self.text(&table, JAX_VERSION)?,
            function_name: self.text(&table, NAME)?.unwrap_or_default(),
            in_tree: self.tree(in_tree, 0)?,
            out_tree: self.tree(out_tree, 0)?,
            in_avals: self.indexed_avals(&table, (IN_AVAL_INDICES, IN_AVALS), &unique)?,
            out_avals: self.indexed_avals(&table, (OUT_AVAL_INDICES, OUT_AVALS), &unique)?,
            platforms: self.texts(&table, PLATFORMS)?,
            devices,
            ordered_effects: self.effects(&table, ORDERED_EFFECTS)?,
            unordered_effects: self.effects(&table, UNORDERED_EFFECTS)?,
            disabled_checks: self.checks(&table)?,
            calling_convention: table.u16(CONVENTION)?,
            kept_vars: self.kept(&table)?,
            uses_global_constants: table.u8(GLOBAL_CONSTANTS)? != 0,
            in_shardings: self.shardings(&table, (IN_SHARDING_INDICES, IN_SHARDINGS), &named, &meshes)?,
            out_shardings: self.shardings(&table, (OUT_SHARDING_INDICES, OUT_SHARDINGS), &named, &meshes)?,
            artifact,
            vjp: match table.table(VJP)? {
                Some(vjp) => Some(Box::new(self.exported(vjp, depth + 1)?)),
                None => None,
            },
        };
        exported.parts_agree().or_else(|message| table.wrong(message))?;
        Ok(exported)
    }

    fn text(&mut self, table: &Table<'_>, i: usize) -> Reading<Option<String>> {
        let Some(text) = table.text(i)? else { return Ok(None) };
        self.charge_text(text.len(), table)?;
        Ok(Some(text.to_owned()))
    }

    fn texts(&mut self, table: &Table<'_>, i: usize) -> Reading<Vec<String>> {
        let list = table.list(i, 4)?;
        self.texts_of(table, &list)
    }

    fn texts_of(&mut self, table: &Table<'_>, list: &List<'_>) -> Reading<Vec<String>> {
        let mut out = Vec::new();
        for i in 0..list.len {
            let text = list.text(i)?;
            self.charge_text(text.len(), table)?;
            out.push(text.to_owned());
        }
        Ok(out)
    }

    fn tree(&mut self, table: Table<'_>, depth: usize) -> Reading<Tree> {
        self.charge(1, &table)?;
        if depth >= MAX_DEPTH {
            return table.wrong(format!("a tree nests more than {MAX_DEPTH} deep"));
        }
        let mut children = Vec::new();
        let list = table.list(1, 4)?;
        for i in 0..list.len {
            children.push(self.tree(list.table(i)?, depth + 1)?);
        }
        match table.u8(0)? {
            0 => Ok(Tree::Leaf),
            1 => Ok(Tree::None),
            2 => Ok(Tree::Tuple(children)),
            3 => Ok(Tree::List(children)),
            4 => {
                let names = self.texts(&table, 2)?;
                if names.len() != children.len() {
                    return table.wrong(format!("{} keys for {} values", names.len(), children.len()));
                }
                Ok(Tree::Dict(names.into_iter().zip(children).collect()))
            }
            5 => {
                let name = self.text(&table, 3)?.unwrap_or_default();
                let (data, _) = table.bytes(4)?;
                self.charge_text(data.len(), &table)?;
                Ok(Tree::Custom { name, data: data.to_vec(), children })
            }
            kind => table.wrong(format!("a tree of the unknown kind {kind}")),
        }
    }

    fn avals(&mut self, table: &Table<'_>, i: usize) -> Reading<Avals> {
        let list = table.list(i, 4)?;
        let mut out = Vec::new();
        for i in 0..list.len {
            let table = list.table(i)?;
            let kind = table.u8(0)?;
            if kind != 0 {
                return table.wrong(format!("a value of the unknown kind {kind}"));
            }
            let shape = self.texts(&table, 1)?;
            let dtype = table.u8(2)?;
            let Some(dtype) = DTYPES.get(usize::from(dtype)).copied() else {
                return table.wrong(format!("unknown element type {dtype}"));
            };
            let memory = match table.u8(3)? {
                0 => Memory::Unspecified,
                1 => Memory::Device,
                2 => Memory::Host,
                3 => Memory::Any,
                other => return table.wrong(format!("unknown memory space {other}")),
            };
            self.charge(1, &table)?;
            out.push(Aval { shape, dtype, memory });
        }
        Ok(out)
    }

    /// Reads types by their indices into the list of unique types (since version 10), or else from a plain
    /// list.
    fn indexed_avals(
        &mut self,
        table: &Table<'_>,
        (indices, list): (usize, usize),
        unique: &[Aval],
    ) -> Reading<Avals> {
        let indices = table.list(indices, 4)?;
        if indices.len == 0 {
            return self.avals(table, list);
        }
        let mut out = Vec::new();
        for i in 0..indices.len {
            let index = indices.u32(i)?;
            let Some(aval) = unique.get(index as usize) else {
                return table.wrong(format!("there is no type {index}, only {}", unique.len()));
            };
            for size in &aval.shape {
                self.charge_text(size.len(), table)?;
            }
            self.charge(1, table)?;
            out.push(aval.clone());
        }
        Ok(out)
    }

    fn effects(&mut self, table: &Table<'_>, i: usize) -> Reading<Vec<String>> {
        let list = table.list(i, 4)?;
        let mut out = Vec::new();
        for i in 0..list.len {
            let effect = list.table(i)?;
            out.push(self.text(&effect, 0)?.unwrap_or_default());
            self.charge(1, table)?;
        }
        Ok(out)
    }

    fn checks(&mut self, table: &Table<'_>) -> Reading<Vec<DisabledCheck>> {
        let list = table.list(DISABLED_CHECKS, 4)?;
        let mut out = Vec::new();
        for i in 0..list.len {
            let check = list.table(i)?;
            self.charge(1, table)?;
            out.push(match check.u8(0)? {
                0 => DisabledCheck::Platform,
                1 => DisabledCheck::CustomCall(self.text(&check, 1)?.unwrap_or_default()),
                2 => DisabledCheck::ShapeAssertions,
                kind => return check.wrong(format!("a check of the unknown kind {kind}")),
            });
        }
        Ok(out)
    }

    fn kept(&mut self, table: &Table<'_>) -> Reading<Vec<usize>> {
        let list = table.list(KEPT, 2)?;
        self.charge(list.len / BYTES_PER_ITEM, table)?;
        (0..list.len).map(|i| list.u16(i).map(usize::from)).collect()
    }

    // --- shardings

    fn meshes(&mut self, table: &Table<'_>) -> Reading<Vec<Vec<(String, u32)>>> {
        let list = table.list(UNIQUE_MESHES, 4)?;
        let mut out = Vec::new();
        for i in 0..list.len {
            out.push(self.mesh(&list.table(i)?)?);
        }
        Ok(out)
    }

    /// Reads the names and sizes of a mesh's axes.
    fn mesh(&mut self, table: &Table<'_>) -> Reading<Vec<(String, u32)>> {
        self.charge(1, table)?;
        let (sizes, names) = (table.list(0, 4)?, self.texts(table, 1)?);
        if sizes.len != names.len() {
            return table.wrong(format!("{} sizes for {} axes", sizes.len, names.len()));
        }
        names.into_iter().enumerate().map(|(i, name)| Ok((name, sizes.u32(i)?))).collect()
    }

    fn named(&mut self, table: &Table<'_>, meshes: &[Vec<(String, u32)>]) -> Reading<AvalSharding> {
        self.charge(1, table)?;
        let mesh = match table.table(0)? {
            Some(mesh) => self.mesh(&mesh)?,
            None => {
                let index = table.u32(3)?;
                let Some(mesh) = meshes.get(index as usize) else {
                    return table.wrong(format!("there is no mesh {index}, only {}", meshes.len()));
                };
                for (name, _) in mesh {
                    self.charge_text(name.len(), table)?;
                }
                mesh.clone()
            }
        };
        let mut spec = Vec::new();
        if let Some(table) = table.table(1)? {
            let list = table.list(0, 4)?;
            for i in 0..list.len {
                let axes = list.table(i)?.list(0, 4)?;
                self.charge(1, &table)?;
                spec.push(self.texts_of(&table, &axes)?);
            }
        }
        Ok(AvalSharding::Named { mesh, spec, memory_kind: self.text(table, 2)? })
    }

    /// Reads shardings by their indices into the list of unique shardings (since version 10), or else from a
    /// plain list.
    fn shardings(
        &mut self,
        table: &Table<'_>,
        (indices, list): (usize, usize),
        named: &[AvalSharding],
        meshes: &[Vec<(String, u32)>],
    ) -> Reading<Shardings> {
        let mut out = Vec::new();
        let indices = table.list(indices, 4)?;
        for i in 0..indices.len {
            let index = indices.u32(i)? as usize;
            out.push(match index.checked_sub(1) {
                None => None,
                Some(i) => match named.get(i) {
                    Some(sharding) => {
                        self.charge_sharding(sharding, table)?;
                        Some(sharding.clone())
                    }
                    None => return table.wrong(format!("there is no sharding {i}, only {}", named.len())),
                },
            });
        }
        if indices.len > 0 {
            return Ok(out);
        }
        let list = table.list(list, 4)?;
        for i in 0..list.len {
            let table = list.table(i)?;
            self.charge(1, &table)?;
            out.push(match table.u8(0)? {
                0 => None,
                1 => {
                    let (proto, _) = table.bytes(1)?;
                    self.charge_text(proto.len(), &table)?;
                    Some(AvalSharding::Hlo(proto.to_vec()))
                }
                2 => match table.table(2)? {
                    Some(table) => Some(self.named(&table, meshes)?),
                    None => return table.wrong("a sharding without its contents"),
                },
                kind => return table.wrong(format!("a sharding of the unknown kind {kind}")),
            });
        }
        Ok(out)
    }

    fn charge_sharding(&mut self, sharding: &AvalSharding, table: &Table<'_>) -> Reading<()> {
        if let AvalSharding::Named { mesh, spec, .. } = sharding {
            for text in mesh.iter().map(|(name, _)| name).chain(spec.iter().flatten()) {
                self.charge_text(text.len(), table)?;
            }
            self.charge(spec.len(), table)?;
        }
        self.charge(1, table)
    }
}
