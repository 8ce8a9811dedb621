use std::sync::Barrier;

use farcall_ffi::Error;
use farcall_ffi::testing::Call;

use super::Numbers;
use super::device::{Array, on_device, set_up};
use crate::nccl_allreduce::{self, Group, cuda};

#[test]
fn the_sum_over_a_group_of_one_is_the_operand() {
    set_up();
    let x: Vec<f32> = Numbers(1).vec(100);
    let (from, to) = (Array::new(&x), Array::new(&[9f32; 100]));
    let attrs = |call: Call<'static>| call.attr("ranks", 1i64).attr("rank", 0i64).attr("id", "");
    let site = attrs(Call::to::<cuda::nccl_allreduce>()).instantiate().unwrap();
    let call = attrs(Call::to::<cuda::nccl_allreduce>()).at(&site).gpu_operand::<f32>(from.address(), &[100]);
    on_device(call.gpu_result::<f32>(to.address(), &[100])).unwrap();
    assert_eq!(to.read(), x);
    let cleared = Array::new(&[9f32; 100]);
    let site = attrs(Call::to::<cuda::nccl_allreduce_bwd>()).instantiate().unwrap();
    let call = attrs(Call::to::<cuda::nccl_allreduce_bwd>()).at(&site);
    let call = call.gpu_operand::<f32>(from.address(), &[100]);
    on_device(call.gpu_result::<f32>(cleared.address(), &[100])).unwrap();
    assert_eq!(cleared.read(), x);
}

#[test]
fn members_of_one_process_join_at_the_same_time() {
    let (memberships, group) = (cuda::Memberships::new(), Barrier::new(2));
    let member = |rank: usize| {
        memberships.get_or_join(rank, || {
            // As in NCCL, joining ends when all members have joined.
            group.wait();
            Ok(rank)
        })
    };
    std::thread::scope(|scope| {
        let others = [scope.spawn(|| member(0)), scope.spawn(|| member(1))];
        assert_eq!(others.map(|other| other.join().unwrap()), [Ok(0), Ok(1)]);
    });
    // No member joins twice.
    assert_eq!([member(0), member(1)], [Ok(0), Ok(1)]);
}

#[test]
fn a_member_that_could_not_join_tries_again() {
    let memberships = cuda::Memberships::new();
    assert_eq!(memberships.get_or_join((), || Err(Error::internal("no"))), Err(Error::internal("no")));
    assert_eq!(memberships.get_or_join((), || Ok(1)), Ok(1));
    assert_eq!(memberships.get_or_join((), || Ok(2)), Ok(1));
}

#[test]
fn a_rank_is_one_device_of_a_process() {
    let group = |rank| Group::Several { ranks: 2, rank, id: [3; 128] };
    cuda::claim(group(0), 0).unwrap();
    cuda::claim(group(0), 0).unwrap();
    cuda::claim(group(1), 1).unwrap();
    let error = cuda::claim(group(0), 1).unwrap_err();
    assert_eq!(
        error.message(),
        "device 1 cannot be rank 0 of the group, which is device 0 of this process: a group has one device \
         of each process"
    );
    // `Group::Alone` is a separate group for each device.
    cuda::claim(Group::Alone, 0).unwrap();
    cuda::claim(Group::Alone, 1).unwrap();
}

#[test]
fn groups_that_do_not_exist() {
    let error = |ranks: i64, rank: i64, id: &str| {
        let call = Call::to::<nccl_allreduce::nccl_allreduce>().attr("ranks", ranks).attr("rank", rank);
        let mut y = [0f32; 2];
        let call = call.attr("id", id).operand(&[1f32, 2.0], &[2]);
        call.result(&mut y, &[2]).run().unwrap_err().message().to_owned()
    };
    assert_eq!(error(2, 2, ""), "nccl_allreduce: rank 2 is not one of a group of 2");
    assert_eq!(error(1, -1, ""), "nccl_allreduce: rank -1 is not one of a group of 1");
    let expected = "nccl_allreduce: a group of 2 needs an id of 256 hexadecimal digits, found \"0x12\"";
    assert_eq!(error(2, 1, "0x12"), expected);
    assert_eq!(error(2, 1, &"1f".repeat(128)), "nccl_allreduce: on the CPU, a group has one member, not 2");
}
