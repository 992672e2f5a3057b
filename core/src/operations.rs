//! The list of all operations, in the order of the documentation.

use crate::notice;
use crate::operation::Operation;

/// What is done with each operation.
pub trait Visitor {
    /// Visits an operation.
    fn visit<O: Operation>(&mut self);
}

/// Visits all operations.
pub fn each(visitor: &mut impl Visitor) {
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
