//! `farcall op --check` with kept and broken promises.

use std::path::PathBuf;

use farcall_testing::library::library_of;

use crate::folder::{Ended, Folder, LIBRARY, example};

fn check(library: PathBuf, args: &[&str]) -> Ended {
    let library = library.into_os_string();
    let args = args.iter().map(Into::into);
    Folder::new().farcall(["op".into(), library].into_iter().chain(args).chain(["--check".into()]))
}

/// Returns the rows of the table about promises, as text with op, promise and outcome.
fn rows(ended: &Ended) -> Vec<String> {
    let cells = ended.stdout.lines().filter_map(|line| line.strip_prefix('│')?.strip_suffix('│'));
    let cells = cells.map(|line| line.split('┆').map(str::trim).collect::<Vec<_>>());
    cells
        .filter(|cells| cells[0] != "op")
        .map(|cells| format!("{} {} {}", cells[0], cells[1], cells[4]))
        .collect()
}

#[test]
fn every_op_of_the_gallery_keeps_its_promises() {
    let ended = check(library_of("gallery-ops"), &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{}", ended.stdout);
    let rows = rows(&ended);
    assert!(rows.len() > 300 && rows.iter().all(|row| row.ends_with(" ok")), "{}", ended.stdout);
    for row in [
        "gemm k: sum ok",
        "gemm_bwd m: sum ok",
        "conv1d_bwd *: sum ok",
        "transpose vmap ok",
        "normalize forward op ok",
        "recurrence vjp by recurrence_bwd in a ok",
        "concat vjp by concat_bwd in xs[1] ok",
        "cross_entropy_bwd jvp by cross_entropy_bwd_jvp in dloss ok",
        "flash_attention threads ok",
    ] {
        assert!(rows.iter().any(|found| found == row), "{row}\n{}", ended.stdout);
    }
    let unchecked: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("not checked")).collect();
    assert_eq!(unchecked, ["not checked: tick has a side effect, and cannot be tried"]);
}

#[test]
fn broken_promises_are_named() {
    let ended = check(example("cli_broken_ops"), &[]);
    assert_eq!(ended.code, 1, "{}", ended.stdout);
    let failed: Vec<String> = rows(&ended).into_iter().filter(|row| row.ends_with(" FAILED")).collect();
    assert_eq!(
        failed,
        [
            "broken.scale vjp by broken.scale_bwd in scale FAILED",
            "broken.scale_bwd *: sum FAILED",
            "broken.square jvp by broken.square_jvp in x FAILED",
            "broken.center *: map FAILED",
            "broken.center vmap FAILED",
            "broken.added results FAILED",
            "broken.shrink jvp by broken.shrink_jvp in x FAILED",
            "symmetric.norm jvp by symmetric.norm_jvp in x FAILED",
            "broken.shift *: map FAILED",
            "broken.shift vmap FAILED",
            "broken.panics call FAILED",
            "broken.tail vjp by broken.tail_transpose in x FAILED",
        ]
    );
    // The library's panic hook prints before the errors.
    let told: Vec<&str> = ended.stderr.lines().skip_while(|line| !line.starts_with("error: ")).collect();
    for (told, (start, end)) in told.iter().zip([
        ("error: broken.scale breaks its promise vjp by broken.scale_bwd in scale: along a random direction it gives ", "; fix broken.scale_bwd"),
        (
            "broken.scale_bwd breaks its promise *: sum: dscale is ",
            "; `*: sum` promises that results without * are the sum of the results for its parts: fix the kernel, or declare `*: whole`",
        ),
        ("broken.square breaks its promise jvp by broken.square_jvp in x: the tangent of y is ", "; fix broken.square_jvp"),
        ("broken.center breaks its promise *: map: y is 0 at [", "fix the kernel, or declare `*: whole`"),
        ("broken.center breaks its promise vmap: y is ", "fix the kernel, or declare `*: whole`"),
        (
            "broken.added breaks its promise results: y is NaN at [0], not ",
            "write every element, and do not accumulate into it",
        ),
        ("broken.shrink breaks its promise jvp by broken.shrink_jvp in x: the tangent of y is ", "; fix broken.shrink_jvp"),
        ("symmetric.norm breaks its promise jvp by symmetric.norm_jvp in x: the tangent of y is ", "; fix symmetric.norm_jvp"),
        ("broken.shift breaks its promise *: map: y is ", "fix the kernel, or declare `*: whole`"),
        ("broken.shift breaks its promise vmap: y is ", "fix the kernel, or declare `*: whole`"),
        ("broken.panics breaks its promise call: broken.panics: panicked at crates/farcall-cli/tests/plugin/broken.rs:", " (INTERNAL)"),
        ("broken.tail breaks its promise vjp by broken.tail_transpose in x: along a random direction it gives ", "; fix broken.tail_transpose"),
    ]) {
        assert!(told.starts_with(start) && told.ends_with(end), "{told}");
    }
    assert_eq!(told.len(), 12);
    // With the default offset, 0, the transpose is correct. The check finds the error with another offset.
    assert!(ended.stdout.contains("\nbroken.tail(x: f64[5,3], offset = 2)\n"), "{}", ended.stdout);
    let summary = ended.stdout.lines().last().unwrap_or_default();
    assert!(
        summary.contains(" promises kept, 12 broken, ") && summary.ends_with(" not checked"),
        "{summary}"
    );
    assert!(ended.stdout.contains("derivatives with central differences, x symmetric"), "{}", ended.stdout);
    let shrunk = ended.stdout.lines().filter(|line| line.starts_with("broken.shrink(x: "));
    assert_eq!(shrunk.collect::<Vec<_>>(), ["broken.shrink(x: f64[5])", "broken.shrink(x: f32[5])"]);
    assert!(
        ended
            .stdout
            .contains("not checked: broken.picky: no operands that fit were found; give some with --input")
    );
    assert!(ended.stdout.contains("broken.picky: at must be 7 (INVALID_ARGUMENT)"), "{}", ended.stdout);
}

#[test]
fn strict_checks_fail_where_nothing_can_be_told() {
    let broken = || example("cli_broken_ops");
    let only_nan = check(broken(), &["strict.nan"]);
    assert_eq!(only_nan.code, 0, "{}", only_nan.stderr);
    assert_eq!(only_nan.stdout.lines().last(), Some("0 promises kept, 4 not checked"));
    let strict = check(broken(), &["strict.nan", "--strict"]);
    assert!(
        strict.code == 1 && strict.stderr.contains("4 not checked, which --strict does not allow"),
        "{}",
        strict.stderr
    );
    let strict = check(broken(), &["broken.square_jvp", "--strict", "-q"]);
    assert_eq!((strict.code, strict.stdout.as_str()), (0, ""), "{}", strict.stderr);
}

#[test]
fn empty_results_say_nothing_about_derivatives() {
    let broken = || example("cli_broken_ops");
    let ended = check(broken(), &["strict.between"]);
    let told = "not checked: strict.between, derivatives: these operands give results without elements; give larger \
                operands\n";
    assert!(ended.code == 0 && ended.stdout.contains(told), "{}{}", ended.stdout, ended.stderr);
    let ended = check(broken(), &["strict.between", "-i", "rand:f64[4]", "-i", "[0, 1, 3]"]);
    let row = "strict.between vjp by strict.between_bwd in x ok".to_owned();
    assert!(ended.code == 0 && rows(&ended).contains(&row), "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn authors_declare_samples() {
    let ended = check(example("cli_broken_ops"), &["strict.sampled", "--strict"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{}", ended.stdout);
    let calls: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("strict.sampled(")).collect();
    assert_eq!(
        calls,
        ["strict.sampled(x: f64[3], at: s32[3])", "strict.sampled(x: f64[2], at: s32[2], power = 3.0)"]
    );
}

#[test]
fn operands_can_be_given() {
    let broken = || example("cli_broken_ops");
    let given = check(broken(), &["broken.picky", "-i", "rand:f64[2]", "-i", "[7, 7]"]);
    assert_eq!((given.code, given.stderr.as_str()), (0, ""), "{}", given.stdout);
    assert!(given.stdout.starts_with("broken.picky(x: f64[2], at: s32[2])\n"), "{}", given.stdout);
    let ended = check(broken(), &["broken.picky"]);
    assert_eq!(ended.code, 1);
    assert!(
        ended.stderr.contains("no operands that fit were found; give some with --input"),
        "{}",
        ended.stderr
    );
    // A single entry cannot be split into parts, so `vmap` is reported as the broken promise, not `*: map`.
    let ended = check(broken(), &["broken.center", "-i", "[1.5]", "-q"]);
    assert!(ended.code == 1 && ended.stderr.contains("its promise vmap"), "{}", ended.stderr);
    let ended = check(broken(), &["broken.square_jvp", "--json"]);
    assert_eq!(ended.code, 0);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(json["calls"][0]["promises"][0]["outcome"], "kept");
    let ended = check(
        library_of("gallery-ops"),
        &["recurrence_jvp", "-i", "rand:f64[3]", "-i", "rand", "-i", "rand", "-i", "rand"],
    );
    let untried = "not checked: recurrence_jvp, transpose recurrence_bwd: no derivative of this op uses it";
    assert!(ended.code == 0 && ended.stdout.contains(untried), "{}{}", ended.stdout, ended.stderr);
    let ended = check(LIBRARY.clone(), &["test.refuse"]);
    assert!(
        ended.stderr.contains("declares no signature for the op, so there are no promises to check"),
        "{}",
        ended.stderr
    );
    let ended = check(library_of("gallery-ops"), &["csr_matmul_bwd"]);
    assert!(
        ended.stderr.contains("as a derivative of csr_matmul it is checked by farcall op "),
        "{}",
        ended.stderr
    );
}
