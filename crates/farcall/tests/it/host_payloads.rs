//! Panics whose payload panics when it is dropped. Wherever such a panic is caught, it becomes an error, as
//! other panics do.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use farcall::custom_call::ThreadPool;
use farcall::ir::{DType, Literal, Source, text};
use farcall::{CompileOptions, Executable, Registry};
use farcall_ffi::prelude::*;
use farcall_testing::engine;

/// Panics when it is dropped, unless the number is 0. The payload of the panic is a `Bomb` with the next
/// lower number.
struct Bomb(usize);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            explode(self.0 - 1);
        }
    }
}

/// Panics without calling the panic hook, whose messages are of no use here.
fn explode(more: usize) -> ! {
    std::panic::resume_unwind(Box::new(Bomb(more)))
}

#[handler(name = "payload.handler")]
fn in_handler(_x: &Buffer<f32>, _y: &mut Buffer<f32>) -> Result<()> {
    explode(2)
}

static HELPERS: AtomicUsize = AtomicUsize::new(0);
static ALTERED: AtomicUsize = AtomicUsize::new(0);

/// Handler whose loop panics twice on the handler's thread, while helper threads read the handler's memory.
#[handler(name = "payload.loop")]
fn in_loop(_x: &Buffer<f32>, _y: &mut Buffer<f32>, host: &Context) -> Result<()> {
    let data = vec![0_usize; 1 << 12];
    let (main, panics) = (std::thread::current().id(), AtomicUsize::new(0));
    host.parallel_for(4, |_| {
        if std::thread::current().id() != main {
            HELPERS.fetch_add(1, Ordering::SeqCst);
            for _ in 0..2000 {
                let altered = std::hint::black_box(&data).iter().filter(|x| **x != 0).count();
                ALTERED.fetch_add(altered, Ordering::Relaxed);
            }
            return;
        }
        while HELPERS.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        if panics.fetch_add(1, Ordering::Relaxed) < 2 {
            explode(2);
        }
    });
    Ok(())
}

/// Handler whose task keeps a buffer and then panics.
#[handler(name = "payload.task")]
fn in_task(_x: &Buffer<f32>, y: KeptMut<Buffer<f32>>, host: &Context) -> Result<()> {
    host.spawn(move || {
        let mut y = y;
        y[0] = 1.0;
        explode(2)
    })
}

struct Loaded;

impl Drop for Loaded {
    fn drop(&mut self) {
        explode(2)
    }
}

#[stage(instantiate)]
fn make_state() -> Result<Loaded> {
    Ok(Loaded)
}

#[handler(name = "payload.state", instantiate = make_state)]
fn in_state(x: &Buffer<f32>, _state: &State<Loaded>, y: &mut Buffer<f32>) -> Result<()> {
    y.copy_from_slice(x);
    Ok(())
}

fn registry() -> Registry {
    engine::registry(farcall_ffi::ops![in_handler, in_loop, in_task, in_state])
}

/// Calls a target. Returns the last line of its error, or an empty text.
fn call(registry: &Registry, target: &str) -> String {
    let program = format!(
        "func.func @main(%a: tensor<16xf32>) -> tensor<16xf32> {{
          %0 = stablehlo.custom_call @{target}(%a) {{api_version = 4 : i32, mhlo.backend_config = {{}}}}
              : (tensor<16xf32>) -> tensor<16xf32>
          return %0 : tensor<16xf32>
        }}"
    );
    let module = text::parse(&Source::new("p.mlir", program)).unwrap();
    let executable = Executable::compile(&module, registry, &CompileOptions::new()).unwrap();
    let outcome = executable.run(&[Literal::zeros(DType::F32, [16])]);
    outcome.err().map(|e| e.to_string().lines().last().unwrap_or_default().to_owned()).unwrap_or_default()
}

#[test]
fn panics_of_handlers_and_their_tasks_are_errors() {
    let registry = registry();
    for target in ["payload.handler", "payload.loop", "payload.task"] {
        let error = call(&registry, target);
        assert!(error.contains("panicked"), "{target}: {error}");
    }
    assert_eq!(ALTERED.load(Ordering::Relaxed), 0, "helpers read the frame of a handler that had ended");
}

#[test]
fn a_state_whose_destructor_panics_is_destroyed() {
    assert_eq!(call(&registry(), "payload.state"), "");
}

#[test]
fn a_pool_keeps_its_threads() {
    let pool = ThreadPool::new(1);
    for _ in 0..3 {
        pool.spawn(|| explode(2));
    }
    let (send, receive) = channel();
    pool.spawn(move || send.send(()).unwrap());
    receive.recv_timeout(Duration::from_secs(20)).unwrap();
}
