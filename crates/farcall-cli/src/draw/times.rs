//! Times of steps, from the output of `farcall run --profile=json`.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use farcall::Plan;
use serde::Deserialize;

/// Times of a plan's steps.
pub(super) struct Times {
    steps: Vec<Time>,
}

/// The time of one step.
pub(super) struct Time {
    /// Share of the run time, from 0 to 1, without nested steps.
    pub(super) share: f64,
    /// The time as text, for the hint of the step's box.
    pub(super) text: String,
}

#[derive(Deserialize)]
struct File {
    profile: Profile,
}

#[derive(Deserialize)]
struct Profile {
    thunks: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    kind: String,
    calls: u64,
    own_seconds: f64,
    share: f64,
}

impl Times {
    /// Reads the profile of a plan.
    ///
    /// # Errors
    /// If the file is not a profile in JSON, or is the profile of another plan.
    pub(super) fn read(path: &Path, plan: &Plan) -> Result<Times> {
        let shown = path.display();
        let text = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
        let file: File = serde_json::from_slice(&text)
            .with_context(|| format!("{shown} is not the output of `farcall run --profile=json`"))?;
        let kinds: Vec<&str> = plan.numbered().iter().map(|row| row.thunk.op.kind()).collect();
        let measured = file.profile.thunks.iter().map(|step| step.kind.as_str());
        ensure!(
            measured.len() == kinds.len(),
            "{shown} is the profile of another plan: it has {} steps, and this plan has {}",
            measured.len(),
            kinds.len()
        );
        ensure!(
            measured.eq(kinds.iter().copied()),
            "{shown} is the profile of another plan: its steps have other kinds than the steps of this plan"
        );
        let time = |step: Step| Time {
            share: step.share.clamp(0.0, 1.0),
            text: format!(
                "{:.1} % of the time: {} in {} calls",
                100.0 * step.share,
                crate::stats::duration(std::time::Duration::from_secs_f64(step.own_seconds.max(0.0))),
                step.calls
            ),
        };
        Ok(Times { steps: file.profile.thunks.into_iter().map(time).collect() })
    }

    /// The time of a step.
    pub(super) fn step(&self, number: usize) -> Option<&Time> {
        self.steps.get(number)
    }
}
