//! Who signs in to the server that `--server` names.

use tidings_access::Server;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::global::Global;

/// The variable with an API key or an access token.
const KEY: &str = "TIDINGS_SERVER_KEY";

/// Returns the server that the options name; `None` if they name a database.
///
/// # Errors
/// When the key is not text.
pub(crate) fn server(global: &Global) -> Result<Option<Server>, Failure> {
    let Some(address) = &global.server else { return Ok(None) };
    let key = match std::env::var(KEY) {
        Ok(key) => Some(Zeroizing::new(key.trim().to_owned())).filter(|key| !key.is_empty()),
        Err(std::env::VarError::NotPresent) => None,
        Err(std::env::VarError::NotUnicode(_)) => {
            return Err(Failure::usage(format!("{KEY} is neither an API key nor an access token")));
        }
    };
    Ok(Some(Server::new(address.clone(), key, global.acting.as_deref())))
}
