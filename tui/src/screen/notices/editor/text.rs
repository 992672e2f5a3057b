//! The text in the editor.

use tidings_core::notice::Visibility;

use crate::placing::Placing;
use crate::screen::Ctx;
use crate::screen::notices::row::Row;

/// The texts of a notice, and when, where and to whom it is visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::screen::notices) struct Text {
    pub(in crate::screen::notices) title: String,
    pub(in crate::screen::notices) post: String,
    pub(in crate::screen::notices) shown: bool,
    pub(in crate::screen::notices) placing: Placing,
}

impl Text {
    /// Returns what is written in a row: its notice, with the changes of its draft.
    pub(in crate::screen::notices) fn of(row: &Row, ctx: &Ctx) -> Self {
        let base = row.notice.as_ref().map_or_else(Self::new, |notice| Self {
            title: notice.title.to_string(),
            post: notice.post.to_string(),
            shown: notice.activation == Visibility::Shown,
            placing: Placing::of(&notice.placement, ctx),
        });
        let Some(draft) = &row.draft else { return base };
        let fields = &draft.fields;
        Self {
            title: fields.title.clone().unwrap_or(base.title),
            post: fields.post.clone().unwrap_or(base.post),
            shown: fields.activation.map_or(base.shown, |shown| shown == Visibility::Shown.activation()),
            placing: base.placing.with(fields, ctx),
        }
    }

    /// Returns the texts of a new notice.
    pub(in crate::screen::notices) fn new() -> Self {
        Self { title: String::new(), post: String::new(), shown: true, placing: Placing::default() }
    }
}
