//! Programs of operations with windows: convolutions and pooling, their gradients, padding and strided
//! slices. Elements are small integers, so sums in any order are nearly equal.

use farcall::ir::eval::Denormals;
use farcall::ir::{DType, Literal, Scalar, Source, text};
use farcall_testing::SplitMix;

use crate::random::generate::Program;

/// Name and sizes of an image.
type Image = (String, [usize; 4]);

/// Builder of a program on images `[batch, height, width, feature]`.
struct Builder {
    random: SplitMix,
    dtype: DType,
    lines: Vec<String>,
    images: Vec<Image>,
}

/// A window along one dimension.
#[derive(Clone, Copy)]
struct Window {
    size: usize,
    stride: usize,
    padding: [i64; 2],
    base_dilation: usize,
    dilation: usize,
}

impl Window {
    const NONE: Window = Window { size: 1, stride: 1, padding: [0, 0], base_dilation: 1, dilation: 1 };

    /// Returns the number of positions along a dimension.
    fn positions(&self, size: usize) -> usize {
        let padded = dilated(size, self.base_dilation) + self.padding[0] + self.padding[1];
        let reach = dilated(self.size, self.dilation);
        if padded < reach { 0 } else { ((padded - reach) / self.stride as i64) as usize + 1 }
    }
}

/// Returns the size of a dimension after dilation by `by`.
fn dilated(size: usize, by: usize) -> i64 {
    if size == 0 { 0 } else { ((size - 1) * by + 1) as i64 }
}

/// Formats one field of each window: `1, 2`.
fn list(windows: &[Window], part: impl Fn(&Window) -> String) -> String {
    windows.iter().map(part).collect::<Vec<_>>().join(", ")
}

impl Builder {
    fn ty(&self, sizes: &[usize]) -> String {
        let sizes: String = sizes.iter().map(|size| format!("{size}x")).collect();
        format!("tensor<{sizes}{}>", if self.dtype == DType::F32 { "f32" } else { "i32" })
    }

    /// Returns a window for a dimension, which fits at least once if `size` is not 0. With `is_plain`,
    /// the window has no dilation and no negative padding, as the gradient of pooling needs.
    fn window(&mut self, size: usize, is_plain: bool) -> Window {
        let r = &mut self.random;
        loop {
            let mut window = Window {
                size: 1 + r.below(4),
                stride: r.pick(&[1, 1, 1, 2, 3]),
                padding: [0; 2].map(|_| r.pick(&[0, 0, 1, 1, 2, 3, -1])),
                base_dilation: r.pick(&[1, 1, 1, 2, 3]),
                dilation: r.pick(&[1, 1, 1, 2]),
            };
            if is_plain {
                window.padding = window.padding.map(|by| by.max(0));
                (window.base_dilation, window.dilation) = (1, 1);
            }
            if r.one_in(3) {
                // Adjacent windows without overlap, as in pooling.
                window = Window { size: window.size, stride: window.size, ..Window::NONE };
            }
            if size == 0 || window.positions(size) > 0 {
                return window;
            }
        }
    }

    fn name(&self, kind: &str) -> String {
        format!("%{kind}{}", self.lines.len())
    }

    /// Adds a convolution of the first image with the kernel `%k`. Returns the kernel's sizes.
    fn convolution(&mut self) -> [usize; 4] {
        let (name, [batch, height, width, features]) = self.images[0].clone();
        let windows = [self.window(height, false), self.window(width, false)];
        let divisors = |n: usize| (1..=n).filter(|by| n.is_multiple_of(*by)).collect::<Vec<_>>();
        let (mut groups, mut batch_groups) = (1, 1);
        match self.random.below(4) {
            0 => groups = self.random.pick(&divisors(features)),
            1 => batch_groups = self.random.pick(&divisors(batch)),
            _ => {}
        }
        let outputs = (1 + self.random.below(3)) * groups * batch_groups;
        let sizes = [windows[0].size, windows[1].size, features / groups, outputs];
        let [h, w] = [windows[0].positions(height), windows[1].positions(width)];
        let result = [batch / batch_groups, h, w, outputs];
        let reversed = [0; 2].map(|_| self.random.one_in(4).to_string()).join(", ");
        let attributes = format!(
            "stride = [{}], pad = [{}], lhs_dilate = [{}], rhs_dilate = [{}], reverse = [{reversed}]",
            list(&windows, |window| window.stride.to_string()),
            list(&windows, |window| format!("{:?}", window.padding)),
            list(&windows, |window| window.base_dilation.to_string()),
            list(&windows, |window| window.dilation.to_string()),
        );
        let made = self.name("conv");
        self.lines.push(format!(
            "{made} = stablehlo.convolution({name}, %k) \
             dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{{attributes}}} \
             {{batch_group_count = {batch_groups} : i64, feature_group_count = {groups} : i64}} \
             : ({}, {}) -> {}",
            self.ty(&self.images[0].1),
            self.ty(&sizes),
            self.ty(&result),
        ));
        self.images.push((made, result));
        sizes
    }

    /// Adds the gradient of a kernel, as JAX writes it: batches are contracted, and the cotangent of the result
    /// takes the kernel's place.
    fn kernel_gradient(&mut self, image: &Image) {
        let (name, [batch, height, width, features]) = image.clone();
        let windows = [self.window(height, false), self.window(width, false)];
        let [h, w] = [windows[0].positions(height), windows[1].positions(width)];
        let outputs = 1 + self.random.below(3);
        let cotangent = self.filled([batch, h, w, outputs]);
        // The gradient's window has the size of the result; the convolution's strides become its dilations.
        let kernels = [windows[0].size, windows[1].size];
        let padding = |size: usize, window: &Window| {
            // The upper padding that makes as many positions as the kernel has elements.
            let reach = dilated(window.positions(size), window.stride);
            let needed = dilated(window.size, window.dilation) - 1 + reach;
            let upper = needed - dilated(size, window.base_dilation) - window.padding[0];
            format!("[{}, {upper}]", window.padding[0])
        };
        let paddings = [padding(height, &windows[0]), padding(width, &windows[1])];
        let made = self.name("kernel");
        let result = [features, kernels[0], kernels[1], outputs];
        self.lines.push(format!(
            "{made} = stablehlo.convolution({name}, {}) \
             dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[b, 0, 1, f], \
             window = {{stride = [{}], pad = [{}], lhs_dilate = [{}], rhs_dilate = [{}]}} \
             {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({}, {}) -> {}",
            cotangent.0,
            list(&windows, |window| window.dilation.to_string()),
            paddings.join(", "),
            list(&windows, |window| window.base_dilation.to_string()),
            list(&windows, |window| window.stride.to_string()),
            self.ty(&image.1),
            self.ty(&cotangent.1),
            self.ty(&result),
        ));
        self.images.push((made, result));
    }

    /// Adds an image of the numbers 0 to 3.
    fn filled(&mut self, sizes: [usize; 4]) -> Image {
        let vector = self.ty(&[sizes.iter().product()]);
        let (count, four, small, filled) =
            (self.name("count"), self.name("four"), self.name("small"), self.name("filled"));
        let four_text = if self.dtype == DType::F32 { "4.0" } else { "4" };
        self.lines.push(format!("{count} = stablehlo.iota dim = 0 : {vector}"));
        self.lines.push(format!("{four} = stablehlo.constant dense<{four_text}> : {vector}"));
        self.lines.push(format!("{small} = stablehlo.remainder {count}, {four} : {vector}"));
        self.lines.push(format!("{filled} = stablehlo.reshape {small} : ({vector}) -> {}", self.ty(&sizes)));
        (filled, sizes)
    }

    /// Adds sum, maximum or minimum pooling.
    fn pooling(&mut self, image: &Image) {
        let windows = self.windows(image.1, false);
        let (name, made) = (image.0.clone(), self.name("pool"));
        let result: [usize; 4] = std::array::from_fn(|d| windows[d].positions(image.1[d]));
        let function = self.random.pick(&["add", "maximum", "minimum"]);
        self.lines.push(format!(
            "{made} = \"stablehlo.reduce_window\"({name}, %zero) <{{window_dimensions = array<i64: {}>, \
             window_strides = array<i64: {}>, base_dilations = array<i64: {}>, \
             window_dilations = array<i64: {}>, padding = {}}}> ({}) : ({}, {}) -> {}",
            list(&windows, |window| window.size.to_string()),
            list(&windows, |window| window.stride.to_string()),
            list(&windows, |window| window.base_dilation.to_string()),
            list(&windows, |window| window.dilation.to_string()),
            padding(&windows),
            self.region(function, ""),
            self.ty(&image.1),
            self.ty(&[]),
            self.ty(&result),
        ));
        self.images.push((made, result));
    }

    /// Adds the gradient of pooling.
    fn pooling_gradient(&mut self, image: &Image) {
        let windows = self.windows(image.1, true);
        let source: [usize; 4] = std::array::from_fn(|d| windows[d].positions(image.1[d]));
        let source = self.filled(source);
        let made = self.name("unpool");
        self.lines.push(format!(
            "{made} = \"stablehlo.select_and_scatter\"({}, {}, %zero) \
             <{{window_dimensions = array<i64: {}>, window_strides = array<i64: {}>, padding = {}}}> ({}, {}) : ({}, {}, {}) -> {}",
            image.0,
            source.0,
            list(&windows, |window| window.size.to_string()),
            list(&windows, |window| window.stride.to_string()),
            padding(&windows),
            self.region("compare GE,", "tensor<i1>"),
            self.region("add", ""),
            self.ty(&image.1),
            self.ty(&source.1),
            self.ty(&[]),
            self.ty(&image.1),
        ));
        self.images.push((made, image.1));
    }

    /// Returns a window for each dimension. About half of them have one element.
    fn windows(&mut self, sizes: [usize; 4], are_plain: bool) -> [Window; 4] {
        sizes.map(|size| if self.random.one_in(2) { self.window(size, are_plain) } else { Window::NONE })
    }

    /// Writes a region with one instruction on two scalars.
    fn region(&self, function: &str, result: &str) -> String {
        let ty = self.ty(&[]);
        let (types, result) = match result {
            "" => (ty.clone(), ty.clone()),
            _ => (format!("({ty}, {ty}) -> {result}"), result.to_owned()),
        };
        format!(
            "{{ ^bb0(%x: {ty}, %y: {ty}):\n %s = stablehlo.{function} %x, %y : {types}\n stablehlo.return %s : {result} }}"
        )
    }

    /// Adds padding, possibly interior, or a strided slice.
    fn pad_or_slice(&mut self, image: &Image) {
        let (name, sizes) = image.clone();
        let made = self.name("part");
        let mut result = sizes;
        if self.random.one_in(2) {
            let mut parts = Vec::new();
            for size in &mut result {
                let start = self.random.below((*size).max(1));
                let count = if *size == 0 || self.random.one_in(16) {
                    0
                } else {
                    1 + self.random.below(*size - start)
                };
                let (limit, step) = (start + count, 1 + self.random.below(3));
                parts.push(format!("{start}:{limit}:{step}"));
                *size = (limit - start).div_ceil(step);
            }
            let (of, to) = (self.ty(&sizes), self.ty(&result));
            self.lines
                .push(format!("{made} = stablehlo.slice {name} [{}] : ({of}) -> {to}", parts.join(", ")));
        } else {
            let (mut low, mut high, mut interior) = ([0; 4], [0; 4], [0; 4]);
            for d in 0..4 {
                loop {
                    (low[d], high[d]) = (self.random.below(4) as i64 - 1, self.random.below(4) as i64 - 1);
                    interior[d] = self.random.below(3);
                    let size = dilated(sizes[d], interior[d] + 1) + low[d] + high[d];
                    if size >= 0 {
                        result[d] = size as usize;
                        break;
                    }
                }
            }
            let (of, scalar, to) = (self.ty(&sizes), self.ty(&[]), self.ty(&result));
            self.lines.push(format!(
                "{made} = stablehlo.pad {name}, %one, low = {low:?}, high = {high:?}, interior = {interior:?} \
                 : ({of}, {scalar}) -> {to}"
            ));
        }
        self.images.push((made, result));
    }
}

fn padding(windows: &[Window; 4]) -> String {
    format!("dense<[{}]> : tensor<4x2xi64>", list(windows, |window| format!("{:?}", window.padding)))
}

/// Makes the program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut random = SplitMix::new(seed);
    let dtype = random.pick(&[DType::F32, DType::F32, DType::S32]);
    let sizes = [1 + random.below(4), 1 + random.below(9), 1 + random.below(9), 1 + random.below(4)];
    let mut b = Builder { random, dtype, lines: Vec::new(), images: vec![("%a".to_owned(), sizes)] };
    let (one, zero) = if dtype == DType::F32 { ("1.0", "0.0") } else { ("1", "0") };
    let scalar = b.ty(&[]);
    b.lines.push(format!("%one = stablehlo.constant dense<{one}> : {scalar}"));
    b.lines.push(format!("%zero = stablehlo.constant dense<{zero}> : {scalar}"));
    let kernel = b.convolution();
    for _ in 0..1 + b.random.below(3) {
        let image = b.images[b.images.len() - 1 - b.random.below(b.images.len().min(2))].clone();
        if image.1.iter().product::<usize>() > 4096 {
            continue;
        }
        match b.random.below(5) {
            0 => b.kernel_gradient(&image),
            1 => b.pooling_gradient(&image),
            2 => b.pad_or_slice(&image),
            _ => b.pooling(&image),
        }
    }
    let returned = b.images[1..].to_vec();
    let list = |part: &dyn Fn(&Image) -> String| -> String {
        returned.iter().map(part).collect::<Vec<_>>().join(", ")
    };
    let (values, types) = (list(&|(value, _)| value.clone()), list(&|(_, sizes)| b.ty(sizes)));
    let text = format!(
        "func.func @main(%a: {}, %k: {}) -> ({types}) {{\n  {}\n  return {values} : {types}\n}}",
        b.ty(&sizes),
        b.ty(&kernel),
        b.lines.join("\n  ")
    );
    let module = text::parse(&Source::new("windows.mlir", &*text)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut input = |dims: [usize; 4]| {
        Literal::from_fn(dtype, dims, |_| Scalar::Signed(b.random.below(7) as i64 - 3).round_to(dtype))
    };
    let inputs = vec![input(sizes), input(kernel)];
    Program { module, inputs, exact: vec![dtype == DType::S32; returned.len()], denormals: Denormals::Ieee }
}
