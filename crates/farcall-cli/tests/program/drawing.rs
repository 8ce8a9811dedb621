//! `farcall inspect --svg` and `--dot`, and traces as pages.

use expect_test::expect;

use crate::folder::Folder;

/// A loop. The compiler fuses the elementwise operations in its body.
const LOOP: &str = "\
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.cosine %y : tensor<4xf32>
    %w = stablehlo.add %z, %y : tensor<4xf32>
    stablehlo.return %next, %w : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}
";

fn read(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.path(name)).unwrap()
}

/// Draws a program or plan. The command must succeed and print nothing.
fn draw(folder: &Folder, args: &[&str]) {
    let ended = folder.farcall([&["inspect"], args].concat());
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{}", ended.stderr);
}

#[test]
fn a_program_and_its_loops_are_drawn() {
    let folder = Folder::new().with("p.mlir", LOOP);
    draw(&folder, &["p.mlir", "--dot", "p.dot", "--svg", "p.svg"]);
    expect![[r##"
        digraph "@main in p.mlir" {
          node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11];
          edge [fontname="Helvetica", fontsize=9, color="#5f6368"];
          subgraph cluster_0 {
            label="@main in p.mlir"; fontname="Helvetica"; color="#c4c7cc";
            n0_0 [label="in0\nf32[4]", tooltip="", fillcolor="#eef2f7", color="#8295ad"];
            n0_1 [label="in1\ns32[]", tooltip="", fillcolor="#eef2f7", color="#8295ad"];
            n0_2 [label="while 2\ns32[], f32[4]", tooltip="", fillcolor="#e2e0f7", color="#6a5acd"];
            n0_3 [label="out0", tooltip="", fillcolor="#eef2f7", color="#8295ad"];
            n0_0 -> n0_2 [label="f32[4]", tooltip="f32[4]"];
            n0_2 -> n0_3 [label="f32[4]", tooltip="f32[4]"];
          }
          subgraph cluster_1 {
            label="condition of while 2"; fontname="Helvetica"; color="#c4c7cc";
            n1_0 [label="in0\ns32[]", tooltip="", fillcolor="#eef2f7", color="#8295ad"];
            n1_1 [label="in1\nf32[4]", tooltip="", fillcolor="#eef2f7", color="#8295ad"];
            n1_2 [label="compare\npred[]", tooltip="", fillcolor="#ffffff", color="#9aa0a6"];
            n1_3 [label="out0", tooltip="", fillcolor="#eef2f7", color="#8295ad"];
            n1_0 -> n1_2 [label="s32[]", tooltip="s32[]"];
            n1_2 -> n1_3 [label="pred[]", tooltip="pred[]"];
          }
          subgraph cluster_2 {
            label="body of while 2"; fontname="Helvetica"; color="#c4c7cc";
            n2_0 [label="in0\ns32[]", tooltip="", fillcolor="#eef2f7", color="#8295ad"];
            n2_1 [label="in1\nf32[4]", tooltip="", fillcolor="#eef2f7", color="#8295ad"];
            n2_2 [label="add\ns32[]", tooltip="", fillcolor="#ffffff", color="#9aa0a6"];
            n2_3 [label="cosine\nf32[4]", tooltip="", fillcolor="#ffffff", color="#9aa0a6"];
            n2_4 [label="add\nf32[4]", tooltip="", fillcolor="#ffffff", color="#9aa0a6"];
            n2_5 [label="out0", tooltip="", fillcolor="#eef2f7", color="#8295ad"];
            n2_6 [label="out1", tooltip="", fillcolor="#eef2f7", color="#8295ad"];
            n2_0 -> n2_2 [label="s32[]", tooltip="s32[]"];
            n2_1 -> n2_3 [label="f32[4]", tooltip="f32[4]"];
            n2_3 -> n2_4 [label="f32[4]", tooltip="f32[4]"];
            n2_1 -> n2_4 [label="f32[4]", tooltip="f32[4]"];
            n2_2 -> n2_5 [label="s32[]", tooltip="s32[]"];
            n2_4 -> n2_6 [label="f32[4]", tooltip="f32[4]"];
          }
        }
    "##]]
    .assert_eq(&read(&folder, "p.dot"));
    let svg = read(&folder, "p.svg");
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
    for text in [">in0<", ">cosine<", ">out0<", ">condition of while 2<", ">f32[4]<", ">loop or branch<"] {
        assert!(svg.contains(text), "no {text} in {svg}");
    }
}

#[test]
fn a_plan_is_colored_by_time() {
    let folder = Folder::new().with("p.mlir", LOOP);
    let run = folder.farcall(["run", "p.mlir", "-i", "ones", "-i", "3", "--profile=json", "--quiet"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    std::fs::write(folder.path("profile.json"), &run.stdout).unwrap();
    draw(&folder, &["p.mlir", "--plan", "--svg", "p.svg", "--times", "profile.json"]);
    let svg = read(&folder, "p.svg");
    assert!(svg.contains(">10 % of the time<") && svg.contains("in 3 calls"), "{svg}");
    // The plan in a file has the same steps, so the profile also fits this plan.
    assert_eq!(folder.farcall(["compile", "p.mlir", "-o", "p.plan"]).code, 0);
    draw(&folder, &["p.plan", "--svg", "q.svg", "--times", "profile.json"]);
}

#[test]
fn drawings_that_cannot_be_made() {
    let folder = Folder::new()
        .with("p.mlir", LOOP)
        .with("other.json", r#"{"profile": {"thunks": []}}"#)
        .with("text.json", "no JSON");
    let error = |args: &[&str]| {
        let ended = folder.farcall(args);
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        ended.stderr
    };
    let errors = [
        error(&["inspect", "p.mlir", "--times", "other.json"]),
        error(&["inspect", "p.mlir", "--svg", "p.svg", "--times", "other.json"]),
        error(&["inspect", "p.mlir", "--plan", "--svg", "p.svg", "--times", "other.json"]),
        error(&["inspect", "p.mlir", "--plan", "--svg", "p.svg", "--times", "text.json"]),
        error(&["inspect", "p.mlir", "--plan", "--svg", "p.svg", "--times", "none.json"]),
        error(&["inspect", "p.mlir", "--svg", "none/p.svg"]),
    ];
    expect![[r#"
        error: --times is for drawings: add --svg or --dot
        error: --times colors the steps of a plan: add --plan
        error: other.json is the profile of another plan: it has 0 steps, and this plan has 6
        error: text.json is not the output of `farcall run --profile=json`: expected ident at line 1 column 2
        error: cannot read none.json: No such file or directory (os error 2)
        error: cannot write none/p.svg: there is no folder none
    "#]]
    .assert_eq(&errors.concat());
    assert!(!folder.path("p.svg").exists());
}

#[test]
fn a_trace_is_a_page_of_its_own() {
    let folder = Folder::new().with("p.mlir", LOOP);
    let args = ["run", "p.mlir", "-i", "ones", "-i", "3", "--quiet", "--trace", "trace.html"];
    let ended = folder.farcall(args);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let page = read(&folder, "trace.html");
    assert!(page.starts_with("<!doctype html>"), "{page}");
    let begin = page.find("application/json\">").unwrap() + "application/json\">".len();
    let json = &page[begin..begin + page[begin..].find("</script>").unwrap()];
    let trace: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(trace["name"], "p.mlir");
    assert_eq!(trace["runs"].as_array().unwrap().len(), 1);
    assert!(trace["events"].as_array().unwrap().len() > 3, "{trace}");
    assert!(trace["steps"][0]["calls"].as_u64().is_some(), "{trace}");
}
