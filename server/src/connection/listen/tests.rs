//! Tests of the server with well-behaved and hostile clients.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::*;
use crate::connection::registry::REST;
use crate::testing;

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    served: tokio::task::JoinHandle<io::Result<()>>,
    _service: testing::Service,
}

fn server(config: Config) -> Server {
    let service = testing::service();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let served = serve(service.tidings.clone(), config, listener, async { stopped.await.unwrap_or(()) });
    Server { address, stop, served: tokio::spawn(served), _service: service }
}

async fn until_closed(mut socket: TcpStream) -> String {
    let mut answer = String::new();
    let _ = timeout(Duration::from_secs(5), socket.read_to_string(&mut answer)).await.unwrap();
    answer
}

async fn send(server: &Server, bytes: impl AsRef<[u8]>) -> TcpStream {
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    socket.write_all(bytes.as_ref()).await.unwrap();
    socket
}

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n";

#[tokio::test]
async fn a_connection_without_a_complete_head_or_a_next_request_is_closed() {
    let short = Duration::from_millis(100);
    let quick = server(Config { header_timeout: short, ..Config::default() });
    assert_eq!(until_closed(send(&quick, "GET /healthz HTTP/1.1\r\nHost: h").await).await, "");
    assert_eq!(until_closed(send(&quick, "").await).await, "");
    let quick = server(Config { idle_timeout: short, ..Config::default() });
    let answer = until_closed(send(&quick, HEALTH).await).await;
    assert!(answer.ends_with(r#"{"result":"success"}"#), "{answer}");
}

/// Sends the head of a sign-in, and returns the connection once the server asks for the body.
async fn begin_sign_in(server: &Server, length: usize) -> TcpStream {
    let head = format!(
        "POST /sign_in HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n"
    );
    let mut socket = send(server, head).await;
    timeout(Duration::from_secs(5), socket.read_exact(&mut [0; 25])).await.unwrap().unwrap();
    socket
}

#[tokio::test]
async fn a_connection_over_the_limit_replaces_one_that_waits_for_its_client() {
    let server = server(Config { max_connections: 1, ..Config::default() });
    let mut idle = send(&server, HEALTH).await;
    idle.read_exact(&mut [0; 16]).await.unwrap();
    let slow = begin_sign_in(&server, 2).await;
    until_closed(idle).await;
    let mut third = send(&server, HEALTH).await;
    timeout(Duration::from_secs(5), third.read_exact(&mut [0; 16])).await.unwrap().unwrap();
    until_closed(slow).await;
}

#[tokio::test]
async fn a_shutdown_waits_no_longer_than_its_timeout() {
    let short = Duration::from_millis(200);
    let server = server(Config { shutdown_timeout: short, ..Config::default() });
    let running = begin_sign_in(&server, 9).await;
    let began = Instant::now();
    server.stop.send(()).unwrap();
    server.served.await.unwrap().unwrap();
    assert!((short..short * 5).contains(&began.elapsed()), "{:?}", began.elapsed());
    assert_eq!(until_closed(running).await, "");
}

#[tokio::test]
async fn a_stream_of_events_outlives_the_idle_time_and_ends_at_once_with_the_server() {
    let short = Duration::from_millis(300);
    let server = server(Config { idle_timeout: short, ..Config::default() });
    let mut stream = send(&server, "GET /events?events=notice HTTP/1.1\r\nHost: here\r\n\r\n").await;
    let mut answer = Vec::new();
    let began = Instant::now();
    while began.elapsed() < 5 * short {
        let read = timeout(5 * short, stream.read_buf(&mut answer)).await;
        assert!(read.unwrap().unwrap() > 0, "the stream is open");
    }
    let answer = String::from_utf8(answer).unwrap();
    let place = answer.split_once("retry: 3000\nid: ").unwrap().1.lines().next().unwrap();
    let heartbeats = answer.matches(&format!("\r\n:\nid: {place}\n\n")).count();
    assert!(heartbeats >= 5, "{heartbeats}");
    let began = Instant::now();
    server.stop.send(()).unwrap();
    assert!(until_closed(stream).await.ends_with("0\r\n\r\n"));
    server.served.await.unwrap().unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const PING: u8 = 6;

/// Returns the beginning of an HTTP/2 connection with this flow-control window, on which the client requests the
/// OpenAPI document, which is larger than 64 KiB, on `streams` streams.
fn h2(window: u32, streams: u32) -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // SETTINGS_INITIAL_WINDOW_SIZE.
    bytes.extend(frame(4, 0, 0, &[&[0, 4][..], &window.to_be_bytes()].concat()));
    let path = b"/openapi.json";
    // `GET` and `http` by their indexes in the static table, `:path` literally.
    let head = [&[0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()][..], path].concat();
    for stream in 0..streams {
        bytes.extend(frame(1, 0x5, 2 * stream + 1, &head));
    }
    bytes
}

/// Reads a frame and returns its type, its flags and its length; `None` when the connection is closed.
async fn read_whole_frame(socket: &mut TcpStream) -> Option<(u8, u8, usize)> {
    let mut head = [0; 9];
    socket.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    socket.read_exact(&mut vec![0; length]).await.ok()?;
    Some((head[3], head[4], length))
}

async fn read_frame(socket: &mut TcpStream) -> Option<u8> {
    read_whole_frame(socket).await.map(|(kind, ..)| kind)
}

#[tokio::test]
async fn a_response_without_a_window_ends_even_if_pings_arrive() {
    // Without a window h2 sends nothing of a response; with a window of one byte it holds a frame.
    for window in [0, 1] {
        let idle = Duration::from_millis(300);
        let server = server(Config { idle_timeout: idle, ..Config::default() });
        let mut socket = send(&server, h2(window, 1)).await;
        let ended = timeout(Duration::from_secs(30), async {
            loop {
                match timeout(idle / 10, read_frame(&mut socket)).await {
                    Ok(None | Some(RST_STREAM)) => break,
                    Err(_) if socket.write_all(&frame(PING, 0, 0, &[0; 8])).await.is_err() => break,
                    Ok(Some(_)) | Err(_) => {}
                }
            }
        });
        ended.await.unwrap();
    }
}

#[tokio::test]
async fn a_client_that_reads_its_response_gets_all_of_it() {
    let server = server(Config::default());
    // The largest window for the streams and for the connection.
    let window = (1 << 31) - 1;
    let bytes = [h2(window, 4), frame(8, 0, 0, &(window - 65_535).to_be_bytes())].concat();
    let mut socket = send(&server, bytes).await;
    let (mut ended, mut length) = (0, 0);
    while ended < 4 {
        let frame = timeout(Duration::from_secs(30), read_whole_frame(&mut socket)).await.unwrap();
        if let (0, flags, size) = frame.expect("the connection is open") {
            length += size;
            ended += flags & 1;
        }
    }
    let request = "GET /openapi.json HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    let whole = until_closed(send(&server, request).await).await;
    let body = whole.split_once("\r\n\r\n").unwrap().1;
    assert!(body.len() > 64 * 1024 && length == 4 * body.len(), "{length} {}", body.len());
}

#[tokio::test]
async fn connections_with_unread_responses_close_and_other_clients_are_answered() {
    let server = server(Config { responses_limit: 1024 * 1024, ..Config::default() });
    let mut greedy = Vec::new();
    for _ in 0..4 {
        let mut socket = send(&server, h2(0, STREAMS)).await;
        // Until all are answered, or the connection is closed. Right after the server has closed one for its memory, it
        // refuses responses instead.
        let mut answered = 0;
        while answered < STREAMS
            && let Some(kind) = timeout(Duration::from_secs(5), read_frame(&mut socket)).await.unwrap()
        {
            answered += u32::from(kind == HEADERS);
        }
        tokio::time::sleep(REST).await;
        greedy.push(socket);
    }
    let request = "GET /get_main_info HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    for _ in 0..4 {
        let answer = until_closed(send(&server, request).await).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer:.100}");
    }
    let mut closed = 0;
    for mut socket in greedy {
        let reads = async { while read_frame(&mut socket).await.is_some() {} };
        closed += usize::from(timeout(Duration::from_secs(2), reads).await.is_ok());
    }
    assert!(closed >= 2, "four connections held half a mebibyte each");
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_a_client_without_a_window() {
    let short = Duration::from_millis(200);
    let server = server(Config { shutdown_timeout: short, ..Config::default() });
    let mut socket = send(&server, h2(0, 1)).await;
    while read_frame(&mut socket).await != Some(1) {}
    server.stop.send(()).unwrap();
    timeout(Duration::from_secs(20), server.served).await.unwrap().unwrap().unwrap();
}

#[cfg(unix)]
#[test]
fn files_are_reserved_for_the_database() {
    assert_eq!(room_of(100_000, 10_000), 10_000);
    assert_eq!(room_of(10_256, 10_000), 10_000);
    assert_eq!(room_of(1_024, 10_000), 768);
    assert_eq!(room_of(256, 10_000), 192);
    assert_eq!(room_of(0, 10_000), 1);
}
