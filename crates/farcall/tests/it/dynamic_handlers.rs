//! Handlers without a static signature (`farcall_ffi::dynamic`), in the engine.

use farcall::ir::{Literal, Source, text};
use farcall::registry::{Platform, Target, TargetOrigin};
use farcall::{CompileOptions, Executable, Registry, RunError};
use farcall_ffi::abi::{self, HandlerBundle};
use farcall_ffi::dynamic::{self, DynamicCall};
use farcall_ffi::{AttrValue, Error, Result};

/// Writes a description of the call to its last result, one byte per element. Fails or panics if an attribute
/// requests it.
unsafe extern "C" fn describe(frame: *mut abi::CallFrame) -> *mut abi::Error {
    // SAFETY: the host calls handlers with a valid frame.
    unsafe { dynamic::enter(frame, "describe", description) }
}

fn description(call: &DynamicCall) -> Result<()> {
    let attributes = call.attributes()?;
    if let Some(AttrValue::Str(message)) = attributes.get("fail") {
        return Err(Error::not_found(message.to_string()));
    }
    assert!(attributes.get("panic").is_none(), "asked to panic");
    let of = |tensor: Option<dynamic::Tensor<'_>>| match tensor {
        Some(t) => format!("{}{:?} of {} bytes", t.dtype, t.dims, t.bytes),
        None => "token".to_owned(),
    };
    let operands: Vec<String> = call.operands().map(of).collect();
    let results: Vec<String> = call.results().map(of).collect();
    let attributes: Vec<String> =
        attributes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let text = format!("{} -> {} {{{}}}", operands.join(", "), results.join(", "), attributes.join(", "));
    let Some(Some(last)) = call.results().last() else { return Err(Error::internal("no result")) };
    // SAFETY: only the handler writes to the result's memory until it returns.
    let bytes = unsafe { std::slice::from_raw_parts_mut(last.data, last.bytes) };
    bytes.fill(b' ');
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    Ok(())
}

fn run(program: &str, inputs: &[Literal]) -> std::result::Result<String, RunError> {
    let registry = Registry::new();
    let bundle = HandlerBundle {
        instantiate: None,
        prepare: None,
        initialize: None,
        execute: Some(describe),
        record: None,
    };
    // SAFETY: the bundle's handler is a function of this program.
    let target =
        unsafe { Target::typed("describe", Platform::Host, bundle, 0, TargetOrigin::program()) }.unwrap();
    assert_eq!(target.api_version(), Some((0, 1)));
    registry.register(target).unwrap();
    let module =
        text::parse(&Source::new("p.mlir", program)).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let executable = Executable::compile(&module, &registry, &CompileOptions::new()).unwrap();
    let outputs = executable.run(inputs)?;
    Ok(String::from_utf8(outputs[0].bytes().to_vec()).unwrap().trim_end().to_owned())
}

fn one_call(attributes: &str) -> std::result::Result<String, RunError> {
    run(
        &format!(
            "func.func @main() -> tensor<150xui8> {{
              %0 = stablehlo.custom_call @describe() {{mhlo.backend_config = {{{attributes}}}}} : () -> tensor<150xui8>
              return %0 : tensor<150xui8>
            }}"
        ),
        &[],
    )
}

#[test]
fn handlers_see_operands_results_and_tokens() {
    let program = "func.func @main(%x: tensor<2x3xbf16>, %y: tensor<0x4xcomplex<f64>>) -> tensor<150xui8> {
      %t = stablehlo.create_token : !stablehlo.token
      %0:3 = stablehlo.custom_call @describe(%x, %t, %y) {has_side_effect = true}
        : (tensor<2x3xbf16>, !stablehlo.token, tensor<0x4xcomplex<f64>>) -> (!stablehlo.token, tensor<i1>, tensor<150xui8>)
      return %0#2 : tensor<150xui8>
    }";
    let inputs =
        [Literal::zeros(farcall::ir::DType::BF16, [2, 3]), Literal::zeros(farcall::ir::DType::C128, [0, 4])];
    let seen = run(program, &inputs).unwrap();
    let operands = "bf16[2, 3] of 12 bytes, token, c128[0, 4] of 0 bytes";
    assert_eq!(seen, format!("{operands} -> token, pred[] of 1 bytes, u8[150] of 150 bytes {{}}"));
}

#[test]
fn handlers_see_attributes() {
    let attributes = "a = 1 : i8, b = true, c = \"text\", d = array<i32: 1, 2>, e = {f = {g = 2.5 : f32}}";
    let seen = one_call(attributes).unwrap();
    let expected = "{a = 1, b = true, c = \"text\", d = [1, 2], e = {f = {g = 2.5}}}";
    assert_eq!(seen, format!(" -> u8[150] of 150 bytes {expected}"));
}

#[test]
fn errors_and_panics_fail_the_call() {
    let error = one_call("fail = \"nobody is here\"").unwrap_err().to_string();
    assert!(
        error.contains("`describe` at p.mlir:2") && error.contains("NOT_FOUND: nobody is here"),
        "{error}"
    );
    let error = one_call("panic = true").unwrap_err().to_string();
    assert!(error.contains("asked to panic"), "{error}");
}

#[test]
fn null_frames_are_refused() {
    // SAFETY: a null frame is rejected.
    assert!(unsafe { dynamic::enter(std::ptr::null_mut(), "nobody", |_| Ok(())) }.is_null());
}
