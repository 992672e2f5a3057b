//! A call of an operation, and the operations that are one transaction.

use std::net::IpAddr;
use std::ops::Deref;

use super::authority::{Admin, Identity, Member};
use super::device::Device;
use super::{Caller, Client};
use crate::Tidings;
use crate::base::clock::Timestamp;
use crate::base::config::Config;
use crate::record::error::{Error, Outcome, Pending, Result};
use crate::record::operation::{Access, Answer, Fields, Operation, Spec};
use crate::store::{Isolation, Store, Tx};

/// The client of a call, as a server sees it. The default is a program on this machine.
#[derive(Clone, Debug, Default)]
pub struct ClientInfo {
    /// Its address; `None` for this machine, which is never slowed.
    pub address: Option<IpAddr>,
    /// The header `User-Agent`, which may be empty.
    pub user_agent: Vec<u8>,
    /// Whether a browser fetches the answer before a person asks for it.
    pub is_prefetch: bool,
}

impl ClientInfo {
    pub(crate) fn client(&self) -> Option<Client> {
        self.address.map(Client::from)
    }

    pub(crate) fn device(&self) -> Device {
        if self.user_agent.is_empty() {
            return Device::default();
        }
        Device::of(&String::from_utf8_lossy(&self.user_agent))
    }
}

/// A call of an operation: the service, the caller, their client and the time.
pub struct Call<'a> {
    tidings: &'a Tidings,
    caller: &'a Caller,
    client: &'a ClientInfo,
    authority: Authority,
}

impl<'a> Call<'a> {
    pub(crate) fn new<O: Operation>(
        tidings: &'a Tidings,
        caller: &'a Caller,
        client: &'a ClientInfo,
    ) -> Self {
        Self { tidings, caller, client, authority: Authority::new(caller.identify(tidings), &O::SPEC) }
    }

    /// Returns the service.
    pub const fn tidings(&self) -> &'a Tidings {
        self.tidings
    }

    /// Returns the caller.
    pub const fn caller(&self) -> &'a Caller {
        self.caller
    }

    /// Returns the client of the caller.
    pub const fn client(&self) -> &'a ClientInfo {
        self.client
    }

    /// Returns the time of the call.
    pub fn now(&self) -> Timestamp {
        self.authority.now()
    }

    pub(crate) fn store(&self) -> &'a Store {
        self.tidings.store()
    }

    /// Returns what checks the caller in a transaction, by the access that the operation declares.
    pub(crate) fn authority(&self) -> Authority {
        self.authority.clone()
    }
}

/// An [`Identity`] and the declaration of the operation that it calls, which decides whom it proves.
#[derive(Clone)]
pub struct Authority {
    identity: Identity,
    access: Access,
    refused_with: Option<Outcome>,
}

impl Deref for Authority {
    type Target = Identity;

    fn deref(&self) -> &Identity {
        &self.identity
    }
}

impl Authority {
    const fn new(identity: Identity, spec: &Spec) -> Self {
        Self { identity, access: spec.access, refused_with: spec.refused_with }
    }

    /// Fails for an operation that does not declare administrators.
    pub(crate) fn admin<'tx>(&self, tx: &mut (dyn Tx + 'tx)) -> Result<Admin<'tx>> {
        self.checked(match self.access {
            Access::Admins(scope) | Access::Own(scope) => self.identity.with_scope(tx, scope),
            Access::Persons => self.identity.administrator(tx),
            Access::Open | Access::Anyone | Access::Members => Err(undeclared()),
        })
    }

    /// Accepts the member with this folded id besides those that [`Authority::admin`] accepts.
    pub(crate) fn admin_or_own(&self, tx: &mut dyn Tx, own: &str) -> Result<()> {
        let Access::Own(scope) = self.access else { return Err(undeclared()) };
        self.checked(self.identity.admin_or_own(tx, scope, Some(own)))
    }

    /// Fails for an operation that does not declare members.
    pub(crate) fn member<'tx>(&self, tx: &mut (dyn Tx + 'tx)) -> Result<Member<'tx>> {
        self.checked(match self.access {
            Access::Members => self.identity.member(tx),
            _ => Err(undeclared()),
        })
    }

    fn checked<T>(&self, proof: Result<T>) -> Result<T> {
        proof.map_err(|error| match self.refused_with {
            Some(outcome) => error.unless_authorised(outcome),
            None => error,
        })
    }
}

fn undeclared() -> Error {
    Error::Internal("the operation declares other callers than it checks".into())
}

/// A proof of who calls: [`Admin`], [`Member`], or `()` for an operation that does not ask.
pub trait Proof {
    /// The proof, which ends with its transaction.
    type In<'tx>;

    /// The access that an operation with this proof declares, whatever its scope.
    const OF: Proved;

    /// Checks the caller.
    ///
    /// # Errors
    /// The answer to a caller whose token or right does not suffice.
    fn check<'tx>(authority: &Authority, tx: &mut (dyn Tx + 'tx)) -> Result<Self::In<'tx>>;
}

/// What kind of caller an operation accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Proved {
    Everyone,
    Members,
    Administrators,
}

impl Proved {
    const fn by(access: Access) -> Self {
        match access {
            Access::Open | Access::Anyone => Self::Everyone,
            Access::Members => Self::Members,
            Access::Own(_) | Access::Admins(_) | Access::Persons => Self::Administrators,
        }
    }
}

impl Proof for () {
    type In<'tx> = ();
    const OF: Proved = Proved::Everyone;

    fn check<'tx>(_: &Authority, _: &mut (dyn Tx + 'tx)) -> Result<()> {
        Ok(())
    }
}

impl Proof for Member<'static> {
    type In<'tx> = Member<'tx>;
    const OF: Proved = Proved::Members;

    fn check<'tx>(authority: &Authority, tx: &mut (dyn Tx + 'tx)) -> Result<Member<'tx>> {
        authority.member(tx)
    }
}

impl Proof for Admin<'static> {
    type In<'tx> = Admin<'tx>;
    const OF: Proved = Proved::Administrators;

    fn check<'tx>(authority: &Authority, tx: &mut (dyn Tx + 'tx)) -> Result<Admin<'tx>> {
        authority.admin(tx)
    }
}

/// An operation that is one transaction: a read if its declaration says that it changes nothing, otherwise a write.
///
/// Its caller is proved in the transaction, by the declared access, and a proof of other callers does not compile.
pub trait Transaction: Fields {
    /// Who calls it: `Admin<'static>`, `Member<'static>` or `()`.
    type By: Proof;
    /// See [`Operation::Answer`].
    type Answer: Answer;

    /// See [`Operation::SPEC`].
    const SPEC: Spec;
    /// The isolation of a write.
    const ISOLATION: Isolation = Isolation::Alone;

    /// See [`Operation::documented_refusals`].
    fn documented_refusals(_settings: &Config) -> Vec<Error> {
        Vec::new()
    }

    /// The work. It may run more than once; only the changes and the answer of the last run count.
    ///
    /// # Errors
    /// Those that the operation documents. The transaction is then rolled back.
    fn run(
        &self,
        tx: &mut dyn Tx,
        by: &<Self::By as Proof>::In<'_>,
        identity: &Identity,
    ) -> Result<Self::Answer>;
}

impl<T: Transaction> Operation for T {
    type Answer = T::Answer;
    const SPEC: Spec = T::SPEC;

    fn documented_refusals(settings: &Config) -> Vec<Error> {
        T::documented_refusals(settings)
    }

    fn run(self, call: &Call<'_>) -> Result<T::Answer> {
        match self.start(call) {
            Ok(write) => write.wait(),
            Err(read) => call.store().read(|tx| checked(&read, tx, &call.authority)),
        }
    }

    fn start(self, call: &Call<'_>) -> Result<Pending<T::Answer>, Self> {
        if T::SPEC.only_reads() {
            return Err(self);
        }
        let authority = call.authority();
        Ok(call.store().submit(T::ISOLATION, move |tx| checked(&self, tx, &authority)))
    }
}

fn checked<T: Transaction>(operation: &T, tx: &mut dyn Tx, authority: &Authority) -> Result<T::Answer> {
    const {
        assert!(
            T::By::OF as u8 == Proved::by(T::SPEC.access) as u8,
            "the proof is not of the declared callers"
        );
    };
    let by = T::By::check(authority, tx)?;
    operation.run(tx, &by, authority)
}
