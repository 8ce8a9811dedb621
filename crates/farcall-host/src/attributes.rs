//! Converts the attributes of calls from a program's form to the form that signatures see.
//! (`Attribute::try_from` converts back.)

use farcall_ir::attr::IntKind;
use farcall_ir::memory;
use farcall_ir::{Attribute, DType, Literal};
use farcall_sig::{AttrArray, AttrValue, ScalarType};

/// Converts a program's attribute to the form that signatures see. `None` if the attribute is neither a
/// number, a string, an array of numbers of one type nor a dictionary of these, or if there is not enough
/// memory.
pub fn value(attr: &Attribute) -> Option<AttrValue> {
    match attr {
        Attribute::Bool(b) => Some((*b).into()),
        Attribute::Int(value, IntKind::Typed(DType::Pred)) => Some((*value != 0).into()),
        Attribute::Int(value, IntKind::Typed(dtype)) => {
            Some(AttrValue::Int(*value, ScalarType::try_from(*dtype).ok()?))
        }
        Attribute::Int(value, IntKind::Index) => Some(AttrValue::Int(*value, ScalarType::I64)),
        Attribute::Float(bits, dtype) => {
            Some(AttrValue::Float(f64::from_bits(*bits), ScalarType::try_from(*dtype).ok()?))
        }
        Attribute::String(bytes) => Some(AttrValue::bytes(bytes)),
        Attribute::Array(items) => {
            let mut array = AttrArray::new(value(items.first()?)?.dtype()?, Vec::new()).ok()?;
            items.iter().try_for_each(|item| array.push(&value(item)?))?;
            Some(array.into())
        }
        Attribute::Dense(literal) | Attribute::DenseArray(literal) | Attribute::DenseIndex(literal) => {
            array(literal).map(AttrValue::Array)
        }
        Attribute::Dict(dict) => {
            let entries = dict.iter().map(|(name, attr)| Some((name.clone(), value(attr)?)));
            Some(AttrValue::Dict(entries.collect::<Option<_>>()?))
        }
        Attribute::Unit
        | Attribute::Elided(_)
        | Attribute::Symbol(_)
        | Attribute::Type(_)
        | Attribute::Dialect(_)
        | Attribute::Sharding(_)
        | Attribute::ShardingPerValue(_) => None,
    }
}

/// Returns the elements of a tensor, row-major.
fn array(literal: &Literal) -> Option<AttrArray> {
    if !AttrArray::holds(literal.dtype()) {
        return None;
    }
    // A few characters of text may stand for more elements than memory holds.
    let mut bytes = memory::reserved(literal.byte_len()).ok()?;
    bytes.resize(literal.byte_len(), 0);
    literal.write_to(&mut bytes);
    AttrArray::new(literal.dtype(), bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcall_ir::Scalar;

    /// Converts a program's attribute to the form of signatures and back.
    fn there_and_back(attr: &Attribute) -> Option<Attribute> {
        Attribute::try_from(&value(attr)?).ok()
    }

    #[test]
    fn attributes_come_back_from_signatures() {
        let complex = Literal::from_fn(DType::C64, [3], |i| Scalar::Float(i as f64));
        let attrs = [
            Attribute::Bool(true),
            Attribute::Int(-3, IntKind::Typed(DType::S8)),
            Attribute::float(0.1, DType::F32),
            Attribute::string(b"\xff"),
            Attribute::string("text"),
            Attribute::i64_array(&[1, -2]),
            Attribute::DenseArray(complex),
            Attribute::Dict([("a".to_owned(), Attribute::i64(1))].into()),
        ];
        for attr in attrs {
            assert_eq!(there_and_back(&attr), Some(attr));
        }
    }

    #[test]
    fn other_forms_are_normalized() {
        let list = Attribute::Array(vec![Attribute::i64(1), Attribute::i64(-2)]);
        assert_eq!(there_and_back(&list), Some(Attribute::i64_array(&[1, -2])));
        let square = Literal::splat(DType::S64, [2, 2], Scalar::Signed(7));
        assert_eq!(there_and_back(&Attribute::Dense(square)), Some(Attribute::i64_array(&[7; 4])));
        assert_eq!(
            there_and_back(&Attribute::Int(1, IntKind::Typed(DType::Pred))),
            Some(Attribute::Bool(true))
        );
        for none in [
            Attribute::Unit,
            Attribute::Array(vec![]),
            Attribute::Array(vec![Attribute::i64(1), Attribute::Bool(true)]),
        ] {
            assert_eq!(value(&none), None);
        }
        assert_eq!(value(&Attribute::float(1.0, DType::F16)), None);
    }
}
