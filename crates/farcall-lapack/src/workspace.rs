//! Workspaces: memory whose size the routines determine.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use crate::element::MatrixElement;
use crate::names::Routine;

/// Maximum number of arguments on which the size of a workspace depends.
const MAX_SIZES: usize = 5;

/// Memory for the workspace of a routine, which calls for the matrices of a batch share.
///
/// The first call of a routine asks LAPACK for the size of the workspace. A workspace and its clones share the
/// answer, as long as they are used for one routine with the same sizes and options; other calls ask again. A
/// clone has its own memory, so each thread needs a clone.
#[derive(Debug)]
pub(crate) struct Workspace<T: MatrixElement> {
    /// The first request and its answer.
    size: Arc<OnceLock<(Request, usize)>>,
    elements: Vec<T>,
    real: Vec<T::Part>,
    integers: Vec<i32>,
}

/// A request for the size of a workspace: a routine, and the arguments on which the size depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    routine: Routine,
    sizes: [i32; MAX_SIZES],
}

impl Request {
    pub(crate) fn new(routine: Routine, sizes: &[i32]) -> Self {
        let mut all = [0; MAX_SIZES];
        all[..sizes.len()].copy_from_slice(sizes);
        Request { routine, sizes: all }
    }
}

impl<T: MatrixElement> Default for Workspace<T> {
    fn default() -> Self {
        Workspace { size: Arc::default(), elements: Vec::new(), real: Vec::new(), integers: Vec::new() }
    }
}

impl<T: MatrixElement> Clone for Workspace<T> {
    fn clone(&self) -> Self {
        Workspace { size: Arc::clone(&self.size), ..Workspace::default() }
    }
}

impl<T: MatrixElement> Workspace<T> {
    /// Returns memory for a request, and its size. `ask` returns the number in which LAPACK stores the size.
    pub(crate) fn elements(&mut self, request: &Request, ask: impl Fn() -> T) -> (&mut [T], i32) {
        let (first, size) = self.size.get_or_init(|| (request.clone(), rounded_up(ask())));
        let size = if first == request { *size } else { rounded_up(ask()) };
        if self.elements.len() < size {
            self.elements.resize(size, T::default());
        }
        (&mut self.elements[..size], size as i32)
    }

    /// Returns the argument for an array of `len` real numbers. It is valid until the next call of this function.
    pub(crate) fn real(&mut self, len: usize) -> *mut c_void {
        grown(&mut self.real, len)
    }

    /// Returns the argument for an array of `len` integers. It is valid until the next call of this function.
    pub(crate) fn integers(&mut self, len: usize) -> *mut c_void {
        grown(&mut self.integers, len)
    }
}

fn grown<E: Copy + Default>(array: &mut Vec<E>, len: usize) -> *mut c_void {
    if array.len() < len {
        array.resize(len, E::default());
    }
    array.as_mut_ptr().cast()
}

/// Returns the size that LAPACK stored in a number, at least 1 and at most `i32::MAX`.
fn rounded_up<T: MatrixElement>(stored: T) -> usize {
    let size = stored.work_size();
    // Older versions of LAPACK round the size to the nearest `f32`, which may be less.
    let size = if size_of::<T::Part>() == 4 { f64::from((size as f32).next_up()) } else { size };
    // The conversion saturates.
    (size.ceil() as i32).max(1) as usize
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn clones_share_the_answer() {
        let asked = Cell::new(0);
        let ask = |size: f64| {
            asked.set(asked.get() + 1);
            size
        };
        let request = Request::new(Routine::Geqrf, &[4, 3]);
        let mut work = Workspace::<f64>::default();
        let mut other = work.clone();
        assert_eq!(work.elements(&request, || ask(96.0)).1, 96);
        assert_eq!(other.elements(&request, || ask(96.0)).0.len(), 96);
        assert_eq!(work.clone().elements(&request, || ask(96.0)).1, 96);
        assert_eq!(asked.get(), 1);
        // Another routine or size has another workspace.
        let larger = Request::new(Routine::Geqrf, &[9, 3]);
        assert_eq!(work.elements(&larger, || ask(288.0)).1, 288);
        assert_eq!(asked.get(), 2);
        assert_eq!(work.elements(&request, || ask(96.0)).0.len(), 96);
        assert_eq!(asked.get(), 2);
    }

    #[test]
    fn sizes_are_rounded_up() {
        assert_eq!(rounded_up(0.0f64), 1);
        assert_eq!(rounded_up(7.0f64), 7);
        // 2^24 + 1 is not an `f32`.
        assert!(rounded_up(16_777_216.0f32) > 16_777_216);
        assert_eq!(rounded_up(f64::INFINITY), i32::MAX as usize);
    }
}
