//! The settings of single sign-on.

use crate::base::config::Config;
use crate::base::config::setting::{Form, Setting, field};

pub(super) const SETTINGS: &[Setting<Config>] = &[
    Setting::new(
        "oidc-issuer",
        Form::Text,
        field!(Config, oidc.issuer),
        "The issuer of OpenID Connect with which people sign in, such as https://login.campus.example",
    )
    .takes("URL")
    .unset("none, and there is no single sign-on"),
    Setting::new(
        "oidc-client-id",
        Form::Text,
        field!(Config, oidc.client_id),
        "The name that the issuer has given to this service",
    )
    .takes("ID")
    .unset("none"),
    Setting::new(
        "oidc-client-secret",
        Form::Secret,
        field!(Config, oidc.client_secret),
        "The secret that the issuer has given to this service",
    )
    .unset("the secret in its file"),
    Setting::new(
        "oidc-client-secret-file",
        Form::Text,
        field!(Config, oidc.client_secret_file),
        "A file with the secret that the issuer has given to this service; `TIDINGS_OIDC_CLIENT_SECRET` holds the secret \
         itself",
    )
    .takes("FILE")
    .unset("none"),
    Setting::new(
        "oidc-ca",
        Form::Text,
        field!(Config, oidc.ca),
        "A PEM file with certificates of authorities that the connection to the issuer trusts too",
    )
    .takes("FILE")
    .unset("none"),
    Setting::new(
        "oidc-pages",
        Form::List,
        field!(Config, oidc.pages),
        "A page of an app to which people may return, compared exactly; may be repeated, and the first is the default",
    )
    .takes("URL")
    .unset("none"),
    Setting::new(
        "oidc-scopes",
        Form::List,
        field!(Config, oidc.scopes),
        "What the issuer is asked for besides openid; may be repeated",
    )
    .takes("SCOPE"),
    Setting::new(
        "oidc-id-claim",
        Form::Text,
        field!(Config, oidc.id_claim),
        "The claim of the issuer with the id of a new member",
    )
    .takes("CLAIM"),
    Setting::new(
        "oidc-name-claim",
        Form::Text,
        field!(Config, oidc.name_claim),
        "The claim of the issuer with the name of a member",
    )
    .takes("CLAIM"),
    Setting::new(
        "oidc-major-claim",
        Form::Text,
        field!(Config, oidc.major_claim),
        "The claim of the issuer with the major of a member",
    )
    .takes("CLAIM")
    .unset("none"),
    Setting::new(
        "oidc-groups-claim",
        Form::Text,
        field!(Config, oidc.groups_claim),
        "The claim of the issuer with the groups of a person",
    )
    .takes("CLAIM"),
    Setting::new(
        "oidc-groups",
        Form::List,
        field!(Config, oidc.groups),
        "Only people of this group may sign in with the issuer; may be repeated",
    )
    .takes("GROUP")
    .unset("everyone"),
    Setting::new(
        "oidc-domains",
        Form::List,
        field!(Config, oidc.domains),
        "Only people whose verified e-mail address is of this domain may sign in with the issuer; may be repeated",
    )
    .takes("DOMAIN")
    .unset("everyone"),
];
