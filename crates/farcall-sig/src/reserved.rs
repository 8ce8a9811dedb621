//! Names that a library must not give to an exported handler.

/// Returns true for names of the C library, including functions to which compilers generate calls. A library
/// that exports another function with such a name would replace the original for all code in the library.
///
/// ```
/// assert!(farcall_sig::reserved::is_reserved("log") && !farcall_sig::reserved::is_reserved("my_log"));
/// ```
pub fn is_reserved(symbol: &str) -> bool {
    C_LIBRARY.contains(&symbol)
}

/// Functions that compiled Rust code calls by name: numerics, memory, and functions that programs commonly
/// link against.
#[rustfmt::skip]
const C_LIBRARY: &[&str] = &[
    "abort", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "bcmp", "calloc", "cbrt",
    "ceil", "ceilf", "close", "copysign", "cos", "cosf", "cosh", "div", "erf", "erfc", "exit", "exp",
    "exp2", "exp2f", "expf", "expm1", "expm1f", "fabs", "fdim", "floor", "floorf", "fma", "fmaf", "fmax",
    "fmaxf", "fmin", "fminf", "fmod", "fmodf", "fork", "free", "frexp", "gamma", "hypot", "hypotf", "index",
    "ldexp", "lgamma", "lgammaf", "log", "log10", "log10f", "log1p", "log1pf", "log2", "log2f", "logb",
    "logf", "lrint", "lround", "main", "malloc", "memchr", "memcmp", "memcpy", "memmove", "memset", "mmap",
    "modf", "nearbyint", "nextafter", "open", "pow", "powf", "qsort", "rand", "random", "read", "realloc",
    "remainder", "remove", "rename", "rint", "rintf", "round", "roundeven", "roundf", "scalb", "send",
    "signal", "sin", "sincos", "sinf", "sinh", "sleep", "sqrt", "sqrtf", "strlen", "tan", "tanf", "tanh",
    "tanhf", "tgamma", "time", "trunc", "truncf", "wait", "write",
];
