//! The methods of the rewriter: their effects on a function, and on its def-use information.

use expect_test::expect;
use farcall_ir::builder::Builder;
use farcall_ir::module::{Rewriter, ValueDef, ValueMap};
use farcall_ir::op::{Binary, Unary};
use farcall_ir::{
    DType, Diagnostic, Func, FuncId, InstId, Module, NewInst, Op, Source, Span, TensorType, text, verify,
};

fn parse(program: &str) -> Module {
    text::parse(&Source::new("test.mlir", program)).unwrap_or_else(|e| panic!("{e}"))
}

/// Changes the first function of a program. Checks that the program is still valid, and returns its text.
fn changed(program: &str, change: impl FnOnce(&mut Rewriter<'_>, &[InstId])) -> String {
    let mut module = parse(program);
    let func = module.func_mut(FuncId::new(0));
    let insts: Vec<InstId> = func.body().insts().map(|i| i.id()).collect();
    change(&mut Rewriter::new(func), &insts);
    verify::verify(&module).unwrap_or_else(|e| panic!("{e}\n{}", text::print(&module)));
    text::print(&module)
}

const CHAIN: &str = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.sine %x : tensor<2xf32>
  %1 = stablehlo.add %0, %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}";

#[test]
fn uses_follow_a_replacement() {
    let after = changed(CHAIN, |r, insts| {
        let [sine, add, _] = insts else { panic!() };
        let x = r.func().params()[0];
        let sin = r.func().inst(*sine).results()[0];
        assert_eq!(r.users(sin), [*add, *add]);
        r.replace(*sine, &[x]);
        assert_eq!(r.users(x), [*add, *add]);
        assert!(!r.is_used(sin));
    });
    expect![[r#"
        module {
          func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
            %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>
            return %0 : tensor<2xf32>
          }
        }
    "#]]
    .assert_eq(&after);
}

#[test]
fn what_is_inserted_is_used() {
    let after = changed(CHAIN, |r, insts| {
        let add = insts[1];
        let sin = r.func().inst(insts[0]).results()[0];
        let cos = r.value_before(add, Op::Unary(Unary::Cosine), [sin], r.func().ty(sin).clone());
        r.set_operands(add, vec![sin, cos]);
        r.set_op(add, Op::Binary(Binary::Multiply));
        assert_eq!(r.users(cos), [add]);
        assert_eq!(r.users(sin).len(), 2);
    });
    expect![[r#"
        module {
          func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
            %0 = stablehlo.sine %arg0 : tensor<2xf32>
            %1 = stablehlo.cosine %0 : tensor<2xf32>
            %2 = stablehlo.multiply %0, %1 : tensor<2xf32>
            return %2 : tensor<2xf32>
          }
        }
    "#]]
    .assert_eq(&after);
}

const LOOP: &str = "func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.while(%i = %x) : tensor<f32>
    cond {
      %2 = stablehlo.compare LT, %i, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %3 = stablehlo.sine %x : tensor<f32>
      %4 = stablehlo.add %i, %3 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }
  return %0 : tensor<f32>
}";

#[test]
fn moved_out_of_a_loop() {
    let after = changed(LOOP, |r, insts| {
        let sine = r.func().inst(insts[0]).region(1).unwrap().first().unwrap().id();
        r.move_before(sine, insts[0]);
    });
    expect![[r#"
        module {
          func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {
            %0 = stablehlo.sine %arg0 : tensor<f32>
            %1 = stablehlo.while(%iterArg = %arg0) : tensor<f32>
            cond {
              %2 = stablehlo.compare LT, %iterArg, %arg0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
              stablehlo.return %2 : tensor<i1>
            } do {
              %2 = stablehlo.add %iterArg, %0 : tensor<f32>
              stablehlo.return %2 : tensor<f32>
            }
            return %1 : tensor<f32>
          }
        }
    "#]]
    .assert_eq(&after);
}

#[test]
fn what_is_erased_uses_nothing() {
    let after = changed(LOOP, |r, insts| {
        let x = r.func().params()[0];
        assert_eq!(r.users(x).len(), 3);
        r.replace(insts[0], &[x]);
        assert_eq!(r.users(x), [insts[1]]);
    });
    assert!(!after.contains("while"), "{after}");
}

#[test]
fn calls_are_inlined() {
    let mut module = parse(
        "func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0:2 = call @twice(%x, %x) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %1 = stablehlo.add %0#0, %0#1 : tensor<f32>
  return %1 : tensor<f32>
}
func.func private @twice(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = stablehlo.multiply %a, %b : tensor<f32>
  return %0, %a : tensor<f32>, tensor<f32>
}",
    );
    let callee = module[FuncId::new(1)].clone();
    let main = module.func_mut(FuncId::new(0));
    let call = main.body().first().unwrap().id();
    Rewriter::new(main).inline(call, &callee);
    verify::verify(&module).unwrap();
    let text = text::print(&module);
    assert!(text.contains("%0 = stablehlo.multiply %arg0, %arg0"), "{text}");
    assert!(text.contains("%1 = stablehlo.add %0, %arg0"), "{text}");
}

#[test]
fn a_copy_of_a_region_stands_on_its_own() {
    let mut module = parse(LOOP);
    let main = module.func_mut(FuncId::new(0));
    let while_ = main.body().first().unwrap();
    let (id, body) = (while_.id(), while_.region_ids()[1]);
    let copy = main.clone_region(body, &mut ValueMap::default());
    let args = main.region(copy).args().to_vec();
    assert_eq!(args.len(), 1);
    assert!(args.iter().all(|a| main.def(*a) == ValueDef::Arg(copy, 0)));
    assert_eq!(main.region(copy).insts().count(), 3);
    assert!(main.region(copy).owner().is_none());
    assert_eq!(main.region(body).owner().map(|i| i.id()), Some(id));
    // Iteration from the end visits the same instructions in the opposite order.
    let forward: Vec<InstId> = main.region(copy).insts().map(|i| i.id()).collect();
    let mut backward: Vec<InstId> = main.region(copy).insts().rev().map(|i| i.id()).collect();
    backward.reverse();
    assert_eq!(forward, backward);
}

#[test]
fn the_builder_knows_the_types() -> Result<(), Vec<Diagnostic>> {
    let mut func = Func::new("main", Span::default());
    let ty = |dims: &[usize]| TensorType::new(DType::F32, dims);
    let x = func.add_arg(Func::BODY, ty(&[2, 3]).into());
    let mut b = Builder::at_end(&mut func, Func::BODY);
    let t = b.value(Op::Transpose { permutation: vec![1, 0] }, [x])?;
    let r = b.value_of(Op::Reshape, [t], ty(&[6]))?;
    let wrong = b.value(Op::Binary(Binary::Add), [x, r]).unwrap_err();
    assert_eq!(wrong[0].code, "add_c1", "{wrong:?}");
    assert!(b.value_of(Op::Reshape, [t], ty(&[5])).is_err());
    b.inst(NewInst::new(Op::Return, [r]))?;
    assert_eq!(func.tensor(t), Some(&ty(&[3, 2])));
    assert_eq!(func.body().insts().count(), 3, "failed builder calls add no instructions");
    Ok(())
}

#[test]
fn an_instruction_as_a_program() {
    let module = parse(
        "func.func @main(%x: tensor<3xf32>, %z: tensor<f32>, %k: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.reduce(%x init: %z) across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %1 = call @f(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.multiply %1, %k : tensor<f32>
    %3 = stablehlo.add %2, %z : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }
  return %0 : tensor<f32>
}
func.func private @unused() { return }
func.func private @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %b : tensor<f32>
  return %0 : tensor<f32>
}",
    );
    let reduce = module.funcs()[0].body().first().unwrap();
    let program = module.extract(reduce);
    verify::verify(&program).unwrap_or_else(|e| panic!("{e}"));
    expect![[r#"
        module {
          func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
            %0 = stablehlo.reduce(%arg0 init: %arg1) across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
             reducer(%arg3: tensor<f32>, %arg4: tensor<f32>)  {
              %1 = func.call @f(%arg3, %arg4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
              %2 = stablehlo.multiply %1, %arg2 : tensor<f32>
              %3 = stablehlo.add %2, %arg1 : tensor<f32>
              stablehlo.return %3 : tensor<f32>
            }
            return %0 : tensor<f32>
          }
          func.func private @f(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
            %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
            return %0 : tensor<f32>
          }
        }
    "#]]
    .assert_eq(&text::print(&program));
}
