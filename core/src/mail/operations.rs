use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::address::{Address, RULE};
use super::letter::{Letter, Text};
use super::outbox::MAIL_IS_OFF;
use super::smtp::{Outgoing, Smtp};
use super::templates::Templates;
use super::{LIST_MAX, Mail, Mails};
use crate::account::{Admin, Call, Identity, Transaction};
use crate::audit::trail::{Action, Entry};
use crate::record::error::{Error, Result};
use crate::record::id::{MemberKey, ObjectId};
use crate::record::jobs::Transport as _;
use crate::record::operation::{Access, Failure, Operation, Spec, Work};
use crate::record::scope::Scope;
use crate::store::{StoreError, Tx};

const GROUP: &str = "admin";
const ADMINS: Access = Access::Admins(Scope::Members);

/// List pending and failed mail
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct List {}

impl Transaction for List {
    type By = Admin<'static>;
    type Answer = Mails;
    const SPEC: Spec = Spec::get(GROUP, "/get_mails", ADMINS);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<Mails> {
        Ok(Mails { mails: sql::list(tx, admin, None, LIST_MAX)? })
    }
}

pub(crate) fn latest(
    tx: &mut dyn Tx,
    admin: &Admin<'_>,
    member: MemberKey,
) -> Result<Option<Mail>, StoreError> {
    Ok(sql::list(tx, admin, Some(member), 1)?.pop())
}

/// Retry a mail
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Retry {
    /// The id of the mail
    #[schema(min_length = 1, max_length = 1_000, examples("6560c1a2ffeeddccbbaa0001"))]
    pub mail_obi: String,
}

impl Transaction for Retry {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::get(GROUP, "/retry_mail/{mail_obi}", ADMINS).writes().or(&[Failure::Missing]);

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, identity: &Identity) -> Result<()> {
        if !sql::retry(tx, admin, &self.mail_obi, identity.now())? {
            return Err(Error::NotFound);
        }
        Ok(admin.record(tx, Entry::new(Action::MailRetry).on(&self.mail_obi))?)
    }
}

/// Send a test mail
///
/// Returns what the mail server answered. Only administrators do this: no API key and no role allows it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = TestMailFields)]
pub struct Test {
    /// The address.
    #[schema(max_length = 254, examples("ann@example.org"))]
    pub email: String,
}

/// The end of a test.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TestResult {
    /// Why the mail was not sent; null if the mail server has taken it.
    #[schema(max_length = 1_000, examples("the mail server answered 535"))]
    pub error: Option<String>,
}

impl Operation for Test {
    type Answer = TestResult;
    const SPEC: Spec = Spec::post(GROUP, "/test_mail", Access::Persons).works(Work::Remote);

    fn run(self, call: &Call<'_>) -> Result<TestResult> {
        let identity = call.authority();
        call.store().read(|tx| identity.admin(tx).map(drop))?;
        let config = &call.tidings().config().mail();
        if !config.is_on() {
            return Err(Error::BadRequest(MAIL_IS_OFF));
        }
        let to = Address::parse(&self.email).ok_or(Error::BadRequest(RULE))?;
        let letter = Letter {
            to: to.as_str().to_owned(),
            text: Text::Test,
            id: String::new(),
            code: None,
            link: None,
        };
        let templates = Templates::new(config)?;
        let outgoing =
            Outgoing::new(&ObjectId::new(call.tidings().clock()).to_string(), call.now(), &templates, letter);
        let sent = Smtp::new(config, call.tidings().config().extra_ca.as_deref())?.send(&outgoing);
        // The right may be gone by now.
        call.store().read(|tx| identity.admin(tx).map(drop))?;
        Ok(TestResult { error: sent.err().map(|failed| failed.reason) })
    }
}

mod sql {
    use crate::account::Admin;
    use crate::base::clock::Timestamp;
    use crate::mail::outbox::MAILS;
    use crate::mail::{Mail, State};
    use crate::record::id::MemberKey;
    use crate::store::{Row, StoreError, Topic, Tx};

    /// Latest first: of one member, or of all.
    pub(super) fn list(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        of: Option<MemberKey>,
        limit: i64,
    ) -> Result<Vec<Mail>, StoreError> {
        let sql = "SELECT w.id, w.kind, m.id, w.date, w.dead, w.attempts, w.next_attempt, w.last_error
                   FROM mail w LEFT JOIN member m ON m.key = w.member
                   WHERE CAST($1 AS bigint) IS NULL OR w.member = $1 ORDER BY w.key DESC LIMIT $2";
        let mail = |mut row: Row| {
            // A kind of a newer program is not sent by this one.
            let Ok(kind) = row.take::<String>(1)?.parse() else { return Ok(None) };
            let is_dead = row.take::<Option<Timestamp>>(4)?.is_some();
            let next: Timestamp = row.take(6)?;
            Ok(Some(Mail {
                id: row.take(0)?,
                kind,
                user_id: row.take(2)?,
                date: row.take(3)?,
                state: if is_dead { State::Dead } else { State::Pending },
                attempts: row.take(5)?,
                next_attempt: (!is_dead).then_some(next),
                error: row.take(7)?,
            }))
        };
        tx.rows(sql, &[of.into(), limit.into()])?
            .into_iter()
            .filter_map(|row| mail(row).transpose())
            .collect()
    }

    /// With all its attempts; returns false if no mail has this id.
    pub(super) fn retry(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        id: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        // The hour in which a code is waited for begins again.
        tx.run("UPDATE mail SET date = $2 WHERE id = $1", &[id.into(), now.into()])?;
        tx.touch(Topic::Mail);
        MAILS.retry(tx, id, now)
    }
}
