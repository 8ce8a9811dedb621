//! Whether a pointer from the other side can be dereferenced.

/// 0 unless a pointer is null or misaligned. The answers for several pointers, or-ed, are tested at once: this
/// is done for every pointer of a call frame.
#[inline(always)]
pub(crate) fn unusable<T>(pointer: *const T) -> usize {
    let address = pointer.addr();
    // What should be zero becomes the highest bits, where no address of a program has any; null wraps around.
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
