//! Signed texts that a browser or an app keeps for the service: their content was checked when they were made.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use hmac::Mac as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::Tidings;
use crate::audit::trail::hex;

/// Each kind of text has its own `purpose`, so that none is read as another.
pub(super) fn seal(tidings: &Tidings, purpose: &str, value: &impl Serialize) -> String {
    let json = Zeroizing::new(serde_json::to_vec(value).expect("texts and numbers become JSON"));
    let payload = BASE64URL_NOPAD.encode(&json);
    let [key, _] = tidings.keys().hashers();
    let signature = hex(&key.chain_update(purpose).chain_update(&payload).finalize().into_bytes());
    format!("{payload}.{signature}")
}

/// Returns `None` if the service has not sealed the text for this purpose.
pub(super) fn open<T: DeserializeOwned>(tidings: &Tidings, purpose: &str, text: &str) -> Option<T> {
    let (payload, signature) = text.split_once('.')?;
    let signature = HEXLOWER.decode(signature.as_bytes()).ok()?;
    let is_signed = tidings
        .keys()
        .hashers()
        .into_iter()
        .any(|key| key.chain_update(purpose).chain_update(payload).verify_slice(&signature).is_ok());
    let json = Zeroizing::new(BASE64URL_NOPAD.decode(payload.as_bytes()).ok().filter(|_| is_signed)?);
    serde_json::from_slice(&json).ok()
}
