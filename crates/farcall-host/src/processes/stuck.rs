//! Finds processes that wait in vain.
//!
//! A process can continue if it runs, or if it waits only for processes that are at the same point already or
//! can continue themselves. All other processes are stuck: each waits for a process that has ended, or for
//! one that is stuck somewhere else.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Activity, Point, State};

/// Returns the numbers of the processes that can never continue, in ascending order.
pub(super) fn find(state: &State) -> Vec<usize> {
    let activities = &state.activities;
    let mut can_continue: Vec<bool> = activities.iter().map(Activity::runs).collect();
    loop {
        let mut has_changed = false;
        // Answers by point, since the members of a group usually share one. They hold for one pass: a group
        // that cannot meet yet may be able to in the next.
        let mut known: HashMap<*const Point, bool> = HashMap::new();
        for (number, activity) in activities.iter().enumerate() {
            let may = |other: &usize| can_continue.get(*other).copied().unwrap_or(false);
            let continues = match activity {
                Activity::Meets(point, _) => *known.entry(Arc::as_ptr(point)).or_insert_with(|| {
                    point.group.iter().all(|other| {
                        let meets = |a: &Activity| matches!(a, Activity::Meets(at, _) if at.meets(point));
                        may(other) || activities.get(*other).is_some_and(meets)
                    })
                }),
                Activity::Receives(at) => {
                    state.has_sent(at.channel, number, at.from)
                        || match at.from {
                            Some(from) => may(&from),
                            None => (0..activities.len()).any(|other| other != number && may(&other)),
                        }
                }
                Activity::Running | Activity::Met(_) | Activity::Stuck(_) | Activity::Finished => continue,
            };
            if continues && !can_continue[number] {
                can_continue[number] = true;
                has_changed = true;
            }
        }
        if !has_changed {
            break;
        }
    }
    let stuck = activities.iter().zip(can_continue).enumerate();
    stuck.filter(|(_, (activity, continues))| activity.waits() && !continues).map(|(i, _)| i).collect()
}
