//! Calls of LAPACK's names as JAX writes them: with options, and sizes in the types of the results alone.

use farcall::ir::DType;

use super::{numbers, product, random, run};

/// Returns a call of `gesdd` for a matrix of 2 rows and 3 columns, with a result `vt` of some rows.
fn gesdd(mode: char, rows: usize) -> String {
    let (mode, columns) = (u32::from(mode), "dense<[0, 1]> : tensor<2xindex>");
    let results =
        format!("tensor<2x3xf64>, tensor<2xf64>, tensor<2x2xf64>, tensor<{rows}x3xf64>, tensor<i32>");
    format!(
        "func.func @main(%x: tensor<2x3xf64>) -> tensor<{rows}x3xf64> {{
           %0:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%x) {{
             api_version = 4 : i32, mhlo.backend_config = {{mode = {mode} : ui8}}, operand_layouts = [{columns}],
             result_layouts = [{columns}, dense<0> : tensor<1xindex>, {columns}, {columns}, dense<> : tensor<0xindex>]
           }} : (tensor<2x3xf64>) -> ({results})
           return %0#3 : tensor<{rows}x3xf64>
         }}"
    )
}

#[test]
fn types_state_the_number_of_singular_vectors() {
    let x = random(DType::F64, &[2, 3], 1);
    for (mode, rows) in [('A', 3), ('S', 2)] {
        let vt = numbers(&run(&gesdd(mode, rows), std::slice::from_ref(&x)).unwrap()[0]);
        let v: Vec<f64> = (0..3 * rows).map(|i| vt[i % rows * 3 + i / rows]).collect();
        for (i, entry) in product(&vt, &v, [rows, 3, rows]).into_iter().enumerate() {
            let expected = if i % (rows + 1) == 0 { 1.0 } else { 0.0 };
            assert!((entry - expected).abs() < 1e-12, "{mode}: entry {i} of vt·v is {entry}");
        }
    }
    let error = run(&gesdd('A', 4), &[x]).unwrap_err();
    assert!(error.contains("vt is f64[2, 3], but the call's result is f64[4, 3]"), "{error}");
}
