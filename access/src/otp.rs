//! The second factor of the acting member.

use serde::Serialize;
use tidings_core::account::{self, BeginOtp, OtpSecret, OtpStatus, RecoveryCodes};

use crate::Service;
use crate::error::Result;

/// A password and a code.
#[derive(Serialize)]
struct Both<'a> {
    pw: &'a str,
    otp: &'a str,
}

impl Service {
    /// Returns the state of the acting member's second factor.
    ///
    /// # Errors
    /// Those of [`account::otp_status`].
    pub fn otp_status(&self) -> Result<OtpStatus> {
        self.run(account::otp_status, |server| server.get(&["get_otp"], &[]))
    }

    /// Makes a secret for the acting member's authenticator.
    ///
    /// # Errors
    /// Those of [`account::begin_otp`].
    pub fn begin_otp(&self, form: &BeginOtp) -> Result<OtpSecret> {
        #[derive(Serialize)]
        struct Form<'a> {
            pw: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            enrolment_code: Option<&'a str>,
        }
        let BeginOtp { pw, enrolment_code } = form;
        self.run(
            |tidings, caller| account::begin_otp(tidings, caller, form, None),
            |server| server.post(&["begin_otp"], &Form { pw, enrolment_code: enrolment_code.as_deref() }),
        )
    }

    /// Enables the acting member's second factor with the first code of their authenticator.
    ///
    /// # Errors
    /// Those of [`account::enable_otp`].
    pub fn enable_otp(&self, otp: &str) -> Result<RecoveryCodes> {
        #[derive(Serialize)]
        struct Form<'a> {
            otp: &'a str,
        }
        self.run(
            |tidings, caller| account::enable_otp(tidings, caller, otp, None),
            |server| server.post(&["enable_otp"], &Form { otp }),
        )
    }

    /// Disables the acting member's second factor.
    ///
    /// # Errors
    /// Those of [`account::disable_otp`].
    pub fn disable_otp(&self, pw: &str, otp: &str) -> Result<()> {
        self.run(
            |tidings, caller| account::disable_otp(tidings, caller, pw, otp, None),
            |server| server.posted(&["disable_otp"], &Both { pw, otp }),
        )
    }

    /// Replaces the acting member's recovery codes.
    ///
    /// # Errors
    /// Those of [`account::renew_recovery_codes`].
    pub fn renew_recovery_codes(&self, pw: &str, otp: &str) -> Result<RecoveryCodes> {
        self.run(
            |tidings, caller| account::renew_recovery_codes(tidings, caller, pw, otp, None),
            |server| server.post(&["renew_recovery_codes"], &Both { pw, otp }),
        )
    }
}
