//! Measures the memory of open streams of live events.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::Result;
use crate::client::get;
use crate::figures::whole;
use crate::program::Program;
use crate::table::Row;

/// The wanted 10,000 listeners, less what a limit of 20,000 open files, which many systems have, leaves for other uses.
const LISTENERS: usize = 9_800;
/// 300 MB for 10,000 listeners.
const MEMORY_MB: f64 = 294.0;
/// A client may have three quarters of the streams, so the listeners have two addresses.
const CLIENTS: [[u8; 4]; 2] = [[127, 0, 0, 2], [127, 0, 0, 3]];
/// Connections for twice the listeners, because streams take at most half of them.
const SETTINGS: [&str; 4] = ["--max-connections", "20000", "--words-retrain-after", "0"];

pub(super) fn events(program: &Program) -> Result<Vec<Row>> {
    let server = program.serve(&program.init()?, &SETTINGS)?;
    let before = server.memory_mb()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listeners = runtime.block_on(listen(server.address()))?;
    let memory = server.memory_mb()? - before;
    let each = memory * 1024.0 / whole(listeners.len() as u64);
    let note = format!("{LISTENERS} listeners; {before:.0} MB without, {each:.1} kB each");
    Ok(vec![Row::new("memory of listeners", memory, "MB").at_most(MEMORY_MB).note(note)])
}

async fn listen(address: SocketAddr) -> Result<Vec<TcpStream>> {
    let request = get("/events", None);
    let mut listeners = Vec::with_capacity(LISTENERS);
    for n in 0..LISTENERS {
        let socket = TcpSocket::new_v4()?;
        socket.bind((CLIENTS[n % CLIENTS.len()], 0).into())?;
        let mut stream = socket.connect(address).await?;
        stream.write_all(&request).await?;
        let mut head = Vec::new();
        while !head.windows(9).any(|part| part == b"retry: 30") {
            if stream.read_buf(&mut head).await? == 0 {
                return Err("a stream was closed".into());
            }
        }
        if !head.starts_with(b"HTTP/1.1 200 ") {
            return Err("a stream was refused".into());
        }
        listeners.push(stream);
    }
    Ok(listeners)
}
