//! Functions exported by JAX, and files of named arguments.

use std::io::Write;

use expect_test::expect;
use safetensors::tensor::{Dtype, TensorView};

use crate::folder::Folder;

/// A function exported for cpu and cuda. For `x: f32[b,4]`, it computes `y = tanh(x @ params['w'] +
/// params['b'])` and `n = 2 * b`.
const SYMBOLIC: &[u8] = include_bytes!("../../../farcall-ir/tests/artifacts/symbolic.bin");

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn npy(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path(name)).unwrap()
}

/// Returns a folder with the function, `b.npy`, `w.npy` and `x.npy`.
fn folder() -> Folder {
    let w: Vec<f32> = (0..12).map(|i| i as f32 / 16.0).collect();
    Folder::new()
        .with("f.jax_export", SYMBOLIC)
        .with_npy("b.npy", "<f4", "(3,)", &bytes(&[0.0, 0.5, -0.5]))
        .with_npy("w.npy", "<f4", "(4, 3)", &bytes(&w))
        .with_npy("x.npy", "<f4", "(2, 4)", &bytes(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]))
}

/// Creates an archive of `.npy` files with a compression method.
fn npz(folder: &Folder, files: &[(&str, &str)], method: zip::CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, file) in files {
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(&npy(folder, file)).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Creates a file with a header and `bytes` zero bytes.
fn safetensors(header: &str, bytes: usize) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![0; bytes]].concat()
}

/// Header that declares eight huge tensors, and one tensor whose end offset is close to the largest integer.
fn vast() -> String {
    let size = (1u64 << 61) - 1;
    let tensor = |i: u64| {
        let (begin, end) = (i * size, (i + 1) * size);
        format!(r#""t{i}":{{"dtype":"U8","shape":[{size}],"data_offsets":[{begin},{end}]}}"#)
    };
    let tensors: Vec<String> = (0..8).map(tensor).collect();
    let x = r#""x":{"dtype":"U8","shape":[4],"data_offsets":[18446744073709551608,18446744073709551612]}"#;
    format!("{{{},{x}}}", tensors.join(","))
}

#[test]
fn an_exported_function_runs_at_any_size() {
    let folder = folder();
    folder.prints(
        &["run", "f.jax_export", "-i", "b.npy", "-i", "w.npy", "-i", "x.npy"],
        expect![[r#"
            out0  s32[]  result['n']
            4
            out1  f32[2,3]  result['y']
            [[       0.0,    0.50983, -0.3583574],
             [ 0.3583574,  0.7340715,        0.0]]
        "#]],
    );
    let ended = folder.farcall([
        "run",
        "f.jax_export",
        "--fill",
        "ones",
        "--json",
        "-i",
        "ones",
        "-i",
        "ones",
        "-i",
        "ones:f32[5,4]",
    ]);
    assert!(ended.stdout.contains("5,\n        3\n"), "{}", ended.stdout);
    folder.fails(
        &["run", "f.jax_export", "-i", "b.npy", "-i", "w.npy", "-i", "ones:f32[0,4]"],
        expect![[r#"
            error: layer does not take these inputs: x.shape[0] is 0, but b is at least 1
        "#]],
    );
    folder.prints(
        &["inspect", "f.jax_export"],
        expect![[r#"
            layer in f.jax_export
              in0   f32[3]    params['b']  args[0]['b']
              in1   f32[4,3]  params['w']  args[0]['w']
              in2   f32[b,4]  x  args[1]
              out0  s32[]     result['n']
              out1  f32[b,3]  result['y']

            platforms           cpu, cuda
            calling convention  10

            2 functions
            ┌────────────────────────────────────┬───────┐
            │ operation                          ┆ count │
            ╞════════════════════════════════════╪═══════╡
            │ stablehlo.return                   ┆     6 │
            │ stablehlo.constant                 ┆     5 │
            │ stablehlo.case                     ┆     2 │
            │ stablehlo.dot_general              ┆     2 │
            │ func.call                          ┆     1 │
            │ stablehlo.add                      ┆     1 │
            │ stablehlo.broadcast_in_dim         ┆     1 │
            │ stablehlo.compare                  ┆     1 │
            │ stablehlo.concatenate              ┆     1 │
            │ stablehlo.convert                  ┆     1 │
            │ stablehlo.custom_call              ┆     1 │
            │ stablehlo.dynamic_broadcast_in_dim ┆     1 │
            │ stablehlo.get_dimension_size       ┆     1 │
            │ stablehlo.multiply                 ┆     1 │
            │ stablehlo.reshape                  ┆     1 │
            │ stablehlo.tanh                     ┆     1 │
            └────────────────────────────────────┴───────┘

            no custom calls
        "#]],
    );
}

/// Checks that `--why` compiles the program as it runs on this platform. The exported program takes the
/// platform index as a parameter; the program that runs does not.
#[test]
fn why_compiles_what_runs() {
    let folder = folder();
    let inputs = ["-i", "b.npy", "-i", "w.npy", "-i", "x.npy"];
    let ended = folder.farcall([&["inspect", "f.jax_export", "--why", "--json"], &inputs[..]].concat());
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let shapes: Vec<_> = json["inputs"].as_array().unwrap().iter().map(|i| i["shape"].to_string()).collect();
    assert_eq!(shapes, ["[3]", "[4,3]", "[null,4]"]);
    assert_eq!(json["blocks"], serde_json::json!([]));
    let ended = folder.farcall([&["inspect", "f.jax_export", "--why"], &inputs[..4]].concat());
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains("layer takes 3 arguments"), "{}", ended.stderr);
}

#[test]
fn archives_give_arguments_by_name() {
    use zip::CompressionMethod::{Deflated, Stored};
    let folder = folder();
    let by_position =
        folder.farcall(["run", "f.jax_export", "-i", "b.npy", "-i", "w.npy", "-i", "x.npy"]).stdout;
    let params = npz(&folder, &[("params/w", "w.npy"), ("params['b']", "b.npy")], Stored);
    let all = npz(&folder, &[("x", "x.npy"), ("w", "w.npy"), ("arr_0", "b.npy")], Deflated);
    let (w, b) = (npy(&folder, "w.npy")[128..].to_vec(), npy(&folder, "b.npy")[128..].to_vec());
    let view = |shape: &[usize], data| TensorView::new(Dtype::F32, shape.to_vec(), data).unwrap();
    let tensors = [("params.w", view(&[4, 3], &w)), ("params.b", view(&[3], &b))];
    let folder = folder
        .with("params.npz", params)
        .with("all.npz", all)
        .with("params.safetensors", safetensors::serialize(tensors, None).unwrap());
    for args in [
        &["-i", "params.npz", "-i", "x.npy"][..],
        &["-i", "x.npy", "-i", "params.safetensors"],
        &["-i", "all.npz"],
    ] {
        let ended = folder.farcall(["run", "f.jax_export"].iter().chain(args));
        assert_eq!(ended.stdout, by_position, "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn text_has_names_too() {
    let folder = folder();
    let program =
        "func.func @main(%arg0: tensor<3xf32> loc(\"bias\"), %arg1: tensor<3xf32>) -> tensor<3xf32> {
        %0 = stablehlo.subtract %arg0, %arg1 : tensor<3xf32>
        return %0 : tensor<3xf32>
    }";
    let inputs = npz(&folder, &[("arg1", "b.npy")], zip::CompressionMethod::Stored);
    let folder = folder.with("f.mlir", program).with("in.npz", inputs);
    folder.prints(
        &["run", "f.mlir", "-i", "in.npz", "-i", "ones"],
        expect![[r#"
        out0  f32[3]
        [1.0, 0.5, 1.5]
    "#]],
    );
    folder.fails(
        &["run", "f.mlir", "-i", "in.npz"],
        expect![[r#"
        error: @main takes 2 arguments, of which 1 are given by name; of the others (bias: f32[3]), 0 given
        Give the others with --input FILE, or make them with --fill rand
    "#]],
    );
}

#[test]
fn names_and_files_that_do_not_fit() {
    let folder = folder();
    let stored = zip::CompressionMethod::Stored;
    let slip = npz(&folder, &[("params.w", "w.npy"), ("parms.b", "b.npy"), ("unrelated", "b.npy")], stored);
    let shape = npz(&folder, &[("w", "b.npy")], stored);
    let mut damaged = npz(&folder, &[("w", "w.npy")], stored);
    damaged.truncate(100);
    let deflated = zip::CompressionMethod::Deflated;
    let zeros = [npy(&folder, "w.npy"), vec![0; 1 << 20]].concat();
    let folder = folder.with("zeros.npy", zeros).with_npy("more.npy", "<f4", "(1000000000000, 4)", &[]);
    let (more, zeros) =
        (npz(&folder, &[("x", "more.npy")], deflated), npz(&folder, &[("w", "zeros.npy")], deflated));
    let folder = folder
        .with("more.npz", more)
        .with("zeros.npz", zeros)
        .with("empty.npz", npz(&Folder::new(), &[], stored))
        .with("slip.npz", slip)
        .with("shape.npz", shape)
        .with("damaged.npz", damaged)
        .with("cut.safetensors", [200, 0, 0, 0, 0, 0, 0, 0, b'{'])
        .with(
            "short.safetensors",
            safetensors(r#"{"x":{"dtype":"F32","shape":[1,4],"data_offsets":[0,16]}}"#, 15),
        )
        .with("vast.safetensors", safetensors(&vast(), 16))
        .with(
            "wrong.safetensors",
            [
                &70u64.to_le_bytes()[..],
                br#"{"x":{"dtype":"F16","shape":[1,4],"data_offsets":[0,8]}}              "#,
                &[0; 8],
            ]
            .concat(),
        );
    folder.fails(&["run", "f.jax_export", "-i", "slip.npz", "-i", "x.npy"], expect![[r#"
        error: cannot use slip.npz for layer: no argument is called `parms.b`; did you mean params['b'] or params['w']?
        no argument is called `unrelated`; there are params['b'], params['w'], x
    "#]]);
    folder.fails(&["run", "f.jax_export", "-i", "slip.npz", "-i", "shape.npz", "-i", "x.npy"], expect![[r#"
        error: cannot use slip.npz and shape.npz for layer: no argument is called `parms.b`; did you mean params['b'] or params['w']?
        no argument is called `unrelated`; there are params['b'], params['w'], x
        `params.w` and `w` both name the argument params['w']
    "#]]);
    folder.fails(&["run", "f.jax_export", "-i", "shape.npz", "--fill", "ones"], expect![[r#"
        error: argument 1 of layer, params['w']: cannot use `w` of shape.npz: its shape is f32[3], but f32[4,3] is expected
    "#]]);
    folder.fails(
        &["run", "f.jax_export", "-i", "b.npy", "-i", "w.npy", "-i", "more.npz"],
        expect![[r#"
            error: argument 2 of layer, x: cannot use `x` of more.npz: it is cut off: 0 of 16000000000000 bytes of elements are there
        "#]],
    );
    folder.fails(
        &["run", "f.jax_export", "-i", "empty.npz"],
        expect![[r#"
            error: layer takes 3 arguments (params['b']: f32[3], params['w']: f32[4,3], x: f32[?,4]), 0 given
            Give a .npy file for each with --input FILE, or make the missing ones with --fill rand
        "#]],
    );
    // Bytes after the elements are not read.
    let run = folder.farcall(["run", "f.jax_export", "-i", "zeros.npz", "-i", "b.npy", "-i", "x.npy"]);
    assert!(run.stdout.starts_with("out0"), "{}", run.stderr);
    folder.fails(
        &["run", "f.jax_export", "-i", "damaged.npz"],
        expect![[r#"
        error: cannot use damaged.npz: it is not a readable archive: invalid Zip archive: Could not find EOCD
    "#]],
    );
    folder.fails(&["run", "f.jax_export", "-i", "cut.safetensors"], expect![[r#"
        error: cannot use cut.safetensors: its header is malformed: EOF while parsing an object at line 1 column 1
    "#]]);
    folder.fails(
        &["run", "f.jax_export", "-i", "short.safetensors"],
        expect![[r#"
        error: cannot use short.safetensors: its header declares 16 bytes of elements, but 15 follow
    "#]],
    );
    folder.fails(&["run", "f.jax_export", "-i", "vast.safetensors"], expect![[r#"
        error: cannot use vast.safetensors: its header declares 18446744073709551612 bytes of elements, but 16 follow
    "#]]);
    folder.fails(
        &["run", "f.jax_export", "-i", "wrong.safetensors", "-i", "b.npy", "-i", "w.npy"],
        expect![[r#"
            error: argument 2 of layer, x: cannot use `x` of wrong.safetensors: it is f16[1,4], but f32[?,4] is expected
        "#]],
    );
}
