//! What the issuer says about itself: its addresses and its keys.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use openidconnect::core::{
    CoreAuthDisplay, CoreClaimName, CoreClaimType, CoreClientAuthMethod, CoreGrantType, CoreJsonWebKey,
    CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm, CoreResponseMode, CoreResponseType,
    CoreSubjectIdentifierType,
};
use openidconnect::{AdditionalProviderMetadata, DiscoveryError, IssuerUrl, ProviderMetadata};
use serde::{Deserialize, Serialize};

use super::issuer::Transport;
use super::{Denied, UNAVAILABLE};
use crate::base::clock::{Clock, HOUR_MS, SECOND_MS, Timestamp};

/// The time for which what the issuer says about itself is kept.
const KEPT_MS: i64 = HOUR_MS;
/// The minimum time between two requests for it, also while the issuer does not answer.
const AGAIN_MS: i64 = 10 * SECOND_MS;

/// What an issuer says about itself besides what the library reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Further {
    /// Whether it names itself when it sends people back (RFC 9207).
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl AdditionalProviderMetadata for Further {}

/// What an issuer offers.
pub(super) type Metadata = ProviderMetadata<
    Further,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

/// What an issuer offers, kept for a while.
#[derive(Default)]
pub(super) struct Offer {
    known: Mutex<Known>,
    /// Held while the issuer is asked.
    turn: Mutex<()>,
}

/// What is known already.
#[derive(Default)]
struct Known {
    metadata: Option<Arc<Metadata>>,
    /// The time of the latest request for it, and of the latest answer.
    asked: Option<Timestamp>,
    answered: Option<Timestamp>,
}

impl Offer {
    /// Returns what the issuer says about itself: what is known already, unless it is old or it is `outdated`.
    ///
    /// # Errors
    /// When nothing is known, and the issuer does not answer.
    pub(super) fn get(
        &self,
        outdated: Option<&Arc<Metadata>>,
        clock: &Clock,
        ask: impl FnOnce() -> Result<Metadata, String>,
    ) -> Result<Arc<Metadata>, Denied> {
        let is_fit =
            |metadata: &Arc<Metadata>| outdated.is_none_or(|outdated| !Arc::ptr_eq(outdated, metadata));
        let since = |at: Option<Timestamp>| at.map_or(i64::MAX, |at| (clock.now() - at).abs());
        let fresh = |known: &Known| {
            known.metadata.clone().filter(|metadata| is_fit(metadata) && since(known.answered) < KEPT_MS)
        };
        if let Some(metadata) = fresh(&self.known()) {
            return Ok(metadata);
        }
        // One asks; the others go on with what is known, and wait only if that is nothing.
        let known = self.known().metadata.clone().filter(is_fit);
        let turn = match (self.turn.try_lock(), known) {
            (Ok(turn), _) => turn,
            (Err(_), Some(known)) => return Ok(known),
            (Err(_), None) => self.turn.lock().unwrap_or_else(PoisonError::into_inner),
        };
        // Another one may have asked meanwhile.
        let known = self.known();
        let (found, is_due) = (fresh(&known), since(known.asked) >= AGAIN_MS);
        drop(known);
        if let Some(metadata) = found {
            return Ok(metadata);
        }
        if is_due {
            let answer = ask();
            let mut known = self.known();
            known.asked = Some(clock.now());
            match answer {
                Ok(metadata) => (known.metadata, known.answered) = (Some(Arc::new(metadata)), known.asked),
                Err(error) => {
                    tracing::warn!(%error, "the issuer did not say what it offers");
                }
            }
        }
        drop(turn);
        self.known().metadata.clone().ok_or(UNAVAILABLE)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // What it protects is replaced at once, so it is valid after a panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the issuer what it offers.
///
/// # Errors
/// Why it did not answer.
pub(super) fn ask(url: &IssuerUrl, transport: &dyn Transport) -> Result<Metadata, String> {
    Metadata::discover(url, &|request| transport.send(request)).map_err(|error| match error {
        DiscoveryError::Request(failure) => failure.to_string(),
        error => error.to_string(),
    })
}
