//! Serves a function exported by JAX with a symbolic batch size: `serve model.jax_export 127.0.0.1:7000`.
//!
//! A request is the number of rows (`u32`, little-endian), followed by the rows. The answer is the byte 0 and
//! the rows of the first result; or the byte 1, the length of a message (`u32`), and the message. A
//! connection may send any number of requests. The server checks that the function accepts the number of rows
//! before reading the rows.

use std::error::Error;
use std::io::{Read, Write, copy, sink};
use std::net::{TcpListener, TcpStream};

use farcall::ir::interface::SymbolicSize;
use farcall::ir::{Literal, TensorType};
use farcall::{CompileOptions, Polymorphic, Registry};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, address] = args.as_slice() else { return Err("usage: serve FILE ADDRESS".into()) };
    let model = Polymorphic::read(&std::fs::read(file)?, file, &Registry::new(), CompileOptions::new())?;
    let listener = TcpListener::bind(address)?;
    writeln!(std::io::stdout(), "{} at {}", model.interface().name, listener.local_addr()?)?;
    for stream in listener.incoming() {
        let model = model.clone();
        let answers = move || stream.map_err(Into::into).and_then(|stream| serve(&model, &stream));
        let reported = move || answers().unwrap_or_else(|e| eprintln!("a connection failed: {e}"));
        std::thread::Builder::new().spawn(reported).map_or_else(|e| eprintln!("no thread: {e}"), drop);
    }
    Ok(())
}

/// Answers the requests of one connection.
fn serve(model: &Polymorphic, mut stream: &TcpStream) -> Result<(), Box<dyn Error>> {
    let x = model.interface().inputs().first().ok_or("the function has no arguments")?.ty.clone();
    let fixed = |size: &SymbolicSize| if let SymbolicSize::Fixed(size) = size { Some(*size) } else { None };
    let row: Option<Vec<usize>> = x.sizes.iter().skip(1).map(fixed).collect();
    let row = row.ok_or_else(|| format!("only the first size of {x} may be open"))?;
    let mut rows = [0; 4];
    while stream.read_exact(&mut rows).is_ok() {
        let ty = TensorType::new(x.dtype, [&[u32::from_le_bytes(rows) as usize], row.as_slice()].concat());
        let mut body = stream.take(ty.bytes().ok_or("a request of more bytes than can be counted")? as u64);
        let answer = run(model, &mut body, &ty).map(|y| [&[0][..], &y].concat()).unwrap_or_else(|error| {
            let message = error.to_string();
            [&[1][..], &(message.len() as u32).to_le_bytes(), message.as_bytes()].concat()
        });
        stream.write_all(&answer)?;
        // Skips the rows of a rejected request.
        copy(&mut body, &mut sink())?;
    }
    Ok(())
}

/// Returns the first result for rows of this type. The rows are read only if the function accepts the type.
fn run(model: &Polymorphic, rows: &mut impl Read, ty: &TensorType) -> Result<Vec<u8>, Box<dyn Error>> {
    model.interface().solve(std::slice::from_ref(ty))?;
    let mut elements = Vec::new();
    rows.read_to_end(&mut elements)?;
    let results = model.run(&[Literal::from_bytes(ty.dtype, ty.sizes(), &elements)?])?;
    Ok(results.first().ok_or("the function has no results")?.bytes().to_vec())
}
