//! Shutdown: the server finishes running requests, loses no data, and exits with status 0.

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;
use tidings_tests::{PASSWORD, Server, read_answer, sample, wait_until};

#[test]
fn a_stopped_server_answers_what_runs_loses_no_view_and_leaves_one_file() {
    let mut server = Server::start();
    let admin = server.admin();
    let notice = admin.post("/insert_notice", sample::notice("Notice")).succeeded().text("/_id");
    let post = admin.post("/insert_post", sample::post("Post")).succeeded().text("/_id");
    for _ in 0..20 {
        let _ = server.anyone().get(&format!("/get_notice/{notice}")).succeeded();
        let _ = server.anyone().get(&format!("/post_view/{post}")).succeeded();
    }
    let form = json!({ "id": "ann", "pw": PASSWORD, "pw_check": PASSWORD, "nickname": "x" }).to_string();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head =
        "POST /sign_up HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n", form.len()).unwrap();
    // The server asks for the body, which shows that the request has begun to run.
    let mut asked = [0; 25];
    stream.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    let begin = Instant::now();
    let stopped = std::thread::scope(|scope| {
        let address = server.address();
        let stopping = scope.spawn(|| server.stop());
        wait_until("the server accepts no new connection", || TcpStream::connect(address).is_err());
        stream.write_all(form.as_bytes()).unwrap();
        assert_eq!(read_answer(&mut BufReader::new(&stream)).unwrap().outcome(), "200 success");
        stopping.join().unwrap()
    });
    assert_eq!(stopped.status.code(), Some(0), "{}", stopped.log);
    assert!(begin.elapsed() < Duration::from_secs(5), "an idle connection delays no shutdown");
    let wal = server.database().with_extension("db-wal");
    assert!(!wal.exists() || std::fs::metadata(&wal).unwrap().len() == 0, "the log is written back");
    assert_eq!(server.integrity(), "ok");
    server.restart();
    let answer = server.anyone().post("/sign_in", json!({ "id": "ann", "pw": PASSWORD }));
    assert_eq!(answer.outcome(), "200 success");
    assert_eq!(server.anyone().get("/get_all_notice").column("notice_list", "view"), ["20"]);
    let reads = admin.get(&format!("/get_notice_reads/{notice}?days=7")).succeeded();
    // The day may have ended during the test.
    let reads = reads.list("notice_reads").iter().map(|day| day["reads"].as_i64().unwrap());
    assert_eq!((reads.len(), reads.sum::<i64>()), (7, 20));
    let post = server.anyone().get(&format!("/get_post/{post}")).succeeded();
    assert_eq!(post.body["post"]["view"], 20);
}

#[test]
fn a_delayed_stop_answers_first_and_closes_connections() {
    let mut server = Server::with(|serve| {
        serve.args(["--stop-delay", "3"]);
    });
    let connect = || {
        let stream = TcpStream::connect(server.address()).unwrap();
        (stream.try_clone().unwrap(), BufReader::new(stream))
    };
    let ask = |(writer, reader): &mut (TcpStream, BufReader<TcpStream>), path: &str| {
        write!(writer, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        read_answer(reader).unwrap()
    };
    let mut kept = connect();
    let answer = ask(&mut kept, "/readyz");
    assert_eq!((answer.status, answer.header("connection")), (200, ""));
    let begin = Instant::now();
    let pid = rustix::process::Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    wait_until("the server is not ready", || server.anyone().get("/readyz").status == 503);
    let answer = ask(&mut kept, "/get_all_notice");
    assert_eq!((answer.outcome().as_str(), answer.header("connection")), ("200 success", "close"));
    assert_eq!(ask(&mut connect(), "/healthz").outcome(), "200 success", "new connections are answered");
    assert!(begin.elapsed() < Duration::from_secs(3), "the machine is too slow for this test");
    let stopped = server.stop();
    assert_eq!(stopped.status.code(), Some(0), "{}", stopped.log);
    assert!(begin.elapsed() >= Duration::from_secs(3), "{:?}", begin.elapsed());
}
