//! Serves a function that JAX has exported with a symbolic batch size: `serve model.jax_export 127.0.0.1:7000`.
//!
//! A request is a number of rows (`u32`, little-endian), and the rows in `f32`. The answer is a byte, 0, and the bytes of
//! the first result; or 1, the length of a message (`u32`), and the message. A connection may send any number of requests.

use std::error::Error;
use std::io::{Read, Write, copy, sink};
use std::net::{TcpListener, TcpStream};

use farcall::ir::{DType, Literal, TensorType, interface::Size};
use farcall::{CompileOptions, Polymorphic, Registry};

/// Largest batch, in bytes.
const LARGEST: usize = 1 << 26;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, address] = args.as_slice() else { return Err("usage: serve FILE ADDRESS".into()) };
    let model = Polymorphic::read(&std::fs::read(file)?, file, &Registry::new(), CompileOptions::new())?;
    let listener = TcpListener::bind(address)?;
    writeln!(std::io::stdout(), "{} at {}", model.interface().name, listener.local_addr()?)?;
    for stream in listener.incoming() {
        let model = model.clone();
        let serve = move || {
            let served = stream.map_err(Box::from).and_then(|stream| serve(&model, stream));
            served.unwrap_or_else(|e| eprintln!("a connection failed: {e}"));
        };
        if let Err(e) = std::thread::Builder::new().spawn(serve) {
            eprintln!("a connection failed: {e}");
        }
    }
    Ok(())
}

/// Answers the requests of one connection.
fn serve(model: &Polymorphic, mut stream: TcpStream) -> Result<(), Box<dyn Error>> {
    let inputs = model.interface().inputs();
    let x = inputs.first().ok_or("the function has no arguments")?;
    let fixed = x.ty.sizes.iter().skip(1).map(|n| if let Size::Fixed(n) = n { Some(*n) } else { None });
    let row: Vec<usize> = fixed.collect::<Option<_>>().ok_or("only the first size may be open")?;
    let mut rows = [0; 4];
    while stream.read_exact(&mut rows).is_ok() {
        let ty = TensorType::new(DType::F32, [&[u32::from_le_bytes(rows) as usize], row.as_slice()].concat());
        let bytes = ty.bytes().filter(|bytes| *bytes <= LARGEST).ok_or("a batch is too large")?;
        let (mut batch, mut elements) = ((&stream).take(bytes as u64), Vec::new());
        let result = if let Err(refused) = model.interface().solve(std::slice::from_ref(&ty)) {
            copy(&mut batch, &mut sink())?;
            Err(refused.to_string())
        } else {
            batch.read_to_end(&mut elements)?;
            model.run(&[Literal::from_bytes(DType::F32, ty.sizes(), &elements)?]).map_err(|e| e.to_string())
        };
        stream.write_all(&match result {
            Ok(results) => [[0].as_slice(), results.first().map_or([].as_slice(), Literal::bytes)].concat(),
            Err(e) => [&[1], &u32::try_from(e.len())?.to_le_bytes()[..], e.as_bytes()].concat(),
        })?;
    }
    Ok(())
}
