//! The settings of passkeys.

use crate::base::config::Config;
use crate::base::config::setting::{Form, Setting, field};

pub(super) const SETTINGS: &[Setting<Config>] = &[
    Setting::new(
        "passkey-domain",
        Form::Text,
        field!(Config, passkeys.domain),
        "The domain of the apps in whose browsers members sign in with passkeys, such as app.example",
    )
    .takes("DOMAIN")
    .unset("none, and there are no passkeys"),
    Setting::new(
        "passkey-origins",
        Form::List,
        field!(Config, passkeys.origins),
        "An origin of such an app, at the domain or below; may be repeated",
    )
    .takes("ORIGIN")
    .unset("https:// and the domain"),
];
