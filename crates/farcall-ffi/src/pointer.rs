//! Checks whether a pointer from a host can be dereferenced.

/// Returns 0 unless a pointer is null or misaligned. The answers for several pointers can be or-ed and tested
/// at once, which matters because every pointer of a call frame is checked.
#[inline(always)]
pub(crate) fn unusable<T>(pointer: *const T) -> usize {
    let address = pointer.addr();
    // The rotation moves the bits that must be zero to the top, where every user-space address has only
    // zeros. For null, the subtraction wraps around and sets the top bits.
    address.rotate_right(align_of::<T>().trailing_zeros()).wrapping_sub(1) >> 60
}

#[cfg(test)]
mod tests {
    use super::unusable;

    #[test]
    fn null_and_misaligned() {
        let at = |address| unusable::<u64>(std::ptr::without_provenance(address)) == 0;
        assert!(!at(0) && !at(1) && !at(4) && !at(15));
        assert!(at(8) && at(16) && at(0x7fff_ffff_ffff_fff8));
        assert_eq!(unusable::<u8>(std::ptr::without_provenance(1)), 0);
    }
}
