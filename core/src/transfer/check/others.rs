use super::{Check, Run};
use crate::account::credential::oidc;
use crate::base::config::Config;
use crate::mail;

const MAIL: &str = "mail";
const ISSUER: &str = "single_sign_on";

pub(super) fn check(run: &mut Run<'_>, config: &Config) {
    if config.mail.is_on() {
        run.begin(MAIL);
        run.add(match mail::check(config) {
            Ok(()) => Check::new(MAIL, true, "the mail server answers, and accepts the sign-in"),
            Err(why) => Check::new(MAIL, false, format!("{why}; correct smtp-url and the settings after it")),
        });
    }
    if config.oidc.is_on() {
        run.begin(ISSUER);
        run.add(match oidc::check(config) {
            Ok(()) => Check::new(ISSUER, true, "the issuer answers, and names its keys"),
            Err(why) => {
                Check::new(ISSUER, false, format!("{why}; correct oidc-issuer and the settings after it"))
            }
        });
    }
}
