//! Tests that need a process of their own: they change limits, hooks or memory that other tests share.

use std::process::Command;

/// Environment variable of a child process: the name of its test.
const CHILD: &str = "FARCALL_TEST_ALONE";

/// Environment variable that is set if [`alone`] makes no child processes: a tool such as valgrind observes
/// only this process, and runs one test at a time.
const IN_THIS_PROCESS: &str = "FARCALL_TESTS_IN_THIS_PROCESS";

/// Runs the body of a test in a child process, in which no other test runs. `test` is the test's name within
/// its binary, as `cargo test` prints it. If the child process fails, the panic message contains its output.
/// If `FARCALL_TESTS_IN_THIS_PROCESS` is set, the body runs in this process.
///
/// # Panics
/// If the body panics, if the child process fails otherwise, or if there is no such test.
pub fn alone(test: &str, body: impl FnOnce()) {
    if std::env::var(CHILD).as_deref() == Ok(test) || std::env::var_os(IN_THIS_PROCESS).is_some() {
        return body();
    }
    let this = std::env::current_exe().expect("tests have a path");
    let mut child = Command::new(this);
    child.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, test);
    let output = child.output().expect("a test can run itself");
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // The output of this test, without the lines that the test harness prints.
    for line in out.lines().filter(|line| !line.starts_with("running ") && !line.starts_with("test result: "))
    {
        println!("{line}");
    }
    assert!(output.status.success(), "{}\n{out}\n{errors}", output.status);
    assert!(out.contains("1 passed"), "the binary has no test `{test}`:\n{out}");
}
