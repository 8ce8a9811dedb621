//! Serves a function that JAX has exported with a symbolic batch size: `serve model.jax_export 127.0.0.1:7000`.
//!
//! A request is a number of rows (`u32`, little-endian), and the rows in `f32`. The answer is a byte, 0, and the rows of the
//! result; or 1, the length of a message (`u32`), and the message. A connection may send any number of requests.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use farcall::ir::interface::Size;
use farcall::ir::{DType, Literal};
use farcall::{CompileOptions, Polymorphic, Registry};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, address] = args.as_slice() else { return Err("usage: serve FILE ADDRESS".into()) };
    let model = Polymorphic::read(&std::fs::read(file)?, file, &Registry::new(), CompileOptions::new())?;
    let listener = TcpListener::bind(address)?;
    writeln!(std::io::stdout(), "{} at {}", model.interface().name, listener.local_addr()?)?;
    for stream in listener.incoming() {
        let (model, stream) = (model.clone(), stream?);
        std::thread::spawn(move || {
            serve(&model, stream).unwrap_or_else(|e| eprintln!("a connection failed: {e}"));
        });
    }
    Ok(())
}

/// Answers the requests of one connection.
fn serve(model: &Polymorphic, mut stream: TcpStream) -> Result<(), Box<dyn Error>> {
    let x = model.interface().inputs().first().ok_or("the function has no arguments")?.ty.clone();
    let row = x.sizes.iter().skip(1).map(|size| match size {
        Size::Fixed(size) => Ok(*size),
        open => Err(format!("{open} is not fixed: only the first size of {x} may be")),
    });
    let row: Vec<usize> = row.collect::<Result<_, _>>()?;
    let mut rows = [0; 4];
    while stream.read_exact(&mut rows).is_ok() {
        let shape = [&[u32::from_le_bytes(rows) as usize], row.as_slice()].concat();
        let mut elements = Vec::new();
        let bytes = 4 * shape.iter().product::<usize>();
        (&stream).take(bytes as u64).read_to_end(&mut elements)?;
        match model.run(&[Literal::from_bytes(DType::F32, shape, &elements)?]) {
            Ok(results) => stream.write_all(&[&[0][..], results[0].bytes()].concat())?,
            Err(error) => {
                let message = error.to_string();
                let length = u32::try_from(message.len())?.to_le_bytes();
                stream.write_all(&[&[1][..], &length, message.as_bytes()].concat())?;
            }
        }
    }
    Ok(())
}
