//! Sample calls of an op: operands that `farcall op --check` uses where random operands are not valid.
//!
//! ```
//! use farcall_ffi::prelude::*;
//!
//! /// Sums the rows of `x` whose indices are in `at`.
//! #[handler(name = "sum_rows")]
//! #[signature((x: f32[m, n], at: s32[k], weight: f32 = 1.0) -> (y: f32[n]))]
//! #[samples(sum_rows_samples)]
//! fn sum_rows(x: &Buffer<f32, 2>, at: &Buffer<i32, 1>, weight: f32, y: &mut Buffer<f32, 1>) -> Result<()> {
//! #   let _ = (x, at, weight, y);
//!     // …
//!     Ok(())
//! }
//!
//! fn sum_rows_samples() -> Vec<Sample> {
//!     let x: Vec<f32> = (0..12u8).map(|i| f32::from(i).sin()).collect();
//!     let call = || Sample::new().operand(&x, &[4, 3]);
//!     vec![
//!         call().operand(&[3i32, 0], &[2]),
//!         call().operand(&[1i32, 1, 2], &[3]).attr("weight", 0.5f32),
//!     ]
//! }
//! ```
//!
//! The function is called by tools that check the library, and never while a program runs.

use std::ffi::c_void;
use std::ptr::null_mut;

use farcall_sig::{AttrValue, AttrValues};

use crate::abi as c;
use crate::arena::Arena;
use crate::element::Element;
use crate::encode::encode_attrs;
use crate::rules::answer;

use abi::{SampleCall, SamplesCall};

/// Structs through which a host requests samples and receives them.
pub mod abi {
    use std::ffi::c_void;

    use crate::abi::{Attrs, Buffer, ByteSpan};

    /// A function that returns samples; its argument is a [`SamplesCall`], whose `sample` it calls once for
    /// each sample.
    pub type SamplesFn = unsafe extern "C" fn(call: *mut c_void);

    /// The request for samples, with the host's functions that receive the samples.
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct SamplesCall {
        /// Size of this struct as the host knows it.
        pub struct_size: usize,
        /// First argument of the functions below.
        pub host: *mut c_void,
        /// Reports why the samples cannot be returned, in UTF-8.
        pub fail: Option<unsafe extern "C" fn(host: *mut c_void, message: ByteSpan)>,
        /// Receives the next sample.
        pub sample: Option<unsafe extern "C" fn(host: *mut c_void, call: *const SampleCall)>,
    }

    /// A call of the op.
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct SampleCall {
        /// Size of this struct as the library knows it.
        pub struct_size: usize,
        /// `operand_count` operands.
        pub operands: *const Buffer,
        /// Number of operands.
        pub operand_count: usize,
        /// Attributes that differ from the signature's defaults.
        pub attrs: *const Attrs,
    }
}

/// A call of an op: operands in the order of the signature, and attributes that differ from its defaults.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    operands: Vec<Operand>,
    attrs: AttrValues,
}

/// A dense array.
#[derive(Clone, Debug)]
struct Operand {
    dtype: c::DataType,
    dims: Vec<i64>,
    /// Elements, in memory that is aligned for every element type.
    words: Vec<u128>,
}

impl Sample {
    /// Makes a call without operands and attributes.
    pub fn new() -> Sample {
        Sample::default()
    }

    /// Adds the next operand.
    ///
    /// # Panics
    /// If `dims` does not match the number of elements.
    #[must_use]
    pub fn operand<T: Element>(mut self, elements: &[T], dims: &[usize]) -> Sample {
        let product: usize = dims.iter().product();
        assert_eq!(product, elements.len(), "dimensions {dims:?} do not fit {} elements", elements.len());
        let dims = dims.iter().map(|&dim| i64::try_from(dim).expect("no slice is that long")).collect();
        let mut words = vec![0u128; size_of_val(elements).div_ceil(size_of::<u128>())];
        // SAFETY: elements are plain numbers, and `words` has space for their bytes.
        unsafe {
            let from = elements.as_ptr().cast::<u8>();
            from.copy_to_nonoverlapping(words.as_mut_ptr().cast(), size_of_val(elements));
        }
        self.operands.push(Operand { dtype: c::DataType::from_dtype(T::DTYPE), dims, words });
        self
    }

    /// Sets an attribute.
    #[must_use]
    pub fn attr(mut self, name: &str, value: impl Into<AttrValue>) -> Sample {
        self.attrs.insert(name, value);
        self
    }
}

/// A function that returns samples.
#[doc(hidden)]
pub trait Samples {
    fn samples() -> Vec<Sample>;
}

/// Entry point of the samples function in the C interface, for an op's descriptor.
///
/// # Safety
/// `call` is null or points to a valid [`SamplesCall`].
#[doc(hidden)]
pub unsafe extern "C" fn samples_rule<S: Samples>(call: *mut c_void) {
    let call = call.cast::<SamplesCall>();
    // SAFETY: the pointer is neither null nor misaligned, and the size is the first member.
    if call.is_null() || !call.is_aligned() || unsafe { (*call).struct_size } < size_of::<SamplesCall>() {
        return;
    }
    // SAFETY: the size covers all members.
    let call = unsafe { call.read() };
    let Some(say) = call.sample else { return };
    answer(call.host, call.fail, "the function of #[samples]", || {
        for mut sample in S::samples() {
            let mut arena = Arena::default();
            let attrs = encode_attrs(&mut arena, &sample.attrs)?;
            let buffer = |operand: &mut Operand| c::Buffer {
                struct_size: c::Buffer::STRUCT_SIZE,
                extension_start: null_mut(),
                dtype: operand.dtype,
                data: operand.words.as_mut_ptr().cast(),
                rank: operand.dims.len() as i64,
                dims: operand.dims.as_mut_ptr(),
            };
            let operands: Vec<c::Buffer> = sample.operands.iter_mut().map(buffer).collect();
            let one = SampleCall {
                struct_size: size_of::<SampleCall>(),
                operands: operands.as_ptr(),
                operand_count: operands.len(),
                attrs: &raw const attrs,
            };
            // SAFETY: the host passed the function together with its argument.
            unsafe { say(call.host, &raw const one) };
        }
        Ok(())
    });
}
