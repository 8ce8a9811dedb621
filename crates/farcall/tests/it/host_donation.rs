//! Donated inputs: results and custom calls take over their memory, and values that are still referenced do
//! not change.

use std::ffi::c_void;
use std::sync::Mutex;

use expect_test::{Expect, expect};
use farcall::ir::{DType, Literal, Source, text};
use farcall::registry::{Platform, Target, TargetOrigin, UntypedHandler};
use farcall::{CompileOptions, Executable, Registry};
use farcall_testing::engine;

#[test]
fn a_result_takes_over_the_memory() {
    // A small training step: new state from old state and from an input that is not donated.
    let executable = compile(
        "func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %g: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.reduce(%w init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %s = stablehlo.multiply %g, %g : tensor<4xf32>
  %u = stablehlo.subtract %w, %s : tensor<4xf32>
  return %n, %u : tensor<f32>, tensor<4xf32>
}",
    );
    plan(
        &executable,
        expect![[r#"
            plan: arena 0 bytes, denormals ieee
            in0: tensor<4xf32>, donated
            in1: tensor<4xf32>
            out0:f32[], in0:f32[4] = fusion constant reduce multiply subtract(in0:f32[4], in1:f32[4])
            return out0:f32[], in0:f32[4]
        "#]],
    );
    let w = f32s(&[1.0, 2.0, 3.0, 4.0]);
    let (address, g) = (address(&w), f32s(&[1.0, 0.0, 1.0, 2.0]));
    let out = executable.execute(vec![w, g.clone()]).unwrap();
    assert_eq!(out[1], f32s(&[0.0, 2.0, 2.0, 0.0]));
    assert_eq!(self::address(out[1].host().unwrap()), address);
    assert_eq!(g, f32s(&[1.0, 0.0, 1.0, 2.0]));
}

#[test]
fn values_that_are_held_do_not_change() {
    let executable = compile(
        "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = stablehlo.add %x, %x : tensor<4xf32>
  %b = stablehlo.multiply %y, %y : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}",
    );
    let x = f32s(&[1.0, 2.0, 3.0, 4.0]);
    let want = [f32s(&[2.0, 4.0, 6.0, 8.0]), f32s(&[1.0, 4.0, 9.0, 16.0])];
    let unchanged = || assert_eq!(x, f32s(&[1.0, 2.0, 3.0, 4.0]));
    // Borrowed inputs, donated inputs of which a clone is held, and one value as two inputs.
    assert_eq!(executable.run(&[x.clone(), x.clone()]).unwrap(), want);
    unchanged();
    assert_eq!(executable.execute(vec![x.clone(), x.clone()]).unwrap(), want);
    unchanged();
    let y = f32s(&[1.0, 2.0, 3.0, 4.0]);
    let out = executable.execute(vec![y.clone(), y]).unwrap();
    assert_eq!(out, want);
    // From several threads at once.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    assert_eq!(
                        executable.execute(vec![x.clone(), f32s(&[1.0, 2.0, 3.0, 4.0])]).unwrap(),
                        want
                    );
                }
            });
        }
    });
    unchanged();
}

#[test]
fn a_call_in_place_gets_the_memory_itself() {
    let program = |donated: &str| {
        format!(
            "func.func @main(%x: tensor<4xf32> {donated}) -> tensor<4xf32> {{
  %0 = stablehlo.custom_call @in_place(%x) {{output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.add %0, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}}"
        )
    };
    let _alone = ALONE.lock().unwrap();
    for donated in ["{tf.aliasing_output = 0 : i32}", "{jax.buffer_donor = true}", ""] {
        let executable = compile(&program(donated));
        let x = f32s(&[1.0, 2.0, 3.0, 4.0]);
        let address = address(&x);
        let out = executable.execute(vec![x]).unwrap();
        assert_eq!(out, [f32s(&[4.0, 6.0, 8.0, 10.0])]);
        let seen = *SEEN.lock().unwrap();
        assert_eq!(seen[0], seen[1], "operand and result must have the same address");
        assert_eq!(seen[0] == address, !donated.is_empty(), "{donated}");
        assert_eq!(self::address(out[0].host().unwrap()) == address, !donated.is_empty(), "{donated}");
        if donated.is_empty() {
            continue;
        }
        // A reference is still held, so the call gets a copy.
        let x = f32s(&[1.0, 2.0, 3.0, 4.0]);
        executable.execute(vec![x.clone()]).unwrap();
        assert_ne!(SEEN.lock().unwrap()[0], self::address(&x));
        assert_eq!(x, f32s(&[1.0, 2.0, 3.0, 4.0]));
    }
}

#[test]
fn a_call_sees_its_operand_where_the_caller_put_it() {
    let executable = compile(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @in_place(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}",
    );
    let _alone = ALONE.lock().unwrap();
    let x = f32s(&[1.0, 2.0, 3.0, 4.0]);
    executable.run(std::slice::from_ref(&x)).unwrap();
    let seen = *SEEN.lock().unwrap();
    assert_eq!(seen[0], address(&x));
    assert_ne!(seen[1], address(&x));
}

#[test]
fn a_loop_works_in_the_memory() {
    let executable = compile(
        "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c9 = stablehlo.constant dense<9> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c0, %y = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %c9 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %c1 : tensor<i32>
    %z = stablehlo.add %y, %y : tensor<4xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}",
    );
    plan(
        &executable,
        expect![[r#"
            plan: arena 32 bytes, denormals ieee
            in0: tensor<4xf32>, donated
            number0: tensor<i32> = 0
            number1: tensor<i32> = 9
            number2: tensor<i32> = 1
            arena[0..4]:s32[] = broadcast(number0:s32[])
            arena[0..4]:s32[], in0:f32[4] = while(arena[16..17]:pred[])
             condition:
              arena[16..17]:pred[] = elementwise compare.lt(arena[0..4]:s32[], number1:s32[])
             body:
              arena[0..4]:s32[] = elementwise add(arena[0..4]:s32[], number2:s32[])
              in0:f32[4] = elementwise add(in0:f32[4], in0:f32[4])
            return in0:f32[4]
        "#]],
    );
    let x = f32s(&[1.0, 2.0, 3.0, 4.0]);
    let address = address(&x);
    let out = executable.execute(vec![x]).unwrap();
    assert_eq!(
        (out[0].host().unwrap().as_slice::<f32>(), self::address(out[0].host().unwrap())),
        (&[512.0, 1024.0, 1536.0, 2048.0][..], address)
    );
}

#[test]
fn an_input_that_is_read_too_late_is_not_reused() {
    for (program, wanted) in [
        // The input is read after the result is written.
        (
            "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = stablehlo.add %x, %x : tensor<4xf32>
  %b = stablehlo.multiply %a, %x : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}",
            vec![f32s(&[2.0, 4.0, 6.0, 8.0]), f32s(&[2.0, 8.0, 18.0, 32.0])],
        ),
        // The step that writes the result cannot run in place, since it needs all elements of the input.
        (
            "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  %a = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
  return %a : tensor<4xf32>
}",
            vec![f32s(&[4.0, 3.0, 2.0, 1.0])],
        ),
        // The next iteration of a loop reads the input again.
        (
            "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c5 = stablehlo.constant dense<3> : tensor<i32>
  %f = stablehlo.constant dense<1.0> : tensor<4xf32>
  %0:2 = stablehlo.while(%i = %c0, %y = %f) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %c5 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %c1 : tensor<i32>
    %n = stablehlo.negate %x : tensor<4xf32>
    %z = stablehlo.multiply %y, %n : tensor<4xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<4xf32>
  }
  %r = stablehlo.add %0#1, %f : tensor<4xf32>
  return %r : tensor<4xf32>
}",
            vec![f32s(&[0.0, -7.0, -26.0, -63.0])],
        ),
        // The input itself is the result that it is donated to.
        (
            "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = stablehlo.add %x, %x : tensor<4xf32>
  return %a, %x : tensor<4xf32>, tensor<4xf32>
}",
            vec![f32s(&[2.0, 4.0, 6.0, 8.0]), f32s(&[1.0, 2.0, 3.0, 4.0])],
        ),
        // A conditional: in program order, its second branch reads the input after its first branch has
        // written the result, although only one branch runs.
        (
            "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  %p = stablehlo.constant dense<false> : tensor<i1>
  %0 = \"stablehlo.if\"(%p) ({
    %a = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    %b = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
    %c = stablehlo.add %b, %x : tensor<4xf32>
    stablehlo.return %c : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}",
            vec![f32s(&[5.0, 5.0, 5.0, 5.0])],
        ),
    ] {
        let executable = compile(program);
        let out = executable.execute(vec![f32s(&[1.0, 2.0, 3.0, 4.0])]).unwrap();
        assert_eq!(out, wanted, "{}", executable.plan());
    }
}

#[test]
fn two_givers_and_results_that_are_one() {
    let executable = compile(
        "func.func @main(%x: tensor<2xf32> {jax.buffer_donor = true}, %y: tensor<2xf32> {jax.buffer_donor = true}, %z: tensor<2xf32> {jax.buffer_donor = false}) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = stablehlo.add %x, %y : tensor<2xf32>
  %b = stablehlo.multiply %a, %z : tensor<2xf32>
  return %a, %b, %a : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}",
    );
    plan(
        &executable,
        expect![[r#"
            plan: arena 0 bytes, denormals ieee
            in0: tensor<2xf32>, donated
            in1: tensor<2xf32>, donated
            in2: tensor<2xf32>
            in0:f32[2], in1:f32[2] = fusion add multiply(in0:f32[2], in1:f32[2], in2:f32[2])
            return in0:f32[2], in1:f32[2], in0:f32[2]
        "#]],
    );
    let inputs = vec![f32s(&[1.0, 2.0]), f32s(&[3.0, 5.0]), f32s(&[10.0, 10.0])];
    let mut out = executable.execute(inputs).unwrap();
    assert_eq!(out, [f32s(&[4.0, 7.0]), f32s(&[40.0, 70.0]), f32s(&[4.0, 7.0])]);
    // Results are independent values.
    out[0].host_mut().unwrap().as_slice_mut::<f32>()[0] = 99.0;
    assert_eq!(out[2], f32s(&[4.0, 7.0]));
}

#[test]
fn a_result_that_cannot_take_over_the_memory_has_its_own() {
    let executable = compile(
        "func.func @main(%x: tensor<2x2xf32> {jax.buffer_donor = true}) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %y = stablehlo.add %t, %t : tensor<2x2xf32>
  return %t, %y : tensor<2x2xf32>, tensor<2x2xf32>
}",
    );
    plan(
        &executable,
        expect![[r#"
        plan: arena 0 bytes, denormals ieee
        in0: tensor<2x2xf32>, donated
        out0:f32[2,2] = transpose(in0:f32[2,2])
        in0:f32[2,2] = elementwise add(out0:f32[2,2], out0:f32[2,2])
        return out0:f32[2,2], in0:f32[2,2]
    "#]],
    );
}

#[test]
fn donations_that_make_no_sense_are_refused() {
    let refused = |params: &str| {
        let program = format!(
            "func.func @main({params}) -> tensor<4xf32> {{\n  %a = stablehlo.constant dense<1.0> : tensor<4xf32>\n  return %a : tensor<4xf32>\n}}"
        );
        let module = text::parse(&Source::new("test.mlir", program)).unwrap();
        let error = Executable::compile(&module, &Registry::new(), &CompileOptions::new()).unwrap_err();
        error.to_string().lines().next().unwrap_or_default().to_owned()
    };
    let words = [
        refused("%x: tensor<4xf32> {tf.aliasing_output = 1 : i32}"),
        refused("%x: tensor<4xi32> {tf.aliasing_output = 0 : i32}"),
        refused(
            "%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32> {tf.aliasing_output = 0 : i32}",
        ),
    ];
    expect![[r#"
        error: [donation] argument 0 is donated to result 1, but there is no such result
        error: [donation] argument 0 is donated to result 0, which is tensor<4xf32>, not tensor<4xi32>
        error: [donation] arguments 0 and 1 are both donated to result 0"#]]
    .assert_eq(&words.join("\n"));
}

// ---- Helpers ---------------------------------------------------------------------------------

/// Addresses of the operand and of the result in the last call of `in_place`.
static SEEN: Mutex<[usize; 2]> = Mutex::new([0; 2]);
/// Lock for `SEEN`, which only one test at a time may use.
static ALONE: Mutex<()> = Mutex::new(());

/// y = x + 1, in place or not: a function of the untyped API.
unsafe extern "C" fn in_place(out: *mut c_void, ins: *const *const c_void) {
    // SAFETY: the programs call this function with four elements.
    unsafe {
        let x = *ins;
        *SEEN.lock().unwrap() = [x.addr(), out.addr()];
        let x = x.cast::<[f32; 4]>().read();
        out.cast::<[f32; 4]>().write(x.map(|x| x + 1.0));
    }
}

fn compile(program: &str) -> Executable {
    let registry = Registry::new();
    // SAFETY: all function pointers have the same size, and the function has the parameters of `api_version`
    // 1.
    let function = unsafe { std::mem::transmute::<*const (), UntypedHandler>(in_place as *const ()) };
    // SAFETY: the function has the parameters of `api_version` 1, and functions of this program are never
    // unloaded.
    let target = unsafe { Target::untyped("in_place", Platform::Host, function, TargetOrigin::program()) };
    registry.register(target.unwrap()).unwrap();
    engine::compile(program, &registry)
}

fn plan(executable: &Executable, expected: Expect) {
    expected.assert_eq(&executable.plan().to_string());
}

fn address(literal: &Literal) -> usize {
    literal.bytes().as_ptr().addr()
}

fn f32s(values: &[f32]) -> Literal {
    Literal::from_slice(DType::F32, [values.len()], values)
}
