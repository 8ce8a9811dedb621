//! Measures how much memory writing an artifact takes, in a process in which nothing else allocates.

use farcall_ir::{DType, FuncId, Literal, Module, Op, Source, Type, memory, text, vhlo};
use farcall_testing::process::alone;

/// Peak memory of this process in bytes.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<usize>().ok()? * 1024)
}

/// A function that contains a constant.
fn with_constant(literal: Literal) -> Module {
    let text = "func.func @main() {\n  %0 = stablehlo.constant dense<1> : tensor<i32>\n  return\n}";
    let mut module = text::parse(&Source::new("constant", text)).unwrap();
    let func = module.func_mut(FuncId::new(0));
    let inst = func.body().insts().next().unwrap();
    let (id, value) = (inst.id(), inst.results()[0]);
    func.set_ty(value, Type::Tensor(literal.ty()));
    func.set_op(id, Op::Constant(literal));
    module
}

#[test]
fn constants_are_written_once() {
    alone("artifact_memory::constants_are_written_once", || {
        const LEN: usize = 128 << 20;
        let mut literal = Literal::zeros(DType::U8, [LEN]);
        literal.bytes_mut().fill(7);
        literal.bytes_mut()[LEN - 1] = 8;
        let module = with_constant(literal);

        let before = peak();
        let artifact = vhlo::write(&module).unwrap();
        let after = peak();
        assert!(artifact.bytes.len() > LEN && artifact.bytes.len() < LEN + 1024);
        match before.zip(after) {
            Some((before, after)) => {
                assert!(after - before < LEN + LEN / 4, "writing took {} bytes", after - before)
            }
            None => eprintln!("not measured: this system has no /proc/self/status"),
        }
        let read = vhlo::read(&artifact.bytes, "written").unwrap();
        assert_eq!(read, module);
        drop((read, artifact));

        // If the file does not fit into memory, writing fails with an error.
        memory::release();
        memory::set_limit(memory::taken() + LEN / 2);
        let error = vhlo::write(&module).unwrap_err();
        assert_eq!(error.diagnostics[0].code, "memory");
        let message = &error.diagnostics[0].message;
        assert!(message.contains("of memory are needed, but the limit is"), "{message}");
    });
}
