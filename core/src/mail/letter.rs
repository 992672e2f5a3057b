use zeroize::Zeroizing;

pub(crate) struct Letter {
    pub(crate) to: String,
    pub(crate) text: Text,
    /// Empty if there is no member yet.
    pub(crate) id: String,
    pub(crate) code: Option<Zeroizing<String>>,
    pub(crate) link: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    Confirm,
    /// The address was given for one account and is that of another.
    Taken,
    Reset,
    PasswordChanged,
    AddressChanged,
    AddressProposed,
    SignInChanged,
    Invite,
    Test,
}
