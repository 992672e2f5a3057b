//! Looks up posts, notices and feedback by the beginning of their ids, which is what people type.
//!
//! Ids are indexed texts, so the ids with a prefix are a range of the index, and a look-up reads at most [`FOUND_MAX`] rows.

use serde::{Deserialize, Serialize};

use crate::Tidings;
use crate::account::Caller;
use crate::error::{Error, Problem, Result};
use crate::id::ObjectId;
use crate::store::{Row, StoreError, Tx};
use crate::{feedback, notice, post};

/// The minimum length of a prefix in hex digits, because shorter ones are rarely unique.
pub const PREFIX_MIN: usize = 4;
/// The maximum number of ids of an answer.
pub const FOUND_MAX: usize = 20;
/// The maximum length of a title in an answer, in characters.
const TITLE_MAX: usize = 80;

const KIND_RULE: Problem = Problem::invalid("kind", "kind is post, notice or feedback");
const PREFIX_RULE: Problem = Problem::invalid("prefix", "prefix is 4 to 24 hex digits");

/// A kind of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Posts, which all callers see.
    Post,
    /// Notices that the caller sees now.
    Notice,
    /// Feedback, which administrators see.
    Feedback,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Post, Self::Notice, Self::Feedback];

    /// Returns the name, which is part of a path.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Post => "post",
            Self::Notice => "notice",
            Self::Feedback => "feedback",
        }
    }
}

/// The ids that begin with a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdRange {
    pub(crate) first: ObjectId,
    pub(crate) last: ObjectId,
}

impl IdRange {
    /// Returns the range of a prefix of [`PREFIX_MIN`] to 24 hex digits in lower or upper case; `None` for any other text.
    fn parse(prefix: &str) -> Option<Self> {
        if !(PREFIX_MIN..=24).contains(&prefix.len()) {
            return None;
        }
        let padded = |digit: &str| ObjectId::parse(&(prefix.to_owned() + &digit.repeat(24 - prefix.len())));
        Some(Self { first: padded("0")?, last: padded("f")? })
    }

    /// Returns whether the id begins with the prefix.
    pub(crate) fn contains(&self, id: ObjectId) -> bool {
        (self.first..=self.last).contains(&id)
    }
}

/// The ids that begin with a prefix.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FoundIds {
    /// At most 20, in the order of their ids.
    pub ids: Vec<FoundId>,
}

/// A record whose id begins with a prefix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FoundId {
    /// Its id.
    #[serde(rename = "_id")]
    pub id: String,
    /// Its title, or the beginning of the text of feedback: one line of at most 80 characters.
    pub title: String,
}

impl FoundId {
    pub(crate) fn new(id: String, text: &str) -> Self {
        let title = text.lines().next().unwrap_or_default().chars().take(TITLE_MAX).collect();
        Self { id, title }
    }
}

/// Returns the records of a kind that the caller sees and whose ids begin with a prefix: `kind` is the name of a [`Kind`],
/// and the prefix has [`PREFIX_MIN`] to 24 hex digits.
///
/// # Errors
/// `bad request` for any other kind or prefix; `bad token` and `Not admin` for feedback.
pub fn find(tidings: &Tidings, caller: &Caller, kind: &str, prefix: &str) -> Result<FoundIds> {
    let kind = Kind::ALL.into_iter().find(|known| known.name() == kind);
    let kind = kind.ok_or(Error::BadRequest(KIND_RULE))?;
    let range = IdRange::parse(prefix).ok_or(Error::BadRequest(PREFIX_RULE))?;
    let ids = match kind {
        Kind::Post => post::with_ids(tidings, &range),
        Kind::Notice => notice::with_ids(tidings, caller, &range),
        Kind::Feedback => feedback::with_ids(tidings, caller, &range),
    }?;
    Ok(FoundIds { ids })
}

/// Runs a statement that selects ids and texts of a range: `$1` and `$2` are its ends, and `$3` is the maximum number of rows.
pub(crate) fn rows(tx: &mut dyn Tx, sql: &str, range: &IdRange) -> Result<Vec<FoundId>, StoreError> {
    let [first, last] = [range.first, range.last].map(|id| id.to_string());
    let limit = i64::try_from(FOUND_MAX).unwrap_or(i64::MAX);
    let rows = tx.rows(sql, &[(&first).into(), (&last).into(), limit.into()])?;
    let found = |mut row: Row| Ok(FoundId::new(row.take(0)?, &row.take::<String>(1)?));
    rows.into_iter().map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::Draft as Feedback;
    use crate::notice::Draft as Notice;
    use crate::post::Draft as Post;
    use crate::testing::service;

    #[test]
    fn a_prefix_is_a_range_of_ids() {
        let id = |text| ObjectId::parse(text).unwrap();
        let range = IdRange::parse("6560C").unwrap();
        assert!(range.contains(id("6560c0000000000000000000")));
        assert!(range.contains(id("6560cfffffffffffffffffff")));
        assert!(
            !range.contains(id("6560bfffffffffffffffffff"))
                && !range.contains(id("6560d00000000000000000ff"))
        );
        let whole = "6560c1a2ffeeddccbbaa0001";
        let range = IdRange::parse(whole).unwrap();
        assert_eq!((range.first, range.last), (id(whole), id(whole)));
        for other in ["", "656", "6560c1a2ffeeddccbbaa00011", "656g", "65%0", "é0é0"] {
            assert_eq!(IdRange::parse(other), None, "{other}");
        }
    }

    #[test]
    fn callers_find_the_records_that_they_see() {
        let service = service();
        let ann = service.member("ann");
        let notice = |title: &str, activation| {
            let draft = Notice {
                title: Some(title.into()),
                post: Some("Text".into()),
                activation: Some(activation),
                ..Notice::default()
            };
            notice::insert(&service, &Caller::Operator, &draft).unwrap().id.to_string()
        };
        let (shown, hidden) = (notice("Shown", 1), notice("Hidden", 0));
        let text = Feedback { kind: None, post: Some("Open on Sundays\nplease".into()) };
        feedback::send(&service, &ann, None, &text).unwrap();
        let draft = Post {
            title: Some("A post".into()),
            url: Some("https://news.example.org/1".into()),
            ..Post::default()
        };
        let post = post::insert(&service, &Caller::Operator, &draft).unwrap().id.to_string();

        let titles = |caller: &Caller, kind, prefix: &str| {
            let found = find(&service, caller, kind, prefix).unwrap().ids;
            found.into_iter().map(|found| found.title).collect::<Vec<_>>()
        };
        assert_eq!(titles(&Caller::Guest, "post", &post[..8]), ["A post"]);
        assert_eq!(titles(&Caller::Guest, "post", "ffff"), [""; 0]);
        assert_eq!(titles(&Caller::Operator, "notice", &shown[..4]), ["Shown", "Hidden"]);
        assert_eq!(titles(&Caller::Guest, "notice", &shown[..4]), ["Shown"]);
        assert_eq!(titles(&ann, "notice", &hidden), [""; 0]);
        assert_eq!(titles(&Caller::Operator, "feedback", &shown[..4]), ["Open on Sundays"]);

        let refused = |caller: &Caller, kind, prefix| find(&service, caller, kind, prefix).unwrap_err();
        assert_eq!(refused(&Caller::Guest, "feedback", "6560").to_string(), "bad token");
        assert_eq!(refused(&ann, "feedback", "6560").to_string(), "Not admin");
        assert_eq!(refused(&ann, "member", "6560").problem().field, Some("kind"));
        assert_eq!(refused(&ann, "post", "656").problem().field, Some("prefix"));
    }
}
