//! Compiler messages about mistakes. `TRYBUILD=overwrite` updates the expected messages.

#[test]
fn mistakes() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
