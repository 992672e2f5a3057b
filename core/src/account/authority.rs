//! Proofs of authority: [`Member`], [`Admin`] and [`Operator`]. Only the checks in this module make them, and functions that
//! write, or that read data that is not public, take one, so that an operation that forgets its check does not compile. Proofs of
//! members and administrators end with their transaction.

use std::marker::PhantomData;
use std::ops::Deref;

use super::key::{self, KeyHash, KeyRecord, Scope};
use super::{Caller, Token};
use crate::Tidings;
use crate::audit::trail::{self, Action, Actor, Entry, Origin};
use crate::base::clock::{HOUR_MS, Timestamp};
use crate::record::error::{Error, Result};
use crate::record::id::MemberKey;
use crate::store::{Isolation, Pipelined, StoreError, Tx, ask_row_each};

mod record;
#[cfg(test)]
mod tests;

use record::{FIND_IN_SESSION, Found};
pub(crate) use record::{MemberRecord, find};

/// The identity that a caller claims, not yet checked against the database.
#[derive(Clone)]
pub struct Identity {
    claim: Claim,
    origin: Origin,
    requires_otp: bool,
}

#[derive(Clone)]
pub(crate) enum Claim {
    /// Or a caller with an invalid token.
    Guest,
    /// The member with this folded id. `token` has its generation; it is `None` if the operator names the member.
    Named { folded: String, token: Option<(i64, Token)> },
    /// The bearer of an API key.
    Key { key: KeyHash, token: Token },
    /// The person who can open the database.
    Operator,
}

impl Identity {
    pub(crate) const fn new(claim: Claim, origin: Origin, requires_otp: bool) -> Self {
        Self { claim, origin, requires_otp }
    }

    pub(super) const fn claim(&self) -> &Claim {
        &self.claim
    }

    pub(crate) const fn now(&self) -> Timestamp {
        self.origin.at
    }

    pub(crate) fn session(&self) -> Option<&str> {
        let Claim::Named { token: Some((_, token)), .. } = &self.claim else { return None };
        token.session()
    }

    pub(crate) const fn is_guest(&self) -> bool {
        matches!(self.claim, Claim::Guest)
    }

    pub(crate) const fn is_named(&self) -> bool {
        matches!(self.claim, Claim::Named { .. })
    }

    pub(crate) const fn is_key(&self) -> bool {
        matches!(self.claim, Claim::Key { .. })
    }

    pub(crate) fn named(&self) -> Option<&str> {
        let Claim::Named { folded, .. } = &self.claim else { return None };
        Some(folded)
    }

    pub(crate) const fn is_operator(&self) -> bool {
        matches!(self.claim, Claim::Operator)
    }

    pub(crate) fn member<'tx>(&self, tx: &mut (dyn Tx + 'tx)) -> Result<Member<'tx>> {
        let Claim::Named { folded, .. } = &self.claim else { return Err(Error::BadToken) };
        let found = tx.row(FIND_IN_SESSION, &[folded.into(), self.session().unwrap_or_default().into()])?;
        self.proven(found.map(Found::of).transpose()?).ok_or(Error::BadToken)
    }

    /// Where administrators need a second factor, someone who only knows a password must not choose it. The operator needs no
    /// code to act for a member.
    pub(crate) const fn needs_enrolment_code(&self) -> bool {
        self.requires_otp && matches!(self.claim, Claim::Named { token: Some(_), .. })
    }

    /// The transaction must run alone.
    pub(crate) fn record_own(
        &self,
        tx: &mut dyn Tx,
        member: &Member<'_>,
        entry: Entry<'_>,
    ) -> Result<(), StoreError> {
        trail::append(tx, &self.actor(member), &self.origin, entry.on_member(member.key))
    }

    /// For a member who has not signed in: a code proved who they are. The transaction must run alone.
    pub(super) fn record_by_code(
        &self,
        tx: &mut dyn Tx,
        member: MemberKey,
        entry: Entry<'_>,
    ) -> Result<(), StoreError> {
        trail::append(tx, &Actor::Member(member), &self.origin, entry.on_member(member))
    }

    const fn actor(&self, member: &Member<'_>) -> Actor {
        match self.claim {
            Claim::Named { token: Some(_), .. } => Actor::Member(member.record.key),
            _ => Actor::OperatorAs(member.record.key),
        }
    }

    /// Like [`Identity::visitor`] for several callers; the answer is read later.
    pub(crate) fn ask_visitors<'i, 'tx: 'i>(
        tx: &mut (dyn Tx + 'tx),
        identities: Vec<&'i Self>,
    ) -> Result<Pipelined<'i, Vec<Option<Member<'tx>>>>, StoreError> {
        let names = identities.iter().filter_map(|identity| {
            Some([identity.named()?.into(), identity.session().unwrap_or_default().into()])
        });
        let found = ask_row_each(tx, FIND_IN_SESSION, &names.collect::<Vec<_>>())?;
        Ok(found.then(move |_, rows| {
            let mut rows = rows.into_iter();
            let visitor = |identity: &Self| {
                if !identity.is_named() {
                    return Ok(None);
                }
                let row = rows.next().flatten();
                Ok(identity.proven(row.map(Found::of).transpose()?))
            };
            identities.into_iter().map(visitor).collect()
        }))
    }

    /// Returns `None` if the token or its session was revoked. Also notes in the token what was found.
    fn proven<'tx>(&self, mut found: Option<Found>) -> Option<Member<'tx>> {
        let token = match &self.claim {
            Claim::Named { token: Some((generation, token)), .. } => Some((*generation, token)),
            _ => None,
        };
        if let Some((generation, token)) = token {
            found = found.filter(|found| {
                let record = &found.record;
                generation == record.generation && !record.blacklisted && found.is_open_for(token)
            });
            if let Some(claims) = token.0.claims.get().and_then(Option::as_ref) {
                claims.note_revoked(found.is_none());
            }
            token.0.member.get_or_init(|| found.as_ref().map(|found| found.record.key));
            token.0.last_seen.get_or_init(|| found.as_ref().and_then(|found| found.last_seen));
        }
        found.map(|Found { record, gave_code, .. }| Member {
            is_confirmed: token.is_none() || gave_code || !self.requires_otp,
            record,
            gave_code,
            transaction: PhantomData,
        })
    }

    pub(crate) fn visitor<'tx>(&self, tx: &mut (dyn Tx + 'tx)) -> Result<Option<Member<'tx>>> {
        match self.member(tx) {
            Ok(member) => Ok(Some(member)),
            Err(Error::BadToken) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Accepts an administrator, the operator, and an API key or a member with this scope.
    pub(crate) fn with_scope<'tx>(&self, tx: &mut (dyn Tx + 'tx), scope: Scope) -> Result<Admin<'tx>> {
        let member = match &self.claim {
            Claim::Operator => return Ok(self.proof(Actor::Operator, false)),
            Claim::Key { key, token } => {
                let found = self.valid_key(tx, *key, token)?;
                if !found.allows(scope) {
                    return Err(Error::MissingScope(scope));
                }
                return Ok(self.proof(Actor::Key(found.name), true));
            }
            Claim::Guest | Claim::Named { .. } => self.member(tx)?,
        };
        match (member.admin || member.scopes.is_empty(), member.scopes.allow(scope), member.is_confirmed) {
            (true, ..) => self.of_administrator(&member),
            (false, false, _) => Err(Error::MissingScope(scope)),
            (false, true, false) => Err(Error::SecondFactorNeeded),
            (false, true, true) => Ok(self.proof(self.actor(&member), true)),
        }
    }

    pub(crate) fn admin_or_own(&self, tx: &mut dyn Tx, scope: Scope, own: Option<&str>) -> Result<()> {
        match self.with_scope(tx, scope) {
            // The token is valid: it is that of a member without the right, or who has not shown a code for it.
            Err(Error::Forbidden | Error::MissingScope(_) | Error::SecondFactorNeeded)
                if own.is_some() && self.named() == own =>
            {
                Ok(())
            }
            checked => checked.map(drop),
        }
    }

    fn valid_key(&self, tx: &mut dyn Tx, key: KeyHash, token: &Token) -> Result<KeyRecord> {
        let found = key::find(tx, key)?.filter(|found| found.lasts(self.origin.at));
        let found = token.0.found_key.get_or_init(|| found.clone()).as_ref().and(found);
        found.ok_or(Error::BadToken)
    }

    /// Accepts an administrator and the operator, but neither an API key nor a member with a role.
    pub(crate) fn administrator<'tx>(&self, tx: &mut (dyn Tx + 'tx)) -> Result<Admin<'tx>> {
        match &self.claim {
            Claim::Operator => Ok(self.proof(Actor::Operator, false)),
            Claim::Key { key, token } => {
                self.valid_key(tx, *key, token)?;
                Err(Error::Forbidden)
            }
            Claim::Guest | Claim::Named { .. } => {
                let member = self.member(tx)?;
                self.of_administrator(&member)
            }
        }
    }

    fn of_administrator<'tx>(&self, member: &Member<'tx>) -> Result<Admin<'tx>> {
        match (member.admin, member.is_confirmed) {
            (false, _) => Err(Error::Forbidden),
            (true, false) => Err(Error::SecondFactorNeeded),
            (true, true) => Ok(self.proof(self.actor(member), false)),
        }
    }

    /// Records that data of many members is read, once an hour for each kind, so that a list of many pages is one record.
    pub(crate) fn record_reading(&self, tidings: &Tidings, scope: Scope, action: Action) -> Result<()> {
        let (identity, since) = (self.clone(), self.origin.at - HOUR_MS);
        let is_recorded = move |tx: &mut dyn Tx, admin: &Admin<'_>| {
            trail::is_recorded(tx, &admin.actor, &admin.origin, action, since)
        };
        let is_done = tidings.store().read(|tx| {
            let admin = self.with_scope(tx, scope)?;
            Ok::<_, Error>(is_recorded(tx, &admin)?)
        })?;
        if is_done {
            return Ok(());
        }
        tidings.store().write(Isolation::Alone, move |tx| {
            let admin = identity.with_scope(tx, scope)?;
            if !is_recorded(tx, &admin)? {
                admin.record(tx, Entry::new(action))?;
            }
            Ok(())
        })
    }

    fn proof<'tx>(&self, actor: Actor, is_delegate: bool) -> Admin<'tx> {
        Admin { actor, is_delegate, origin: self.origin.clone(), transaction: PhantomData }
    }

    /// Calls `read` if [`Identity::with_scope`] accepts the caller. Recognises guests without reading the database.
    pub(crate) fn if_admin<T: Send>(
        &self,
        tidings: &Tidings,
        scope: Scope,
        read: impl FnOnce(&Admin<'_>) -> T + Send,
    ) -> Result<Option<T>> {
        if self.is_guest() {
            return Ok(None);
        }
        tidings.store().read(|tx| match self.with_scope(tx, scope) {
            Ok(admin) => Ok(Some(read(&admin))),
            Err(Error::BadToken | Error::Forbidden | Error::MissingScope(_) | Error::SecondFactorNeeded) => {
                Ok(None)
            }
            Err(error) => Err(error),
        })
    }
}

impl Caller {
    /// Checks that the caller is the operator, without reading the database: the program that embeds the service
    /// decides when the operator is acting, and no token and no member ever counts as the operator.
    ///
    /// # Errors
    /// `Not admin` for every other caller, including administrators.
    pub fn operator(&self) -> Result<Operator> {
        if matches!(self, Self::Operator) { Ok(Operator(())) } else { Err(Error::Forbidden) }
    }
}

/// Proof that the operator is acting: the person who may read the database file.
///
/// The operator trains and loads the word model, and operations on a file take this proof where those on a [`Tidings`] take a
/// [`Caller`]. Everything else is also an operation of administrators. Only [`Caller::operator`] makes
/// it, and a call of an operation without its caller does not compile:
///
/// ```
/// # use tidings_core::{Tidings, account::Caller, admin};
/// # fn administrators(tidings: &Tidings) -> tidings_core::Result<()> {
/// let operator = Caller::Operator.operator()?;
/// tidings.call(&Caller::Operator, admin::List {})?;
/// # Ok(())
/// # }
/// ```
/// ```compile_fail,E0423
/// let operator = tidings_core::account::Operator(());
/// ```
/// ```compile_fail,E0061
/// # use tidings_core::{Tidings, account::Caller, admin};
/// # fn administrators(tidings: &Tidings) -> tidings_core::Result<()> {
/// tidings.call(admin::List {})?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Operator(());

impl Operator {
    /// The transaction must run alone.
    #[expect(clippy::unused_self, reason = "the proof")]
    pub(crate) fn record(self, tx: &mut dyn Tx, origin: &Origin, entry: Entry<'_>) -> Result<(), StoreError> {
        trail::append(tx, &Actor::Operator, origin, entry)
    }
}

/// Proof that an administrator, the operator or a delegate is acting. It ends with the transaction that checked it.
///
/// Three rules of the compiler keep this true: the fields are private to this module, so only [`Identity`] makes a proof; `'tx`
/// is the lifetime of the transaction, so a proof cannot leave it; and a check whose proof is not used is a warning.
#[derive(Debug)]
#[must_use = "a function that needs an administrator takes this proof"]
pub struct Admin<'tx> {
    actor: Actor,
    is_delegate: bool,
    origin: Origin,
    transaction: PhantomData<&'tx ()>,
}

impl<'tx> Admin<'tx> {
    /// For the service itself, which does what administrators have told it to do, such as reading a source.
    pub(crate) fn service(_: &mut (dyn Tx + 'tx), at: Timestamp) -> Self {
        let origin = Origin { at, surface: trail::Surface::default(), operator: None };
        Self { actor: Actor::Service, is_delegate: false, origin, transaction: PhantomData }
    }

    /// For imports and demo data: the authority of the importing administrator replaces the tokens of the members.
    pub(crate) fn act_for(&self, record: MemberRecord) -> Member<'tx> {
        Member { is_confirmed: true, record, gave_code: false, transaction: self.transaction }
    }

    /// Returns whether this member is acting with a token of their own: not if the operator acts in their name.
    pub(crate) fn is(&self, member: MemberKey) -> bool {
        self.actor == Actor::Member(member)
    }

    pub(super) const fn member(&self) -> Option<MemberKey> {
        match self.actor {
            Actor::Member(member) | Actor::OperatorAs(member) => Some(member),
            Actor::Operator | Actor::Key(_) | Actor::Service => None,
        }
    }

    /// Returns whether the right comes from the scopes of an API key or of a member's role.
    pub(crate) const fn is_delegate(&self) -> bool {
        self.is_delegate
    }

    /// The transaction must run alone.
    pub(crate) fn record(&self, tx: &mut dyn Tx, entry: Entry<'_>) -> Result<(), StoreError> {
        trail::append(tx, &self.actor, &self.origin, entry)
    }
}

/// Proof that a member is acting, or an administrator for them. It ends with the transaction that checked it.
#[derive(Clone, Debug)]
#[must_use = "a function that acts for a member takes this proof"]
pub struct Member<'tx> {
    record: MemberRecord,
    pub(crate) gave_code: bool,
    /// Whether the rights of administrators and of roles apply: where a second factor is required, they need a session that
    /// gave a code.
    is_confirmed: bool,
    transaction: PhantomData<&'tx ()>,
}

impl Member<'_> {
    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.is_confirmed && (self.admin || self.scopes.allow(scope))
    }
}

impl Deref for Member<'_> {
    type Target = MemberRecord;

    fn deref(&self) -> &MemberRecord {
        &self.record
    }
}
