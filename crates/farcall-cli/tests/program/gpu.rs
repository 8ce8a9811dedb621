//! `farcall op --check` with a GPU: the driver is an emulator, which runs kernels on the CPU.

use std::os::unix::fs::symlink;

use expect_test::expect;
use farcall_testing::library::library_of;

use crate::folder::{Ended, Folder, example};

/// The names under which programs open the libraries that the emulators stand in for.
const EMULATORS: [(&str, &str); 3] = [
    ("cuda-emulator", "libcuda.so.1"),
    ("cublas-emulator", "libcublas.so.13"),
    ("nccl-emulator", "libnccl.so.2"),
];

/// Runs the command with the emulators in the place of NVIDIA's libraries.
pub(crate) fn with_gpu(args: &[&str]) -> Ended {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("nvidia")).unwrap();
    for (package, name) in EMULATORS {
        symlink(library_of(package), folder.path("nvidia").join(name)).unwrap();
    }
    let path = folder.path("nvidia");
    folder.farcall_with(args, |command| _ = command.env("LD_LIBRARY_PATH", path))
}

/// Returns the rows of the tables about platforms: op, compared values, difference and outcome.
fn platform_rows(ended: &Ended) -> Vec<String> {
    let cells = ended.stdout.lines().filter_map(|line| line.strip_prefix('│')?.strip_suffix('│'));
    let cells = cells.map(|line| line.split('┆').map(str::trim).collect::<Vec<_>>());
    let cells = cells.filter(|cells| cells[1] == "CUDA");
    cells.map(|cells| [cells[0], cells[2], cells[3], cells[4]].join(" | ")).collect()
}

#[test]
fn handlers_for_cuda_are_compared_with_those_for_the_host() {
    let library = example("cli_gpu_ops").into_os_string().into_string().unwrap();
    let ended = with_gpu(&["op", &library, "--check"]);
    assert_eq!(ended.code, 1, "{}", ended.stdout);
    expect![[r#"
        copied | the handlers for CUDA and Host | 0 | ok
        copied_bwd | the handlers for CUDA and Host | 1.0e0 | FAILED
        transposed | the handlers for CUDA and Host | 0 | ok
        cleared | the handlers for CUDA and Host | 0 | ok
        zeros | the handlers for CUDA and Host | inf | FAILED
        failing | the handlers for CUDA and Host |  | FAILED"#]]
    .assert_eq(&platform_rows(&ended).join("\n"));
    let end: Vec<&str> =
        ended.stdout.lines().filter(|line| !line.starts_with(['│', '┌', '╞', '└'])).collect();
    expect![[r#"
        copied(x: f32[5])
        transposed(x: f32[3,4])
        cleared(x: s32[5])
        zeros(x: f64[5])
        failing(x: f32[5])
        not checked: the handlers for ROCM of copied: this command runs handlers for Host and CUDA only
        not checked: the handlers for CUDA of alone: there is no handler for Host to compare them with
        26 promises kept, 3 broken; CUDA on emulated GPU; ROCM not checked"#]]
    .assert_eq(&end.join("\n"));
    expect![[r#"
        error: copied_bwd breaks its promise CUDA: dx is 0 at [3], not 0.8986719; the handlers of an op compute the same results on all platforms: fix the wrong one
        zeros breaks its promise CUDA: y is NaN at [0], not 0; the handlers of an op compute the same results on all platforms: fix the wrong one
        failing breaks its promise CUDA: the handler for CUDA fails: fail: there is not enough of it (RESOURCE_EXHAUSTED in its initialize stage)
    "#]].assert_eq(&ended.stderr);
    let ended = with_gpu(&["op", &library, "transposed", "--check", "--json", "--strict"]);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.code, &json["gpu"]), (0, &"emulated GPU".into()));
    assert_eq!(json["unchecked_platforms"], serde_json::json!({}));
    let promises = json["calls"][0]["promises"].as_array().unwrap();
    assert!(promises.iter().any(|p| p["promise"] == "CUDA" && p["outcome"] == "kept"), "{json:#}");
}

#[test]
fn ops_with_kernels_agree_on_both_platforms() {
    let library = library_of("cuda-ops").into_os_string().into_string().unwrap();
    let ended = with_gpu(&["op", &library, "--check"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{}", ended.stdout);
    let rows = platform_rows(&ended);
    assert!(rows.iter().all(|row| row.ends_with("| ok")), "{rows:#?}");
    for op in ["custom_relu", "custom_relu_bwd", "cublas_gemm", "rms_norm", "rms_norm_bwd", "flash_attention"]
    {
        assert!(rows.iter().any(|row| row.starts_with(&format!("{op} |"))), "{op}: {rows:#?}");
    }
    let last = ended.stdout.lines().last().unwrap_or_default();
    // The attributes of `nccl_allreduce` describe a group of processes.
    assert!(last.ends_with(" promises kept, 3 not checked; CUDA on emulated GPU"), "{last}");
}
