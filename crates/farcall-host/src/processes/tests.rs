//! Tests of the processes of a run: the order of values, processes that cannot meet, and panics.

use super::*;

fn grid(replicas: usize) -> Grid {
    Grid { replicas, partitions: 1 }
}

fn point(group: &[usize], signature: &str) -> Arc<Point> {
    Arc::new(Point {
        op: "op",
        place: "p:1:1".into(),
        channel: 0,
        group: group.into(),
        signature: signature.into(),
    })
}

fn number(n: usize) -> Literal {
    Literal::from_slice(farcall_ir::DType::S64, [], &[n as i64])
}

fn first(values: &[Literal]) -> i64 {
    values[0].get(0).as_i64()
}

#[test]
fn offers_are_in_the_order_of_the_group() {
    let processes = Processes::new(grid(4));
    let results = processes.run(None, |participant| {
        let own = participant.process().number;
        let group: &[usize] = if own.is_multiple_of(2) { &[2, 0] } else { &[1, 3] };
        let gathering = participant.meet(&point(group, "s"), Offer::Values(vec![number(own)]))?;
        let of = |offer: &Offer| match offer {
            Offer::Values(values) => first(values),
            Offer::Memory(_) => -1,
        };
        Ok::<_, ProcessError>(gathering.offers().iter().map(of).collect::<Vec<i64>>())
    });
    assert_eq!(results.unwrap(), [vec![2, 0], vec![1, 3], vec![2, 0], vec![1, 3]]);
}

#[test]
fn values_arrive_in_the_order_in_which_they_were_sent() {
    let processes = Processes::new(grid(2));
    let results = processes.run(None, |participant| {
        if participant.process().number == 0 {
            (0..10).for_each(|n| participant.post(7, Some(1), vec![number(n)]));
            return Ok(Vec::new());
        }
        let at = || Reception { op: "recv", place: Arc::default(), channel: 7, from: Some(0) };
        let types = [number(0).ty()];
        (0..10)
            .map(|_| Ok(first(&participant.receive(at(), &types)?)))
            .collect::<Result<Vec<i64>, ProcessError>>()
    });
    assert_eq!(results.unwrap()[1], (0..10).collect::<Vec<i64>>());
}

/// Returns the error of processes that all fail to meet.
fn error(
    processes: &Arc<Processes>,
    work: impl Fn(&Participant) -> Result<(), ProcessError> + Sync,
) -> String {
    match processes.run(None, work) {
        Err(ProcessFailure::Process { number, error }) => format!("{number}: {error}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn processes_that_cannot_meet_are_an_error() {
    let meet = |participant: &Participant, group: &[usize], signature| {
        participant.meet(&point(group, signature), Offer::Values(Vec::new())).map(drop)
    };
    let apart = error(&Processes::new(grid(2)), |participant| {
        meet(participant, &[0, 1], ["a", "b"][participant.process().number])
    });
    assert_eq!(
        apart,
        "0: the devices wait for each other: device 0 waits for device 1 in op at p:1:1 (channel 0, group 0, 1); device \
         1 waits for device 0 in op at p:1:1 (channel 0, group 0, 1)"
    );
    // A circle of pairs.
    let circle = error(&Processes::new(grid(3)), |participant| {
        let own = participant.process().number;
        let mut group = [own, (own + 1) % 3];
        group.sort_unstable();
        meet(participant, &group, "s")
    });
    assert!(
        circle.starts_with("0: the devices wait for each other: device 0 waits for device 1"),
        "{circle}"
    );
    let absent = error(&Processes::new(grid(2)), |participant| match participant.process().number {
        0 => meet(participant, &[0, 5], "s"),
        _ => Ok(()),
    });
    assert!(absent.contains("waits for device 5 (which does not exist)"), "{absent}");
    let nothing = error(&Processes::new(grid(2)), |participant| match participant.process().number {
        0 => Ok(()),
        _ => participant.receive_from_any(3, &[]).map(drop),
    });
    assert_eq!(
        nothing,
        "1: the devices wait for each other: device 1 waits for any device in stablehlo.recv (channel 3)"
    );
}

/// Stuck processes end the run even if another process still runs; the run's interrupt stops that process.
#[test]
fn stuck_processes_end_the_run_of_others() {
    let error = error(&Processes::new(grid(3)), |participant| match participant.process().number {
        0 => Ok(()),
        1 => participant.meet(&point(&[0, 1], "s"), Offer::Values(Vec::new())).map(drop),
        _ => {
            while !participant.interrupt().is_due() {
                participant.interrupt().look_soon();
                thread::yield_now();
            }
            Err(ProcessError::Ended)
        }
    });
    assert!(error.starts_with("1: the devices wait for each other: device 1 waits for device 0"), "{error}");
}

/// An error about many processes lists only the first eight.
#[test]
fn errors_of_many_processes_are_short() {
    let all: Vec<usize> = (0..64).collect();
    let error = error(&Processes::new(grid(64)), |participant| match participant.process().number {
        40 => Ok(()),
        _ => participant.meet(&point(&all, "s"), Offer::Values(Vec::new())).map(drop),
    });
    let group = "group 0, 1, 2, 3, 4, 5, 6, 7, … (64 in all)";
    assert!(error.contains(&format!("device 7 waits for device 40 in op at p:1:1 (channel 0, {group})")));
    assert!(error.ends_with("; 55 more devices wait; device 40 has finished"), "{error}");
}

#[test]
fn a_panic_ends_the_others() {
    let processes = Processes::new(grid(2));
    let run = || {
        processes.run(None, |participant| {
            assert!(participant.process().number == 0, "asked to panic");
            participant.meet(&point(&[0, 1], "s"), Offer::Values(Vec::new())).map(drop)
        })
    };
    assert!(farcall_ffi::unwind::catch(run).is_err());
}
