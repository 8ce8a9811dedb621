//! The arguments of a kernel's run: the memory of its inputs, outputs and scratch memory.

/// The memory that one run of a kernel works on: inputs, outputs and scratch memory, with the types and sizes
/// that the kernel was prepared for. Kernels rely on the guarantees that the caller of [`Args::new`] gives.
#[derive(Clone, Copy)]
pub struct Args<'a> {
    /// Inputs, outputs, then scratch memory, if the kernel asked for any.
    places: &'a [Place],
    inputs: usize,
    bases: &'a [*mut u8],
    /// Scalar constants: the elements that places with the base [`NUMBERS`] refer to.
    numbers: &'a [ElementBytes],
    /// Unique number of this run, for kernels that asked for one.
    run: u64,
}

/// Value of [`Place::base`] for scalar constants of a kernel, which are not in the memory of the run
/// ([`PreparedKernel::knowing`](crate::PreparedKernel::knowing)).
pub const NUMBERS: usize = usize::MAX;

/// An element of any type.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct ElementBytes([u8; ElementBytes::SIZE]);

impl ElementBytes {
    /// Distance between elements in bytes.
    pub const SIZE: usize = 16;

    /// Creates an element from its bytes.
    ///
    /// # Panics
    /// If there are more than [`ElementBytes::SIZE`] bytes.
    pub fn new(bytes: &[u8]) -> ElementBytes {
        let mut all = [0; ElementBytes::SIZE];
        all[..bytes.len()].copy_from_slice(bytes);
        ElementBytes(all)
    }

    /// Returns the element's bytes, followed by zeros.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

// SAFETY: only kernels use the pointers, during a run, and the tasks of one run access disjoint memory, as
// `PreparedKernel::in_tasks` requires of each kernel.
unsafe impl Sync for Args<'_> {}

/// A range of bytes, relative to one of a run's base addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Index of the base address.
    pub base: usize,
    /// Offset of the first byte.
    pub offset: usize,
    /// Number of bytes.
    pub size: usize,
}

impl Place {
    /// Returns the rest of the place, starting at byte `offset`.
    pub(super) fn from(self, offset: usize) -> Place {
        Place { base: self.base, offset: self.offset + offset, size: self.size - offset }
    }

    /// Returns the address of the place.
    ///
    /// # Safety
    /// The place is within the memory that starts at its base address.
    #[inline]
    pub unsafe fn at(self, bases: &[*mut u8]) -> *mut u8 {
        // SAFETY: the caller guarantees that the place is in the memory of its base (`# Safety` above).
        unsafe { bases[self.base].add(self.offset) }
    }
}

impl<'a> Args<'a> {
    /// Creates the arguments at these places, inputs first.
    ///
    /// # Safety
    /// Each place lies in the memory that starts at its base address. Each place is aligned to the largest
    /// element size, and is valid for reads and writes as long as the arguments exist. Places with the base
    /// [`NUMBERS`] are constants of the kernel that the arguments are passed to.
    #[inline]
    pub unsafe fn new(places: &'a [Place], inputs: usize, bases: &'a [*mut u8]) -> Args<'a> {
        Args { places, inputs, bases, numbers: &[], run: 0 }
    }

    /// Returns arguments at other places of the same memory.
    ///
    /// # Safety
    /// Same requirements as [`Args::new`], for these places.
    pub(super) unsafe fn with<'b>(&self, places: &'b [Place], inputs: usize) -> Args<'b>
    where
        'a: 'b,
    {
        Args { places, inputs, ..*self }
    }

    /// Returns the same arguments with these scalar constants.
    #[inline]
    pub(super) fn with_numbers<'b>(&self, numbers: &'b [ElementBytes]) -> Args<'b>
    where
        'a: 'b,
    {
        Args { numbers, ..*self }
    }

    /// Returns the same arguments for a run with this number.
    #[inline]
    pub(super) fn in_run(self, run: u64) -> Args<'a> {
        Args { run, ..self }
    }

    #[inline]
    fn at<T>(&self, place: Place) -> *mut T {
        let at = match place.base {
            NUMBERS => self.numbers.as_ptr().cast_mut().cast::<u8>().wrapping_add(place.offset),
            // SAFETY: the creator of the arguments guarantees that the places are valid memory (`Args::new`).
            _ => unsafe { place.at(self.bases) },
        };
        let at = at.cast::<T>();
        debug_assert!(at.is_aligned(), "places are aligned for every element type");
        at
    }

    /// Returns the number of this run, if the kernel asked for run numbers. Every run has a different number.
    pub(super) fn run_number(&self) -> u64 {
        self.run
    }

    /// Returns the place of an input.
    #[inline]
    pub(super) fn input_place(&self, i: usize) -> Place {
        self.places[i]
    }

    /// Returns the place of an output.
    #[inline]
    pub(super) fn output_place(&self, i: usize) -> Place {
        self.places[self.inputs + i]
    }

    /// Returns the place of the scratch memory, if the kernel asked for any.
    #[inline]
    pub(super) fn scratch_place(&self) -> Place {
        self.places[self.places.len() - 1]
    }

    /// Returns the address of an input's elements. It is a pointer rather than a slice, because an output may
    /// be in the same memory.
    #[inline]
    pub(super) fn input_ptr<T>(&self, i: usize) -> *const T {
        self.at(self.input_place(i))
    }

    /// Returns the address of an output's elements. It is a pointer rather than a slice, because an input may
    /// be in the same memory, and because the tasks of a run share the output.
    #[inline]
    pub(super) fn output_ptr<T>(&self, i: usize) -> *mut T {
        self.at(self.output_place(i))
    }

    /// Returns the address of a place.
    #[inline]
    pub(super) fn ptr<T>(&self, place: Place) -> *mut T {
        self.at(place)
    }
}
