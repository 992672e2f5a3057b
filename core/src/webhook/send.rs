//! Signs a delivery, and sends it over HTTP. Source: Standard Webhooks 1.0, <https://www.standardwebhooks.com>.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use data_encoding::BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::base::clock::{SECOND_MS, Timestamp};
use crate::base::random::random;
use crate::record::error::Result;
use crate::record::jobs::{Failed, Transport};
use crate::record::outgoing;

/// For connecting, and for each step after that.
const STEP: Duration = Duration::from_secs(5);
/// For an attempt.
const WHOLE: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read, so that a receiver can end it normally.
const ANSWER_MAX: u64 = 4 << 10;

const PREFIX: &str = "whsec_";
/// Random bytes.
const SECRET: usize = 32;

pub(super) struct Outgoing {
    pub(super) id: String,
    pub(super) url: String,
    pub(super) secrets: Vec<Zeroizing<String>>,
    pub(super) body: String,
    pub(super) at: Timestamp,
}

pub(super) struct Http(ureq::Agent);

impl Http {
    pub(super) fn new(allows_private: bool, ca: Option<&Path>) -> Result<Self> {
        let config = ureq::Agent::config_builder()
            .https_only(!allows_private)
            .timeout_global(Some(WHOLE))
            .timeout_resolve(Some(STEP))
            .timeout_connect(Some(STEP))
            .timeout_send_request(Some(STEP))
            .timeout_send_body(Some(STEP))
            .timeout_recv_response(Some(STEP))
            .timeout_recv_body(Some(STEP))
            .user_agent(outgoing::USER_AGENT);
        Ok(Self(outgoing::agent(config, allows_private, ca)?))
    }
}

impl Transport<Outgoing> for Http {
    fn send(&self, outgoing: &Outgoing) -> Result<(), Failed> {
        let Outgoing { id, url, secrets, body, at } = outgoing;
        let seconds = at.as_millis().div_euclid(SECOND_MS);
        let request = self
            .0
            .post(url)
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds.to_string())
            .header("webhook-signature", signatures(secrets, id, seconds, body));
        let answer = request.send(body.as_str()).map_err(|error| outgoing::reason(&error))?;
        let status = answer.status();
        // The content has no meaning, so an error in it has none either.
        let _ = answer.into_body().into_reader().take(ANSWER_MAX).read_to_end(&mut Vec::new());
        if status.is_success() { Ok(()) } else { Err(format!("status {}", status.as_u16()).into()) }
    }
}

pub(super) fn secret() -> Zeroizing<String> {
    let bytes = Zeroizing::new(random::<SECRET>());
    let encoded = Zeroizing::new(BASE64.encode(&*bytes));
    Zeroizing::new(format!("{PREFIX}{}", *encoded))
}

/// A signature with each of the secrets, separated by spaces.
fn signatures(secrets: &[Zeroizing<String>], id: &str, seconds: i64, body: &str) -> String {
    let signed = secrets.iter().filter_map(|secret| signature(secret, id, seconds, body));
    signed.collect::<Vec<_>>().join(" ")
}

/// `None` if the secret is malformed.
fn signature(secret: &str, id: &str, seconds: i64, body: &str) -> Option<String> {
    let key = Zeroizing::new(BASE64.decode(secret.strip_prefix(PREFIX)?.as_bytes()).ok()?);
    let mac = Hmac::<Sha256>::new_from_slice(&key).ok()?;
    let mac = mac.chain_update(format!("{id}.{seconds}.")).chain_update(body);
    Some(format!("v1,{}", BASE64.encode(&mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;
    use crate::testing::NOW;

    fn outgoing(url: &str) -> Outgoing {
        let (id, body) = ("6560c1a2ffeeddccbbaa0001".into(), "{}".into());
        Outgoing { id, url: url.into(), secrets: vec![secret()], body, at: NOW }
    }

    fn answering(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook?key=1", listener.local_addr().unwrap());
        let thread = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"{}") {
                let mut part = [0; 4096];
                let n = socket.read(&mut part).unwrap();
                assert!(n > 0);
                request.extend_from_slice(&part[..n]);
            }
            socket.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(request).unwrap()
        });
        (url, thread)
    }

    #[test]
    fn a_delivery_is_a_signed_post_and_succeeds_with_a_status_2xx_only() {
        let (url, receiver) = answering("HTTP/1.1 204 No Content\r\n\r\n");
        let sent = outgoing(&url);
        assert_eq!(Http::new(true, None).unwrap().send(&sent), Ok(()));
        let request = receiver.join().unwrap();
        assert!(request.starts_with("POST /hook?key=1 HTTP/1.1\r\n"), "{request}");
        let signature = signatures(&sent.secrets, &sent.id, 1_795_163_760, "{}");
        for header in [
            "webhook-id: 6560c1a2ffeeddccbbaa0001".to_owned(),
            "webhook-timestamp: 1795163760".to_owned(),
            format!("webhook-signature: {signature}"),
            "content-type: application/json".to_owned(),
        ] {
            assert!(request.contains(&format!("\r\n{header}\r\n")), "{header}\n{request}");
        }
        for (answer, expected) in [
            ("HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n", "status 500"),
            (
                "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
                "status 302",
            ),
            ("nonsense\r\n\r\n", "the request failed"),
        ] {
            let (url, receiver) = answering(answer);
            assert_eq!(Http::new(true, None).unwrap().send(&outgoing(&url)), Err(expected.into()));
            receiver.join().unwrap();
        }
    }

    #[test]
    fn a_private_address_is_refused_without_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
            let refused = Http::new(false, None).unwrap().send(&outgoing(&format!("https://{host}:{port}/")));
            assert_eq!(refused, Err("the host has a private address".into()), "{host}");
        }
        let plain = Http::new(false, None).unwrap().send(&outgoing(&format!("http://127.0.0.1:{port}/")));
        assert_eq!(plain, Err("http:// is not allowed".into()));
        assert!(listener.accept().is_err(), "nothing has connected");
    }

    #[test]
    fn a_signature_is_that_of_the_specification() {
        // From the test of the reference implementation.
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let signed =
            signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signed.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn each_secret_signs() {
        let secrets = [secret(), secret()];
        assert_ne!(*secrets[0], *secrets[1]);
        assert_eq!(BASE64.decode(&secrets[0].as_bytes()[PREFIX.len()..]).unwrap().len(), SECRET);
        let both = signatures(&secrets, "1", 2, "{}");
        let parts: Vec<_> = both.split(' ').collect();
        assert_eq!(parts, [signatures(&secrets[..1], "1", 2, "{}"), signatures(&secrets[1..], "1", 2, "{}")]);
        assert_eq!(signatures(&[Zeroizing::new("whsec_!".into())], "1", 2, "{}"), "");
    }
}
