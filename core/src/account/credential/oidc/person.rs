//! A person at the issuer: their claims, and whether they may sign in here.

use serde_json::Value;

use super::id_token::Claims;
use super::{ACCESS_DENIED, Denied, EMAIL, EMAIL_VERIFIED, NAME, SERVER_ERROR, SUBJECT};
use crate::account::credential::verify::{university_id, university_name};
use crate::base::config::Oidc;
use crate::mail::address::Address;

/// In characters (OpenID Connect Core 1.0 section 2).
const SUBJECT_MAX: usize = 255;

#[derive(Clone, Debug)]
pub(super) struct Person {
    /// The issuer's identifier, which never becomes that of another person.
    pub(super) subject: String,
    /// The id of a new member; `None` if the issuer has none that can be one.
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// The address, if the issuer has verified that it is theirs.
    pub(super) email: Option<Address>,
}

impl Person {
    pub(super) fn new(oidc: &Oidc, claims: &Claims) -> Result<Self, Denied> {
        let text = |name: &str| claim(claims, name).and_then(Value::as_str).unwrap_or_default();
        // Some issuers send it as a string.
        let is_verified =
            matches!(claims.get(EMAIL_VERIFIED), Some(Value::Bool(true))) || text(EMAIL_VERIFIED) == "true";
        let email = if is_verified { Address::parse(text(EMAIL)) } else { None };
        let subject = text(SUBJECT);
        if subject.is_empty() || subject.chars().count() > SUBJECT_MAX {
            return Err(Denied::new(SERVER_ERROR, "the issuer does not say who this is"));
        }
        let denied = |why| Err(Denied::new(ACCESS_DENIED, why));
        if !is_of_domains(&oidc.domains, email.as_ref()) {
            return denied("only people with a verified address of certain domains sign in here");
        }
        if !is_of_groups(&oidc.groups, claim(claims, &oidc.groups_claim)) {
            return denied("only people of certain groups sign in here");
        }
        Ok(Self {
            subject: subject.to_owned(),
            id: university_id(text(&oidc.id_claim)).map(std::borrow::Cow::into_owned),
            name: university_name(text(NAME)),
            email,
        })
    }
}

/// A name may have dots, or be a path into other claims, such as `realm_access.roles`.
pub(super) fn claim<'c>(claims: &'c Claims, name: &str) -> Option<&'c Value> {
    let inner = |(at, _)| claim(claims.get(&name[..at])?.as_object()?, &name[at + 1..]);
    claims.get(name).or_else(|| name.match_indices('.').find_map(inner))
}

fn is_of_domains(domains: &[String], email: Option<&Address>) -> bool {
    domains.is_empty() || email.is_some_and(|email| domains.iter().any(|domain| email.is_of(domain)))
}

fn is_of_groups(groups: &[String], claim: Option<&Value>) -> bool {
    let is_permitted =
        |group: &Value| group.as_str().is_some_and(|name| groups.iter().any(|one| one == name));
    groups.is_empty()
        || match claim {
            Some(Value::Array(of)) => of.iter().any(is_permitted),
            Some(one) => is_permitted(one),
            None => false,
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn person(oidc: &Oidc, more: &Value) -> Result<Person, Denied> {
        let mut claims = json!({ "sub": "7f3", "preferred_username": "ann", "name": "Ann  Lee\n" });
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Person::new(oidc, claims.as_object().unwrap())
    }

    #[test]
    fn the_settings_say_which_claim_is_the_id() {
        let found = person(&Oidc::default(), &json!({ "dept": "Music" })).unwrap();
        assert_eq!((found.subject.as_str(), found.id.as_deref()), ("7f3", Some("ann")));
        assert_eq!(found.name, "Ann  Lee");
        let oidc = Oidc { id_claim: "student".into(), ..Oidc::default() };
        let found = person(&oidc, &json!({ "dept": "Music", "student": 2_026 })).unwrap();
        assert_eq!((found.id, found.name.as_str()), (None, "Ann  Lee"));
        for id in ["guest", "", " ann", "a\u{200b}nn"] {
            let found = person(&Oidc::default(), &json!({ "preferred_username": id })).unwrap();
            assert_eq!(found.id, None, "{id:?}");
        }
    }

    #[test]
    fn only_a_verified_address_counts() {
        let email = |verified: Value| {
            let claims = json!({ "email": "Ann@Example.org", "email_verified": verified });
            person(&Oidc::default(), &claims).unwrap().email.map(|email| email.folded())
        };
        for verified in [json!(true), json!("true")] {
            assert_eq!(email(verified).as_deref(), Some("ann@example.org"));
        }
        for verified in [json!(false), json!(null), json!(1), json!("yes"), json!([true])] {
            assert_eq!(email(verified.clone()), None, "{verified}");
        }
    }

    #[test]
    fn domains_and_groups_decide_who_may_sign_in() {
        let domains = ["example.org", "@campus.example", "도서관.example"].map(String::from).into();
        let domains = Oidc { domains, ..Oidc::default() };
        let may = "ann@example.org ann@CAMPUS.example kim@도서관.example kim@도서관.EXAMPLE. kim@xn--zb0b81k2qm.example";
        let others = "ann@evil-example.org ann@sub.example.org example.org";
        for (emails, verified, may) in
            [(may, true, true), ("ann@example.org", false, false), (others, true, false), ("", true, false)]
        {
            for email in emails.split(' ') {
                let claims = json!({ "email": email, "email_verified": verified });
                assert_eq!(person(&domains, &claims).is_ok(), may, "{email}");
            }
        }
        let groups = Oidc { groups: vec!["staff".into(), "students".into()], ..Oidc::default() };
        for (claim, may) in [
            (json!(["guests", "staff"]), true),
            (json!("students"), true),
            (json!(["Staff"]), false),
            (json!("staff,guests"), false),
            (json!({ "staff": true }), false),
            (json!(null), false),
        ] {
            assert_eq!(person(&groups, &json!({ "groups": claim })).is_ok(), may, "{claim}");
        }
        assert!(person(&groups, &json!({})).is_err());
    }

    #[test]
    fn a_person_without_an_identifier_is_refused() {
        for subject in [json!(""), json!(7), json!(null), json!("s".repeat(256))] {
            assert!(person(&Oidc::default(), &json!({ "sub": subject })).is_err());
        }
    }
}
