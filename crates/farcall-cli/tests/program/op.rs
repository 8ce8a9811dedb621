//! `farcall op`: calls and explanations of ops.

use expect_test::{Expect, expect};

use farcall_testing::library::library_of;

use crate::folder::{Folder, LIBRARY};

/// Returns the arguments of `farcall op LIBRARY …`.
fn op<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let library = LIBRARY.to_str().unwrap();
    [&["op", library], args].concat()
}

fn power_sum<'a>(args: &[&'a str]) -> Vec<&'a str> {
    op(&[&["test.power_sum", "-i", "iota:f32[2,3]"], args].concat())
}

#[test]
fn an_op_runs_on_made_and_given_operands() {
    // 1, 2 and 3 as bf16, whose bits NumPy stores as uint16.
    let bits: Vec<u8> = [0x3f80u16, 0x4000, 0x4040].iter().flat_map(|x| x.to_le_bytes()).collect();
    let folder = Folder::new().with_npy("weight.npy", "<u2", "(3,)", &bits);
    let args = power_sum(&["-i", "weight.npy", "-a", "power=2", "-a", "scales=2,0.5", "-o", "sum.npy"]);
    folder.prints(
        &args,
        expect![[r#"
        sum  f32[2]
        [ 14.0, 116.0]
        most  f32[2]
        [2.0, 5.0]
    "#]],
    );
    // The written result can be read again.
    folder.prints(
        &op(&["test.triple", "--input", "sum.npy"]),
        expect![[r#"
        y  f32[2]
        [ 42.0, 348.0]
    "#]],
    );
    folder.prints(
        &op(&["test.say", "--call"]),
        expect![[r#"
        test.say ran; it has no results
    "#]],
    );
    folder.prints(
        &op(&["test.triple", "-i", "ones:f32[1,0]", "--json"]),
        expect![[r#"
        {
          "op": "test.triple",
          "results": [
            {
              "dtype": "f32",
              "name": "y",
              "shape": [
                1,
                0
              ]
            }
          ]
        }
    "#]],
    );
    // Operands may be written as numbers; the op and the other operands determine their types.
    folder.prints(
        &op(&["test.power_sum", "-i", "[[0, 1.5], [2, 3]]", "-i", "[1, 1]", "-a", "power=1"]),
        expect![[r#"
        sum  f32[2]
        [1.5, 5.0]
        most  f32[2]
        [1.5, 3.0]
    "#]],
    );
    // An operand given as a word needs a type, unless the other operands determine the type: first an error,
    // then a success.
    let inputs = ["-i", "iota", "-i", "weight.npy", "-a", "power=1"];
    let ended = folder.farcall(op(&[&["test.power_sum"], &inputs[..]].concat()));
    assert!(
        ended.stderr.contains("operand 0 (x: f32[*, n]): the other operands do not determine its type"),
        "{}",
        ended.stderr
    );
    folder.prints(
        &power_sum(&["-i", "ones", "-a", "power=1"]),
        expect![[r#"
        sum  f32[2]
        [ 3.0, 12.0]
        most  f32[2]
        [2.0, 5.0]
    "#]],
    );
    let ended = folder.farcall(op(&["test.triple", "-i", "rand:f32[9]", "--stats", "--repeat", "3", "-q"]));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for word in ["compile", "run, median of 3", "custom_call thunks"] {
        assert!(ended.stdout.contains(word), "{}", ended.stdout);
    }
}

#[test]
fn mistakes_are_told_in_the_op_s_words() {
    let folder = Folder::new().with_npy("f64.npy", "<f8", "(3,)", &[0; 24]);
    let fails = |args: &[&str], message: Expect| folder.fails(&op(args), message);
    fails(
        &["test.tripel", "--call"],
        expect![[r#"
        error: LIBRARY has no op test.tripel; did you mean test.triple?
    "#]],
    );
    fails(
        &["softmax"],
        expect![[r#"
        error: LIBRARY has no op softmax; it has test.triple, test.triple_jvp, test.power_sum, test.say, test.refuse, test.panic, test.abort, test.hang
    "#]],
    );
    fails(
        &["test.refuse", "--call"],
        expect![[r#"
        error: test.refuse: its library declares no signature for it, so its results are unknown
    "#]],
    );
    fails(
        &["test.triple", "-i", "rand"],
        expect![[r#"
            error: operand 0 (x: f32[*]): the other operands do not determine its type; give it, as in rand:f32[4,8]
        "#]],
    );
    fails(
        &["test.triple", "-i", "f64.npy"],
        expect![[r#"
        error: test.triple: x must be f32, but is f64
    "#]],
    );
    fails(
        &["test.triple", "-i", "[true]"],
        expect![[r#"
            error: test.triple: x must be f32, but is a boolean
        "#]],
    );
    fails(
        &["test.triple", "-i", "nowhere.npy"],
        expect![[r#"
        error: x of test.triple: cannot read nowhere.npy: No such file or directory (os error 2)
    "#]],
    );
    fails(
        &["test.triple", "-i", "rand:f32[3]", "-i", "rand:f32[3]"],
        expect![[r#"
        error: test.triple: takes 1 operand (x), but is given 2
    "#]],
    );
    fails(
        &["test.triple", "-i", "zeros:f32[3]", "-o", "a.npy", "-o", "b.npy"],
        expect![[r#"
        error: test.triple returns 1 result, but --output is given 2 times
    "#]],
    );
    fails(
        &["test.power_sum", "-i", "nowhere.npy", "-a", "power=1"],
        expect![[r#"
        error: test.power_sum: operand missing: weight
    "#]],
    );
    fails(
        &["test.power_sum", "-i", "rand:f32[3]", "-a", "weight=1"],
        expect![[r#"
        error: test.power_sum: weight is an operand; give it with --input
    "#]],
    );
    let fails = |args: &[&str], message: Expect| folder.fails(&power_sum(args), message);
    fails(
        &["-i", "ones:bf16[4]", "-a", "power=1"],
        expect![[r#"
        error: test.power_sum: weight has n = 4 but x has n = 3
    "#]],
    );
    fails(
        &["-i", "ones:bf16[3]"],
        expect![[r#"
        error: test.power_sum: attribute power is missing; it must be i32
    "#]],
    );
    fails(
        &["-i", "ones:bf16[3]", "-a", "pover=1"],
        expect![[r#"
        error: test.power_sum: there is no attribute pover; did you mean power?
    "#]],
    );
    fails(
        &["-i", "ones:bf16[3]", "-a", "power=1.5"],
        expect![[r#"
        error: test.power_sum: attribute power must be i32, but is f64
    "#]],
    );
    fails(
        &["-i", "ones:bf16[3]", "-a", "power=1", "-a", "side=up"],
        expect![[r#"
        error: test.power_sum: attribute side must be "left" or "right", but is "up"
    "#]],
    );
    // An error of the handler shows the handler's own message.
    fails(
        &["-i", "ones:bf16[3]", "-a", "power=1", "-a", "side=right"],
        expect![[r#"
            error: test.power_sum: the right side is not my business (INVALID_ARGUMENT)
        "#]],
    );
    let ended = folder.farcall(op(&["test.triple", "-i", "rand:fp32[3]"]));
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("`fp32` is not an element type; try f32"), "{}", ended.stderr);
    let ended = folder.farcall(op(&["-i", "rand:f32[3]"]));
    assert_eq!(ended.code, 2);
}

#[test]
fn ops_are_listed_and_explained() {
    let folder = Folder::new();
    folder.prints(
        &op(&[]),
        expect![[r#"
            test.triple(x)
                Three times `x`.
            test.power_sum(x, weight, *, power, scales=(1.0,), side="left")
                Weighted sums of powers of `x`, and the largest of each row.
            test.say()
                Says something.
            derivatives of these: test.triple_jvp
            without a signature: test.refuse, test.panic, test.abort, test.hang

            8 ops. farcall op LIBRARY NAME explains one.
        "#]],
    );
    folder.prints(&op(&["test.power_sum"]), expect![[r#"
        test.power_sum(x: f32[*, n], weight: bf16[n], power: i32, scales: [f32] = [1.0], side: "left" | "right" = "left") -> (sum: f32[*], most: f32[*]) where 1 <= n

        Weighted sums of powers of `x`, and the largest of each row.

        A second paragraph, which lists leave out.

            test.power_sum(x, weight, *, power, scales=(1.0,), side="left")

        Operands:

        - `x`: `f32[*, n]`
        - `weight`: `bf16[n]`

        Attributes:

        - `power`: `i32`
        - `scales`: `[f32]`, (1.0,) by default
        - `side`: "left" or "right", "left" by default

        Results:

        - `sum`: `f32[*]`
        - `most`: `f32[*]`

        Where:

        - `1 <= n`

        Dimensions:

        - `*`: leading batch dimensions, any number, each entry independently
        - `n`: all of it is needed at once

        vmap: native, a loop if weight is batched.
        gradient: none.
        sharding: ... n, n -> ..., ...; split ..., whole n

        For example:

            farcall op LIBRARY test.power_sum -i 'rand:f32[2,3]' -i 'rand:bf16[3]' -a power=2
    "#]]);
    folder.prints(
        &op(&["test.say"]),
        expect![[r#"
            test.say() -> () where side_effect

            Says something.

                test.say()

            vmap: none.
            It has a side effect: it is never dropped, repeated or reordered.
            gradient: none.
            sharding: () -> ()

            For example:

                farcall op LIBRARY test.say --call
        "#]],
    );
    folder.prints(
        &op(&["test.refuse"]),
        expect![[r#"
        test.refuse

        Never does it.

        The library declares no signature for this op, so the types of its results are unknown. Only a program, which states them, can call it.
    "#]],
    );
    let ended = folder.farcall(op(&["test.triple", "--json"]));
    let data: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(data["call"], "test.triple(x)");
    assert_eq!(data["declaration"]["signature"], "(x: f32[*]) -> (y: f32[*])");
}

#[test]
fn the_example_that_is_printed_works() {
    let folder = Folder::new();
    let page = folder.farcall(op(&["test.power_sum", "--json"])).stdout;
    let data: serde_json::Value = serde_json::from_str(&page).unwrap();
    let line = data["example"].as_str().unwrap().replace("LIBRARY", LIBRARY.to_str().unwrap());
    let words: Vec<&str> = line.split(' ').map(|w| w.trim_matches('\'')).collect();
    let ended = folder.farcall(&words[1..]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

/// A product of a sparse matrix, `csr_matmul`, which farcall has built in.
const PRODUCT: &str = "
func.func @main(%a: tensor<3xf32>, %columns: tensor<3xi32>, %starts: tensor<4xi32>, %b: tensor<3x1xf32>)
    -> tensor<3x1xf32> {
  %y = stablehlo.custom_call @csr_matmul(%a, %columns, %starts, %b) {api_version = 4 : i32}
      : (tensor<3xf32>, tensor<3xi32>, tensor<4xi32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  return %y : tensor<3x1xf32>
}
";

/// Operands of [`PRODUCT`].
const MATRICES: [&str; 8] = ["-i", "[10,20,5]", "-i", "[0,2,1]", "-i", "[0,2,2,3]", "-i", "[[1],[2],[3]]"];

#[test]
fn built_in_ops_need_no_library() {
    let folder = Folder::new().with("product.mlir", PRODUCT);
    folder.prints(
        &[&["op", "built-in", "csr_matmul"], &MATRICES[..]].concat(),
        expect![[r#"
            y  f32[3,1]
            [[70.0],
             [ 0.0],
             [10.0]]
        "#]],
    );
    folder.prints(
        &[&["run", "product.mlir"], &MATRICES[..]].concat(),
        expect![[r#"
            out0  f32[3,1]
            [[70.0],
             [ 0.0],
             [10.0]]
        "#]],
    );
    folder.fails(
        &["op", "built-in", "csr_matmull"],
        expect![[r#"
            error: built-in has no op csr_matmull; did you mean csr_matmul or bsr_matmul or csc_matmul?
        "#]],
    );
    let ended = folder.farcall(["op", "built-in", "csr_matvec", "--check", "--strict"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn a_loaded_library_takes_precedence_over_built_in_ops() {
    let folder = Folder::new().with("product.mlir", PRODUCT);
    let gallery = library_of("gallery-ops");
    let gallery = gallery.to_str().unwrap();
    for (load, expected) in [(&[][..], "farcall (built in)"), (&["--load", gallery][..], gallery)] {
        let ended = folder.farcall([&["inspect", "product.mlir", "--why"], load].concat());
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
        let call = format!("typed 0.1, {expected}");
        assert!(ended.stdout.contains(&call), "{}", ended.stdout);
    }
}
