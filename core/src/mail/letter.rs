//! What a mail says, before it is written.

use zeroize::Zeroizing;

/// A mail before it is written.
pub(crate) struct Letter {
    /// The address of the recipient.
    pub(crate) to: String,
    pub(crate) text: Text,
    /// The id of the member; empty if nobody is one yet.
    pub(crate) id: String,
    pub(crate) code: Option<Zeroizing<String>>,
    pub(crate) link: Option<String>,
}

/// The text of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// A code that confirms an address.
    Confirm,
    /// Somebody gave the address, which is that of another account.
    Taken,
    /// A code for a new password.
    Reset,
    PasswordChanged,
    AddressChanged,
    /// Another address was given in place of this one.
    AddressProposed,
    SignInChanged,
    /// A code with which somebody signs up.
    Invite,
    Test,
}
