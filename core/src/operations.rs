//! The list of all operations, in the order of the documentation.

use crate::account::key;
use crate::operation::Operation;
use crate::{notice, webhook};

/// What is done with each operation.
pub trait Visitor {
    /// Visits an operation.
    fn visit<O: Operation>(&mut self);
}

/// Visits all operations.
pub fn each(visitor: &mut impl Visitor) {
    visitor.visit::<key::List>();
    visitor.visit::<key::Add>();
    visitor.visit::<key::Revoke>();
    visitor.visit::<webhook::List>();
    visitor.visit::<webhook::Add>();
    visitor.visit::<webhook::Remove>();
    visitor.visit::<webhook::Rotate>();
    visitor.visit::<webhook::Test>();
    visitor.visit::<webhook::ListDeliveries>();
    visitor.visit::<webhook::Retry>();
    visitor.visit::<notice::List>();
    visitor.visit::<notice::ListFull>();
    visitor.visit::<notice::Get>();
    visitor.visit::<notice::Insert>();
    visitor.visit::<notice::Update>();
    visitor.visit::<notice::Remove>();
    visitor.visit::<notice::ListDrafts>();
    visitor.visit::<notice::SaveDraft>();
    visitor.visit::<notice::PublishDraft>();
    visitor.visit::<notice::RemoveDraft>();
    visitor.visit::<notice::GetReads>();
}
