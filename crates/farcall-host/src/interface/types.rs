//! Ids of the types of handlers' states and user data.
//!
//! There is one table per process, since a library keeps the id of a type in a variable. This host assigns
//! ids far above the ids of other hosts (jaxlib counts from 1). A library that was first loaded into another
//! host already has an id, which is kept.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{LazyLock, PoisonError, RwLock};

use farcall_ffi::abi::TypeId;

use crate::{CodedError, ErrorCode};

/// Function that destroys an object of a type.
pub type Deleter = unsafe extern "C" fn(object: *mut c_void);

/// First id that this host assigns: the letters FC, then zeros, then 1.
const FIRST_ID: i64 = 0x4643_0000_0000_0001;

/// A registered type.
#[derive(Clone, Debug)]
struct RegisteredType {
    name: String,
    deleter: Option<Deleter>,
}

#[derive(Default)]
struct Table {
    by_id: HashMap<i64, RegisteredType>,
    given: i64,
}

static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(RwLock::default);

/// Reason why a type was not registered.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TypeError {
    /// The name is empty.
    #[error("a type needs a name")]
    EmptyName,
    /// Another type has the id.
    #[error("type id {id} of `{name}` belongs to the type `{other}` already")]
    Taken {
        /// Name of the new type.
        name: String,
        /// Id of the new type.
        id: i64,
        /// Name of the type that has the id.
        other: String,
    },
}

impl CodedError for TypeError {
    fn code(&self) -> ErrorCode {
        match self {
            TypeError::EmptyName => ErrorCode::InvalidText,
            TypeError::Taken { .. } => ErrorCode::AlreadyRegistered,
        }
    }
}

/// Registers a type and returns its id. If `id` is not [`TypeId::UNKNOWN`], it becomes the id of the type.
/// Otherwise the type gets the existing id of the same type (name and deleter), or a new id if there is none.
///
/// Two libraries may have types of the same name with different deleters. Each gets its own id.
///
/// # Errors
/// If the name is empty, or the id belongs to another type.
///
/// # Safety
/// `deleter` may be called, on any thread until the process ends, with each object that a handler hands to
/// the host under the id.
pub unsafe fn register_type(name: &str, id: TypeId, deleter: Option<Deleter>) -> Result<TypeId, TypeError> {
    if name.is_empty() {
        return Err(TypeError::EmptyName);
    }
    let address = |d: Option<Deleter>| d.map_or(0, |d| d as usize);
    let same = |e: &RegisteredType| e.name == name && address(e.deleter) == address(deleter);
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    let id = if id != TypeId::UNKNOWN {
        match table.by_id.get(&id.type_id) {
            Some(other) if !same(other) => {
                return Err(TypeError::Taken {
                    name: name.into(),
                    id: id.type_id,
                    other: other.name.clone(),
                });
            }
            _ => id.type_id,
        }
    } else if let Some((known, _)) = table.by_id.iter().find(|(_, e)| same(e)) {
        *known
    } else {
        // Foreign ids in this range are unexpected but possible.
        while table.by_id.contains_key(&(FIRST_ID + table.given)) {
            table.given += 1;
        }
        FIRST_ID + table.given
    };
    table.by_id.insert(id, RegisteredType { name: name.into(), deleter });
    Ok(TypeId { type_id: id })
}

/// Returns the name of a registered type.
pub fn type_name(id: TypeId) -> Option<String> {
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    table.by_id.get(&id.type_id).map(|e| e.name.clone())
}

/// Returns the deleter of a registered type (which may have none).
pub(crate) fn deleter(id: TypeId) -> Option<Option<Deleter>> {
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    table.by_id.get(&id.type_id).map(|e| e.deleter)
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn first(_: *mut c_void) {}
    unsafe extern "C" fn second(_: *mut c_void) {
        std::hint::black_box(2);
    }

    #[test]
    fn ids_are_assigned_unless_a_type_has_one() {
        // SAFETY: no objects of these types exist, so no deleter is called.
        let register_type = |name, id, deleter| unsafe { register_type(name, id, deleter) };
        let a = register_type("types_test.a", TypeId::UNKNOWN, Some(first)).unwrap();
        assert!(a.type_id >= FIRST_ID);
        assert_eq!(register_type("types_test.a", TypeId::UNKNOWN, Some(first)), Ok(a));
        assert_eq!(register_type("types_test.a", a, Some(first)), Ok(a));
        let other = register_type("types_test.a", TypeId::UNKNOWN, Some(second)).unwrap();
        assert_ne!(a, other);
        let foreign = TypeId { type_id: 3 };
        assert_eq!(register_type("types_test.b", foreign, None), Ok(foreign));
        assert_eq!(type_name(foreign).as_deref(), Some("types_test.b"));
        assert!(register_type("types_test.c", foreign, None).is_err());
    }
}
