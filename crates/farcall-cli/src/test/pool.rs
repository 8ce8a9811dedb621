//! Workers: processes of this program that run tests and may crash.
//!
//! A worker reads tasks from its standard input, one JSON object per line, and answers on its standard output
//! with a line that starts with [`MARK`]. All other output was printed by handlers.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::report::Judged;
use super::{Outcome, Reply, Test};
use crate::args::TestArgs;

/// First character of a worker's answer: the record separator of ASCII, which does not occur in text.
pub(super) const MARK: char = '\x1e';

/// Runs all tests and returns the results in the same order.
pub(super) fn run(tests: &[Test], args: &TestArgs) -> Result<Vec<Judged>> {
    let bar = progress_bar(tests.len());
    let next = AtomicUsize::new(0);
    let results: Vec<OnceLock<Judged>> = tests.iter().map(|_| OnceLock::new()).collect();
    let fatal: Mutex<Option<anyhow::Error>> = Mutex::new(None);
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.map_or(available, usize::from).min(tests.len());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                let mut worker = None;
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(test) = tests.get(i) else { return };
                    let started = Instant::now();
                    match judge(&mut worker, test, args) {
                        Ok(outcome) => {
                            let _first_answer = results[i].set((outcome, started.elapsed()));
                            bar.set_message(test.name.clone());
                            bar.inc(1);
                        }
                        Err(e) => {
                            fatal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
                            next.store(tests.len(), Ordering::Relaxed);
                            return;
                        }
                    }
                }
            });
        }
    });
    bar.finish_and_clear();
    if let Some(e) = fatal.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(e);
    }
    results.into_iter().map(|r| r.into_inner().context("a test was lost")).collect()
}

fn progress_bar(len: usize) -> ProgressBar {
    // The bar is hidden if standard error is not a terminal.
    let bar = ProgressBar::with_draw_target(Some(len as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:30.cyan/dim} {pos}/{len} {wide_msg:.dim}") {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar
}

/// Runs one test on a worker. The worker is started if necessary, and dropped if it cannot be reused.
fn judge(worker: &mut Option<Worker>, test: &Test, args: &TestArgs) -> Result<Outcome> {
    if test.alone {
        *worker = None;
    }
    let mut ready = match worker.take() {
        Some(worker) => worker,
        None => Worker::start(args)?,
    };
    let task = serde_json::to_string(&test.task)?;
    match ready.ask(&task, args.timeout) {
        Answer::Reply(Reply::Done(outcome)) => {
            if !test.alone {
                *worker = Some(ready);
            }
            Ok(outcome)
        }
        Answer::Reply(Reply::Fatal(message)) => Err(anyhow!(message)),
        Answer::Silence => {
            let cause = format!("not done after {} s", args.timeout.as_secs_f64());
            Ok(Outcome::failed(cause.clone(), cause))
        }
        Answer::Death => {
            let (status, words) = ready.post_mortem();
            let cause = format!("crashed: {}", describe(status));
            let reason = if words.is_empty() { cause.clone() } else { format!("{cause}\n{words}") };
            Ok(Outcome::failed(reason, cause))
        }
    }
}

enum Answer {
    Reply(Reply),
    /// The worker exceeded the time limit.
    Silence,
    /// The process ended.
    Death,
}

struct Worker {
    child: Child,
    /// `None` once the process has been asked to end.
    stdin: Option<ChildStdin>,
    replies: Receiver<Reply>,
    stderr: Option<JoinHandle<String>>,
}

impl Worker {
    fn start(args: &TestArgs) -> Result<Worker> {
        let mut command = Command::new(std::env::current_exe().context("cannot find this program's file")?);
        command.args(["test", "--worker"]);
        for library in &args.load.load {
            command.arg("--load").arg(library.as_arg());
        }
        if args.load.replace {
            command.arg("--replace");
        }
        for target in &args.load.target {
            command.arg("--target").arg(target.to_string());
        }
        if args.evaluator {
            command.arg("--evaluator");
        }
        for threads in &args.threads {
            command.arg("--threads").arg(threads.to_string());
        }
        if let Some(semantics) = args.semantics {
            command.arg("--semantics").arg(semantics.name());
        }
        // Workers inherit the limits of this process.
        let (memory, iterations) = (farcall::memory::limit(), farcall::iterations::limit());
        if memory != usize::MAX {
            command.arg("--memory-limit").arg(memory.to_string());
        }
        if iterations != u64::MAX {
            command.arg("--iteration-limit").arg(iterations.to_string());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start a worker")?;
        let stdout = child.stdout.take().context("a worker has no output")?;
        let mut stderr = child.stderr.take().context("a worker has no error output")?;
        let (sender, replies) = channel();
        // The end of the process closes its pipes, which ends the threads that read them.
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                let reply =
                    line.strip_prefix(&[MARK as u8]).and_then(|json| serde_json::from_slice(json).ok());
                if let Some(reply) = reply
                    && sender.send(reply).is_err()
                {
                    return;
                }
            }
        });
        let stderr = std::thread::spawn(move || last_words(&mut stderr));
        let stdin = child.stdin.take();
        Ok(Worker { child, stdin, replies, stderr: Some(stderr) })
    }

    fn ask(&mut self, task: &str, timeout: Duration) -> Answer {
        let sent = self.stdin.as_mut().map(|stdin| writeln!(stdin, "{task}").and_then(|()| stdin.flush()));
        if !matches!(sent, Some(Ok(()))) {
            return Answer::Death;
        }
        match self.replies.recv_timeout(timeout) {
            Ok(reply) => Answer::Reply(reply),
            Err(RecvTimeoutError::Timeout) => Answer::Silence,
            Err(RecvTimeoutError::Disconnected) => Answer::Death,
        }
    }

    /// Returns the exit status of the process and its last output on the standard error.
    fn post_mortem(&mut self) -> (Option<ExitStatus>, String) {
        self.stdin = None;
        let status = self.child.wait().ok();
        let words = self.stderr.take().and_then(|t| t.join().ok()).unwrap_or_default();
        (status, words)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker between tasks has no state that an orderly exit would save.
        let _it_may_have_ended = self.child.kill();
        let _nothing_to_learn = self.child.wait();
    }
}

/// Reads to the end and returns the last lines.
fn last_words(stderr: &mut impl Read) -> String {
    const KEPT_BYTES: usize = 2000;
    let mut kept: Vec<u8> = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(n) = stderr.read(&mut chunk) {
        if n == 0 {
            break;
        }
        kept.extend_from_slice(&chunk[..n]);
        if kept.len() > 2 * KEPT_BYTES {
            kept.drain(..kept.len() - KEPT_BYTES);
        }
    }
    let text = String::from_utf8_lossy(&kept);
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}

fn describe(status: Option<ExitStatus>) -> String {
    let Some(status) = status else { return "for an unknown reason".to_owned() };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = match signal {
            4 => " (illegal instruction)",
            6 => " (abort)",
            7 => " (bus error)",
            8 => " (arithmetic error)",
            9 => " (killed, perhaps for lack of memory)",
            11 => " (segmentation fault)",
            _ => "",
        };
        return format!("signal {signal}{name}");
    }
    match status.code() {
        Some(code) => format!("the process ended with code {code}"),
        None => "the process ended".to_owned(),
    }
}
