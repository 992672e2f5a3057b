//! A receiver of webhooks and of other requests with a body: a small HTTP server that keeps what it gets.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use data_encoding::{BASE64, HEXLOWER};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

#[derive(Clone, Debug)]
pub struct Delivery {
    /// The headers, with names in lower case.
    headers: Vec<(String, String)>,
    body: String,
}

/// A receiver on a free port of this machine. It runs until the end of the process.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    status: AtomicU16,
    deliveries: Mutex<Vec<Delivery>>,
}

impl Receiver {
    pub fn start(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State { status: status.into(), deliveries: Mutex::default() });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                // A server that was killed leaves an incomplete request.
                let _ = shared.answer(socket);
            }
        });
        Self { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub fn answer_with(&self, status: u16) {
        self.state.status.store(status, Ordering::Release);
    }

    /// Returns what it got, oldest first.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.state.deliveries.lock().unwrap().clone()
    }
}

impl State {
    fn answer(&self, socket: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(socket);
        let (mut line, mut headers) = (String::new(), Vec::new());
        reader.read_line(&mut line)?;
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.and_then(|(_, value)| value.parse().ok());
        let length = length.ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body = String::from_utf8_lossy(&body).into_owned();
        self.deliveries.lock().unwrap().push(Delivery { headers, body });
        let status = self.status.load(Ordering::Acquire);
        write!(reader.get_mut(), "HTTP/1.1 {status} Status\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    }
}

impl Delivery {
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(header, _)| header == name);
        &found.unwrap_or_else(|| panic!("no header {name}: {self:?}")).1
    }

    pub fn field(&self, name: &str) -> String {
        let found = url::form_urlencoded::parse(self.body.as_bytes()).find(|(field, _)| field == name);
        found.unwrap_or_else(|| panic!("no field {name}: {self:?}")).1.into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub fn is_signed_with(&self, secret: &str) -> bool {
        let key = BASE64.decode(secret.strip_prefix("whsec_").unwrap().as_bytes()).unwrap();
        let (id, time) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        let mac = mac.chain_update(format!("{id}.{time}.{}", self.body));
        let expected = format!("v1,{}", BASE64.encode(&mac.finalize().into_bytes()));
        self.header("webhook-signature").split(' ').any(|signature| signature == expected)
    }
}

/// Returns the signature of a hub of `WebSub` for a body.
pub fn hub_signature(key: &str, body: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap().chain_update(body);
    format!("sha256={}", HEXLOWER.encode(&mac.finalize().into_bytes()))
}
