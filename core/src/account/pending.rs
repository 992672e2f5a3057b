//! Pending changes to an account, which wait for a code or a further step, and which another person may have begun.

use crate::record::id::MemberKey;
use crate::store::{StoreError, Tx};

#[cfg(test)]
mod tests;

/// Withdraws all pending changes of a member, or of all members: a proposed address, the codes of addresses, new passwords,
/// single sign-ons and enrolments, queued mail with such a code, and a second factor that is not enabled yet.
///
/// Everything that ends sessions calls it. Otherwise a person who has had the account for a moment could get it back with a code.
pub(super) fn withdraw(tx: &mut dyn Tx, member: Option<MemberKey>) -> Result<(), StoreError> {
    let (of, of_mail) = match member {
        None => ("TRUE", "TRUE"),
        Some(_) => (
            "member = $1",
            // A queued mail names an id or an address, not the member, until it is sent.
            "(member = $1 OR asked IN (SELECT folded FROM member WHERE key = $1
                                       UNION ALL SELECT folded FROM member_email WHERE member = $1))",
        ),
    };
    let args: Vec<_> = member.into_iter().map(Into::into).collect();
    for (change, of) in [
        ("DELETE FROM mail WHERE kind IN ('confirm', 'reset')", of_mail),
        (
            "UPDATE member_email SET pending = NULL, link = NULL, code = NULL, expires = NULL WHERE pending IS NOT NULL",
            of,
        ),
        ("DELETE FROM reset_code WHERE TRUE", of),
        // The row stays, so that the flow does not come back.
        ("UPDATE oidc_sign_in SET code = NULL WHERE code IS NOT NULL", of),
        ("DELETE FROM enrolment_code WHERE TRUE", of),
        ("DELETE FROM second_factor WHERE enabled IS NULL", of),
    ] {
        tx.run(&format!("{change} AND {of}"), &args)?;
    }
    Ok(())
}
