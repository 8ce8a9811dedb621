//! Tests of the server with a function exported by JAX: several clients at once, with batches of different
//! sizes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};

/// `relu(x @ w + 1)` of `x: f32[b,4]`, with `w = arange(12).reshape(4, 3)` and the constraint `b <= 64`,
/// serialized by `Exported.serialize()` of JAX 0.10.2. `model.py` creates it.
const MODEL: &str = include_str!("model.hex");

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("cannot end the server");
    }
}

/// Computes the result of `MODEL` for the rows `x`.
fn expected(x: &[f32]) -> Vec<f32> {
    let y = |row: &[f32], j: usize| row.iter().enumerate().map(|(i, x)| x * (3 * i + j) as f32).sum::<f32>();
    x.chunks_exact(4).flat_map(|row| (0..3).map(move |j| (y(row, j) + 1.0).max(0.0))).collect()
}

fn request(stream: &mut TcpStream, x: &[f32]) -> Result<Vec<f32>, String> {
    let rows = u32::try_from(x.len() / 4).unwrap();
    let elements = x.iter().flat_map(|x| x.to_le_bytes());
    stream.write_all(&rows.to_le_bytes().into_iter().chain(elements).collect::<Vec<u8>>()).unwrap();
    answer(stream, rows)
}

fn answer(stream: &mut TcpStream, rows: u32) -> Result<Vec<f32>, String> {
    let mut head = [0; 5];
    stream.read_exact(&mut head[..1]).unwrap();
    if head[0] == 0 {
        let mut answer = vec![0; 12 * rows as usize];
        stream.read_exact(&mut answer).unwrap();
        return Ok(answer.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect());
    }
    stream.read_exact(&mut head[1..]).unwrap();
    let mut message = vec![0; u32::from_le_bytes(head[1..].try_into().unwrap()) as usize];
    stream.read_exact(&mut message).unwrap();
    Err(String::from_utf8(message).unwrap())
}

#[test]
fn many_clients_get_their_rows() {
    let hex: Vec<u8> = MODEL.bytes().filter(u8::is_ascii_hexdigit).collect();
    let digit = |d: u8| char::from(d).to_digit(16).unwrap() as u8;
    let model: Vec<u8> = hex.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("model.jax_export");
    std::fs::write(&file, model).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_serve"));
    let mut server = Server(command.arg(&file).arg("127.0.0.1:0").stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("model at ").unwrap();

    std::thread::scope(|scope| {
        for client in 0..4 {
            scope.spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                for rows in [1, 7, client + 1, 64] {
                    let x: Vec<f32> = (0..4 * rows).map(|i| (i % 11) as f32 - 5.0).collect();
                    assert_eq!(request(&mut stream, &x), Ok(expected(&x)), "{rows} rows");
                }
                let message = request(&mut stream, &[0.0; 65 * 4]).unwrap_err();
                let why = "b <= 64 does not hold, with b = 65 from x.shape[0]";
                assert_eq!(message, format!("model does not take these inputs: {why}"));
                assert_eq!(request(&mut stream, &[1.0; 4]), Ok(expected(&[1.0; 4])));

                // A request that announces too many rows is rejected before they arrive.
                stream.write_all(&u32::MAX.to_le_bytes()).unwrap();
                let why = "b <= 64 does not hold, with b = 4294967295 from x.shape[0]";
                assert_eq!(answer(&mut stream, 0), Err(format!("model does not take these inputs: {why}")));
                // A request that ends early is rejected before the function runs.
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(&[2, 0, 0, 0, 1, 2, 3]).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                let message = answer(&mut stream, 2).unwrap_err();
                assert_eq!(message, "tensor<2x4xf32> holds 32 bytes of elements, not 3");
            });
        }
    });
}
