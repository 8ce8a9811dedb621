//! What the compiler says about mistakes. `TRYBUILD=overwrite` blesses.

#[test]
fn mistakes() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
