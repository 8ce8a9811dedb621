//! Each prototype in `kernels!` has the parameters of the kernel in the PTX.

use std::collections::BTreeMap;

use cuda_emulator::ptx::{self, PtxType};

/// Sources of handlers with their PTX.
const FILES: [(&str, &str); 4] = [
    (include_str!("../custom_relu/cuda.rs"), include_str!("../../kernels/custom_relu.ptx")),
    (include_str!("../rms_norm/cuda.rs"), include_str!("../../kernels/rms_norm.ptx")),
    (include_str!("../flash_attention/cuda.rs"), include_str!("../../kernels/flash_attention.ptx")),
    (include_str!("../csr_matmul/cuda.rs"), include_str!("../../kernels/csr_matmul.ptx")),
];

#[test]
fn prototypes_are_those_of_the_kernels() {
    for (source, text) in FILES {
        let kernels = ptx::parse(text).entries.into_iter().map(|entry| (entry.name, entry.params));
        assert_eq!(prototypes(source), kernels.collect());
    }
}

#[test]
fn ptx_is_for_old_drivers_and_devices() {
    for (_, text) in FILES {
        let module = ptx::parse(text);
        assert_eq!((module.version.as_str(), module.target.as_str()), ("7.0", "sm_80"));
    }
}

/// Returns the parameters' types of each function in `kernels!`.
fn prototypes(source: &str) -> BTreeMap<String, Vec<PtxType>> {
    let (_, rest) = source.split_once("\nkernels! {").expect("the source declares kernels");
    let (block, _) = rest.split_once("\n}").expect("the declaration ends");
    let functions = block.split(";").filter_map(|item| item.split_once("    unsafe fn "));
    functions
        .map(|(_, function)| {
            let (name, params) = function.trim_end_matches(')').split_once('(').expect("parameters");
            let types = params.split(',').filter_map(|param| param.split_once(':'));
            (name.to_owned(), types.map(|(_, ty)| in_ptx(ty.trim())).collect())
        })
        .collect()
}

fn in_ptx(ty: &str) -> PtxType {
    match ty {
        "u32" => PtxType::Unsigned(32),
        "u64" => PtxType::Unsigned(64),
        "f32" => PtxType::F32,
        pointer if pointer.starts_with('*') => PtxType::Unsigned(64),
        other => panic!("unknown type {other}"),
    }
}
