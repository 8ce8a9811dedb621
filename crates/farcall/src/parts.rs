//! Parts of tensors on devices: runs of partitioned programs on complete tensors.

use std::borrow::Cow;

use farcall_ir::sharding::TileAssignment;
use farcall_ir::{Literal, TensorType};
use farcall_runtime::RunError;

use crate::Executable;

impl Executable {
    /// Runs a program that was compiled with
    /// [`CompileOptions::partitioned`](crate::CompileOptions::partitioned) on complete tensors: divides the
    /// inputs among the devices, runs the program on all of them, and joins the results. A program without
    /// shardings gets all inputs on every device, and returns the results of the first device.
    ///
    /// ```
    /// use farcall::devices::Grid;
    /// use farcall::ir::{DType, Literal, Source, text};
    /// use farcall::{CompileOptions, Executable, Registry};
    ///
    /// let program = r#"
    ///   sdy.mesh @mesh = <["x"=2]>
    ///   func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
    ///     %0 = stablehlo.add %x, %x : tensor<4xf32>
    ///     return %0 : tensor<4xf32>
    ///   }"#;
    /// let module = text::parse(&Source::new("double.mlir", program))?;
    /// let options = CompileOptions::new().grid(Grid { replicas: 1, partitions: 2 }).partitioned(true);
    /// let double = Executable::compile(&module, &Registry::new(), &options)?;
    /// let results = double.run_partitioned(&[Literal::from_slice(DType::F32, [4], &[1.0_f32, 2.0, 3.0, 4.0])])?;
    /// assert_eq!(results[0].as_slice::<f32>(), [2.0, 4.0, 6.0, 8.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If an input does not have its type in [`complete_inputs`](Executable::complete_inputs); the errors of
    /// [`run_on_devices`](Executable::run_on_devices).
    pub fn run_partitioned(&self, inputs: &[Literal]) -> Result<Vec<Literal>, RunError> {
        Ok(self.joined(self.run_on_devices(&self.divided(inputs)?)?))
    }

    /// Types of the inputs of the complete program. If it is divided, each device takes parts of the types
    /// [`inputs`](Executable::inputs).
    pub fn complete_inputs(&self) -> Cow<'_, [TensorType]> {
        complete(self.inputs(), self.plan().sharding().map(|sharding| &sharding.inputs[..]))
    }

    /// Types of the results of the complete program.
    pub fn complete_outputs(&self) -> Cow<'_, [TensorType]> {
        complete(self.outputs(), self.plan().sharding().map(|sharding| &sharding.results[..]))
    }

    /// Returns the parts of complete inputs for each device.
    ///
    /// # Errors
    /// If an input does not have its type in [`complete_inputs`](Executable::complete_inputs).
    pub fn divided(&self, inputs: &[Literal]) -> Result<Vec<Vec<Literal>>, RunError> {
        let count = self.grid().processes();
        let Some(sharding) = self.plan().sharding() else { return Ok(vec![inputs.to_vec(); count]) };
        self.check_types(inputs, &self.complete_inputs())?;
        let part = |device: usize, i: usize, input: &Literal| {
            part_of(&sharding.inputs[i], &self.inputs()[i], input, device)
        };
        let of = |device: usize| inputs.iter().enumerate().map(|(i, input)| part(device, i, input)).collect();
        Ok((0..count).map(of).collect())
    }

    /// Joins the results of all devices; for a program that is not divided, returns those of the first one.
    pub fn joined(&self, results: Vec<Vec<Literal>>) -> Vec<Literal> {
        match self.plan().sharding() {
            Some(sharding) => {
                let of = sharding.results.iter().enumerate();
                of.map(|(i, assignment)| join(assignment, i, &results)).collect()
            }
            None => results.into_iter().next().unwrap_or_default(),
        }
    }
}

/// Returns the types of complete tensors from those of their parts.
fn complete<'t>(parts: &'t [TensorType], sharding: Option<&[TileAssignment]>) -> Cow<'t, [TensorType]> {
    let Some(sharding) = sharding else { return Cow::Borrowed(parts) };
    let tensors = parts.iter().zip(sharding);
    Cow::Owned(tensors.map(|(part, of)| part.with_sizes(of.sizes.clone())).collect())
}

/// Returns the part of a tensor that belongs to a device, with zeros as padding.
fn part_of(assignment: &TileAssignment, ty: &TensorType, whole: &Literal, device: usize) -> Literal {
    let sizes = ty.sizes();
    let mut part = Literal::zeros(whole.dtype(), sizes.to_vec());
    // The first summand is the part itself.
    let Some(first) = first_element(assignment, sizes, device) else { return part };
    let element = whole.dtype().size();
    let (from, to) = (whole.bytes(), part.bytes_mut());
    runs(whole.dims(), sizes, &first, &mut |at_whole, at_part, len| {
        let (at_whole, at_part, len) = (at_whole * element, at_part * element, len * element);
        to[at_part..at_part + len].copy_from_slice(&from[at_whole..at_whole + len]);
    });
    part
}

fn join(assignment: &TileAssignment, result: usize, results: &[Vec<Literal>]) -> Literal {
    let first = &results[0][result];
    let sizes = &assignment.sizes;
    let mut whole = Literal::zeros(first.dtype(), sizes.clone());
    let element = first.dtype().size();
    for (device, results) in results.iter().enumerate() {
        let part = &results[result];
        let Some(first) = first_element(assignment, part.dims(), device) else { continue };
        let (from, to) = (part.bytes(), whole.bytes_mut());
        runs(sizes, part.dims(), &first, &mut |at_whole, at_part, len| {
            let (at_whole, at_part, len) = (at_whole * element, at_part * element, len * element);
            to[at_whole..at_whole + len].copy_from_slice(&from[at_part..at_part + len]);
        });
    }
    whole
}

/// Returns the index of the first element of a device's part in the complete tensor; `None` if the device
/// holds another summand than the first.
fn first_element(assignment: &TileAssignment, part: &[usize], device: usize) -> Option<Vec<usize>> {
    let place = assignment.devices.iter().position(|d| *d == device)?;
    if !(place / assignment.copies.max(1)).is_multiple_of(assignment.summands.max(1)) {
        return None;
    }
    let mut tile = place / (assignment.copies * assignment.summands).max(1);
    let mut first = vec![0; part.len()];
    for d in (0..part.len()).rev() {
        first[d] = tile % assignment.tiles[d] * part[d];
        tile /= assignment.tiles[d];
    }
    Some(first)
}

/// Calls `copy` for each run of elements of a part that is contiguous in the complete tensor: with the
/// positions in the tensor and in the part, and the number of elements. Padding is left out.
fn runs(whole: &[usize], part: &[usize], first: &[usize], copy: &mut dyn FnMut(usize, usize, usize)) {
    let Some((last, outer)) = part.split_last() else { return copy(0, 0, 1) };
    let strides = farcall_ir::dims::strides(whole);
    let count: usize = outer.iter().product();
    let len = (*last).min(whole[outer.len()].saturating_sub(first[outer.len()]));
    if len == 0 {
        return;
    }
    for row in 0..count {
        let (mut rest, mut at, mut is_padding) = (row, first[outer.len()], false);
        for d in (0..outer.len()).rev() {
            let index = first[d] + rest % outer[d];
            is_padding |= index >= whole[d];
            at += index * strides[d];
            rest /= outer[d];
        }
        if !is_padding {
            copy(at, row * last, len);
        }
    }
}
