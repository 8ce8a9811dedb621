//! Runs the code blocks of pages. Each page is one session in a separate folder.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::page::{Action, Block, Page, missing};
use crate::python::Venv;
use crate::shell::{root, target};

/// Number of pages that run at a time.
const WORKERS: usize = 2;

/// Time limit of a block in seconds.
const BLOCK_SECONDS: u64 = 300;

/// Maximum number of lines of a failed block's output in the report.
const MAX_OUTPUT_LINES: usize = 80;

/// Outcome of the blocks of a page.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) passed: u64,
    pub(crate) seconds: f64,
    pub(crate) failures: Vec<Failure>,
}

/// A block that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) line: usize,
    pub(crate) message: String,
    pub(crate) detail: String,
}

/// Runs the blocks of all pages. The outcomes are in the order of the pages.
pub(crate) fn run(venv: &Venv, pages: &[Page]) -> Result<Vec<Report>> {
    let environment = environment(venv)?;
    // Pages that build crates take longest: they start first.
    let mut order: Vec<usize> = (0..pages.len()).collect();
    order.sort_by_key(|&i| {
        std::cmp::Reverse(pages[i].blocks.iter().filter(|b| b.text.contains("cargo ")).count())
    });
    let queue = Mutex::new(order.into_iter());
    let reports = Mutex::new(HashMap::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no worker panics").next();
                    let Some(i) = next else { break };
                    let report = Session::run(&environment, venv, &pages[i]);
                    reports.lock().expect("no worker panics").insert(i, report);
                }
            });
        }
    });
    let mut reports = reports.into_inner().expect("no worker panics");
    (0..pages.len()).map(|i| reports.remove(&i).context("a page was not run")?).collect()
}

/// Environment variables of the commands in pages; `None` removes a variable.
type Environment = Vec<(&'static str, Option<OsString>)>;

fn environment(venv: &Venv) -> Result<Environment> {
    let folder = target().join("guide");
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin)?;
    let link = bin.join("farcall");
    if link.symlink_metadata().is_ok() {
        std::fs::remove_file(&link)?;
    }
    std::os::unix::fs::symlink(target().join("debug/farcall"), &link)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = [bin, venv.bin()].into_iter().chain(std::env::split_paths(&path));
    let set = |name, value: &str| (name, Some(value.into()));
    Ok(vec![
        ("PATH", Some(std::env::join_paths(path)?)),
        ("PYTHONPATH", Some(target().join("python").into())),
        ("FARCALL_CHECKOUT", Some(root().into())),
        // Crates of all pages share intermediate files, but not the final libraries.
        ("CARGO_BUILD_BUILD_DIR", Some(folder.join("build").into())),
        ("CARGO_TARGET_DIR", None),
        ("LD_LIBRARY_PATH", None),
        set("CARGO_NET_OFFLINE", "true"),
        set("CARGO_PROFILE_DEV_DEBUG", "0"),
        set("CARGO_TERM_COLOR", "never"),
        set("JAX_PLATFORMS", "cpu"),
        set("NO_COLOR", "1"),
        set("PYTHONDONTWRITEBYTECODE", "1"),
    ])
}

/// The state of a page that is being run.
struct Session<'a> {
    environment: &'a Environment,
    venv: &'a Venv,
    page: &'a Page,
    /// Folder for scripts, outputs and the state of the shell.
    state: PathBuf,
    python: Option<Python>,
}

impl Session<'_> {
    fn run(environment: &Environment, venv: &Venv, page: &Page) -> Result<Report> {
        let started = Instant::now();
        let folder = target().join("guide/pages").join(&page.name);
        let state = target().join("guide/state").join(&page.name);
        for dir in [&folder, &state] {
            if dir.exists() {
                std::fs::remove_dir_all(dir)?;
            }
            std::fs::create_dir_all(dir)?;
        }
        std::fs::write(state.join("cwd"), folder.as_os_str().as_encoded_bytes())?;
        std::fs::write(state.join("env"), "")?;
        let mut session = Session { environment, venv, page, state, python: None };
        let mut report = Report::default();
        let mut output = None;
        for block in &page.blocks {
            if let Err(failure) = session.block(block, &mut output, &mut report) {
                report.failures.push(failure);
                // Later blocks depend on the failed block.
                break;
            }
        }
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Handles one block. `output` is the output of the last block that ran.
    fn block(
        &mut self,
        block: &Block,
        output: &mut Option<String>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let failure =
            |message: String, detail: &str| Failure { line: block.line, message, detail: detail.to_owned() };
        let cannot = |error: anyhow::Error| failure(format!("{error:#}"), &block.text);
        match &block.action {
            Action::Show | Action::Skip(_) => return Ok(()),
            Action::Doctest => {
                *output = None;
                return Ok(());
            }
            Action::Invalid(why) => return Err(failure(why.clone(), &block.text)),
            Action::Write { path, append } => self.write(path, *append, &block.text).map_err(cannot)?,
            Action::Run { fails } => {
                let python = block.language == "python";
                let ran = if python { self.python(block) } else { self.shell(block) };
                let (ok, text) = ran.map_err(cannot)?;
                if ok == *fails {
                    let message = if ok { "the block succeeds, but must fail" } else { "the block fails" };
                    let detail = format!("{}---- output\n{}", block.text, tail(&text));
                    return Err(failure(message.to_owned(), &detail));
                }
                *output = Some(text);
            }
            Action::Output => {
                let Some(output) = output.as_ref() else {
                    let message = "no `sh` or `python` block before this output";
                    return Err(failure(message.to_owned(), &block.text));
                };
                if let Some(line) = missing(&block.text, output) {
                    let message = format!("the output lacks the line `{}`", line.trim());
                    return Err(failure(message, &format!("---- output\n{}", tail(output))));
                }
            }
        }
        report.passed += 1;
        Ok(())
    }

    /// Returns the folder in which the last `sh` block ended.
    fn folder(&self) -> Result<PathBuf> {
        Ok(std::fs::read_to_string(self.state.join("cwd"))?.trim_end_matches('\n').into())
    }

    fn write(&self, path: &Path, append: bool, text: &str) -> Result<()> {
        let path = self.folder()?.join(path);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.create(true).write(true).append(append).truncate(!append).open(&path)?;
        Ok(file.write_all(text.as_bytes())?)
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        for (name, value) in self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Runs a block in the folder where the last `sh` block ended, and with the variables that earlier blocks
    /// have set (`set -a` exports them).
    fn shell(&self, block: &Block) -> Result<(bool, String)> {
        let script = self.state.join("block.sh");
        let state = self.state.display();
        let prologue = format!(
            "source '{state}/env'; set -a; \
             cd \"$(cat '{state}/cwd')\"; \
             trap 'pwd > '\\''{state}/cwd'\\''; export -p > '\\''{state}/env'\\''' EXIT\n"
        );
        std::fs::write(&script, prologue + &block.text)?;
        let log = self.state.join("output");
        let file = std::fs::File::create(&log)?;
        let mut command = self.command("timeout");
        command.args(["--kill-after=5", &BLOCK_SECONDS.to_string(), "bash", "-euo", "pipefail"]).arg(&script);
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let ok = command.status().context("cannot start bash")?.success();
        Ok((ok, String::from_utf8_lossy(&std::fs::read(&log)?).into_owned()))
    }

    /// Runs a block in the page's Python process.
    fn python(&mut self, block: &Block) -> Result<(bool, String)> {
        let (code, log) = (self.state.join("block.py"), self.state.join("output"));
        std::fs::write(&code, &block.text)?;
        std::fs::write(&log, "")?;
        if self.python.is_none() {
            let script = root().join("xtask/src/guide/session.py");
            let mut command = self.command(self.venv.bin().join("python"));
            self.python = Some(Python::start(command.arg(script).current_dir(self.folder()?))?);
        }
        let request = serde_json::json!([code, self.page.path, block.line, log, self.folder()?]);
        let answer = self.python.as_mut().context("Python has not been started")?.ask(&request.to_string());
        let text = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
        let answer = answer.map_err(|error| anyhow!("{error:#}\n{}", tail(&text)))?;
        Ok((answer == "ok", text))
    }
}

/// Returns the last lines of an output.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let skipped = lines.len().saturating_sub(MAX_OUTPUT_LINES);
    let head = if skipped > 0 { format!("({skipped} lines before)\n") } else { String::new() };
    head + &lines[skipped..].join("\n")
}

/// A Python process that runs blocks of code.
struct Python {
    process: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
}

impl Python {
    fn start(command: &mut Command) -> Result<Python> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let requests = process.stdin.take().context("Python has no standard input")?;
        let lines = BufReader::new(process.stdout.take().context("Python has no standard output")?);
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Python { process, requests, answers })
    }

    fn ask(&mut self, request: &str) -> Result<String> {
        writeln!(self.requests, "{request}").context("the Python process has ended")?;
        let limit = Duration::from_secs(BLOCK_SECONDS);
        self.answers
            .recv_timeout(limit)
            .context("the Python process ends, or takes longer than its time limit")
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ended_already = self.process.kill();
        let _ended_already = self.process.wait();
    }
}
