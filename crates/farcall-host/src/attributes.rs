//! Converts the attributes of calls from a program's form to the form that signatures see. (`Attr::try_from`
//! converts back.)

use farcall_ir::attr::IntKind;
use farcall_ir::memory;
use farcall_ir::{Attr, DType, Literal};
use farcall_sig::{AttrArray, AttrValue, ScalarType};

/// Converts a program's attribute to the form that signatures see. `None` if the attribute is neither a
/// number, a string, an array of numbers of one type nor a dictionary of these, or if there is not enough
/// memory.
pub fn value(attr: &Attr) -> Option<AttrValue> {
    match attr {
        Attr::Bool(b) => Some((*b).into()),
        Attr::Int(value, IntKind::Typed(DType::Pred)) => Some((*value != 0).into()),
        Attr::Int(value, IntKind::Typed(dtype)) => {
            Some(AttrValue::Int(*value, ScalarType::try_from(*dtype).ok()?))
        }
        Attr::Int(value, IntKind::Index) => Some(AttrValue::Int(*value, ScalarType::I64)),
        Attr::Float(bits, dtype) => {
            Some(AttrValue::Float(f64::from_bits(*bits), ScalarType::try_from(*dtype).ok()?))
        }
        Attr::String(bytes) => Some(AttrValue::bytes(bytes)),
        Attr::Array(items) => {
            let mut array = AttrArray::new(value(items.first()?)?.dtype()?, Vec::new()).ok()?;
            items.iter().try_for_each(|item| array.push(&value(item)?))?;
            Some(array.into())
        }
        Attr::Dense(literal) | Attr::DenseArray(literal) | Attr::DenseIndex(literal) => {
            array(literal).map(AttrValue::Array)
        }
        Attr::Dict(dict) => {
            let entries = dict.iter().map(|(name, attr)| Some((name.clone(), value(attr)?)));
            Some(AttrValue::Dict(entries.collect::<Option<_>>()?))
        }
        Attr::Unit
        | Attr::Elided(_)
        | Attr::Symbol(_)
        | Attr::Type(_)
        | Attr::Dialect(_)
        | Attr::Sharding(_)
        | Attr::ShardingPerValue(_) => None,
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
    fn there_and_back(attr: &Attr) -> Option<Attr> {
        Attr::try_from(&value(attr)?).ok()
    }

    #[test]
    fn attributes_come_back_from_signatures() {
        let complex = Literal::from_fn(DType::C64, [3], |i| Scalar::Float(i as f64));
        let attrs = [
            Attr::Bool(true),
            Attr::Int(-3, IntKind::Typed(DType::S8)),
            Attr::float(0.1, DType::F32),
            Attr::string(b"\xff"),
            Attr::string("text"),
            Attr::i64_array(&[1, -2]),
            Attr::DenseArray(complex),
            Attr::Dict([("a".to_owned(), Attr::i64(1))].into()),
        ];
        for attr in attrs {
            assert_eq!(there_and_back(&attr), Some(attr));
        }
    }

    #[test]
    fn other_forms_are_normalized() {
        let list = Attr::Array(vec![Attr::i64(1), Attr::i64(-2)]);
        assert_eq!(there_and_back(&list), Some(Attr::i64_array(&[1, -2])));
        let square = Literal::splat(DType::S64, [2, 2], Scalar::Signed(7));
        assert_eq!(there_and_back(&Attr::Dense(square)), Some(Attr::i64_array(&[7; 4])));
        assert_eq!(there_and_back(&Attr::Int(1, IntKind::Typed(DType::Pred))), Some(Attr::Bool(true)));
        for none in [Attr::Unit, Attr::Array(vec![]), Attr::Array(vec![Attr::i64(1), Attr::Bool(true)])] {
            assert_eq!(value(&none), None);
        }
        assert_eq!(value(&Attr::float(1.0, DType::F16)), None);
    }
}
