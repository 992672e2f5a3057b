//! Looks up posts, notices and feedback by the beginning of their ids, which is what people type.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::account::Caller;
use crate::lookup::prefix::IdRange;
use crate::record::error::{Error, Problem, Result};
use crate::record::operation::{Access, Operation, Spec};
use crate::record::schema::{one_of, schemas};
use crate::{feedback, notice, post};

pub use prefix::{FOUND_MAX, FoundId, PREFIX_MIN};

pub(crate) mod prefix;

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

schemas! {
    Kind = one_of(Kind::ALL.map(Kind::name));
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
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundIds {
    /// At most 20, in the order of their ids.
    #[schema(max_items = 20)]
    pub ids: Vec<FoundId>,
}

/// Find the posts, the notices or the feedback whose ids begin with a prefix
///
/// At most 20, in the order of their ids. Posts are for everyone, notices for callers who see them, and feedback for
/// administrators.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FindIds {
    /// `post`, `notice` or `feedback`
    #[schema(value_type = Kind)]
    pub kind: String,
    /// The beginning of the id, 4 to 24 hex digits
    #[schema(pattern = "^[0-9a-fA-F]{4,24}$", examples("6560c1"))]
    pub prefix: String,
}

impl Operation for FindIds {
    type Answer = FoundIds;
    const SPEC: Spec =
        Spec::get("search", "/find_ids/{kind}/{prefix}", Access::AnyoneFor("posts and notices"));

    fn run(self, tidings: &Tidings, caller: &Caller) -> Result<FoundIds> {
        let kind = Kind::ALL.into_iter().find(|known| known.name() == self.kind);
        let kind = kind.ok_or(Error::BadRequest(KIND_RULE))?;
        let range = IdRange::parse(&self.prefix).ok_or(Error::BadRequest(PREFIX_RULE))?;
        let ids = match kind {
            Kind::Post => post::with_ids(tidings, &range),
            Kind::Notice => notice::with_ids(tidings, caller, &range),
            Kind::Feedback => feedback::with_ids(tidings, caller, &range),
        }?;
        Ok(FoundIds { ids })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::Message;
    use crate::notice::Draft as Notice;
    use crate::post::Draft as Post;
    use crate::testing::service;

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
            service.call(&Caller::Operator, notice::Insert { draft }).unwrap().id.to_string()
        };
        let (shown, hidden) = (notice("Shown", 1), notice("Hidden", 0));
        let post = Some("Open on Sundays\nplease".into());
        let text = Message { kind: None, post, feedback: None };
        service.call(&ann, feedback::SendGeneral { message: text.clone() }).unwrap();
        let draft = Post {
            title: Some("A post".into()),
            url: Some("https://news.example.org/1".into()),
            ..Post::default()
        };
        let post =
            service.call(&Caller::Operator, post::Insert { draft: draft.clone() }).unwrap().id.to_string();

        let titles = |caller: &Caller, kind: &str, prefix: &str| {
            let found =
                service.call(caller, FindIds { kind: kind.into(), prefix: prefix.into() }).unwrap().ids;
            found.into_iter().map(|found| found.title).collect::<Vec<_>>()
        };
        assert_eq!(titles(&Caller::Guest, "post", &post[..8]), ["A post"]);
        assert_eq!(titles(&Caller::Guest, "post", "ffff"), [""; 0]);
        assert_eq!(titles(&Caller::Operator, "notice", &shown[..4]), ["Shown", "Hidden"]);
        assert_eq!(titles(&Caller::Guest, "notice", &shown[..4]), ["Shown"]);
        assert_eq!(titles(&ann, "notice", &hidden), [""; 0]);
        assert_eq!(titles(&Caller::Operator, "feedback", &shown[..4]), ["Open on Sundays"]);

        let refused = |caller: &Caller, kind: &str, prefix: &str| {
            service.call(caller, FindIds { kind: kind.into(), prefix: prefix.into() }).unwrap_err()
        };
        assert_eq!(refused(&Caller::Guest, "feedback", "6560").to_string(), "bad token");
        assert_eq!(refused(&ann, "feedback", "6560").to_string(), "Not admin");
        assert_eq!(refused(&ann, "member", "6560").problem().field, Some("kind"));
        assert_eq!(refused(&ann, "post", "656").problem().field, Some("prefix"));
    }
}
