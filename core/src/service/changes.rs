//! Change counters for programs that show live data. Reading them does not access the database.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Tidings;
use crate::store::Topic;

/// For each part of the data, a number that grows whenever the part changes.
///
/// Changes of this process are visible immediately, and changes of other processes within a quarter of a second. A
/// program compares this with an earlier value to find out which parts to read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Changes {
    /// Posts with their views and likes.
    pub posts: i64,
    /// Notices.
    pub notices: i64,
    /// The views of notices. A server does not tell: they are counted together with the requests.
    #[serde(skip)]
    #[schema(ignore)]
    pub notice_views: i64,
    /// Feedback.
    pub feedback: i64,
    /// Members and the data that administrators see and set.
    pub members: i64,
    /// Counters; the access log is written together with them.
    pub counts: i64,
    /// Search terms.
    pub terms: i64,
    /// The audit trail.
    pub audit: i64,
    /// Sources.
    // Servers of earlier versions leave it out.
    #[serde(default)]
    #[schema(required = true)]
    pub sources: i64,
}

impl Changes {
    /// Returns the current numbers.
    pub fn of(tidings: &Tidings) -> Self {
        let changes = |topic| tidings.store().changes(topic);
        Self {
            posts: changes(Topic::Posts),
            notices: changes(Topic::Notices),
            notice_views: changes(Topic::NoticeViews),
            feedback: changes(Topic::Feedback),
            members: changes(Topic::Members),
            counts: changes(Topic::Counts),
            terms: changes(Topic::Terms),
            audit: changes(Topic::Audit),
            sources: changes(Topic::Sources),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Caller;
    use crate::testing::{self, draft, publish, service};
    use crate::{admin, analysis, feedback, notice, profile, search, source};

    #[test]
    fn each_operation_changes_only_the_parts_that_it_writes() {
        let service = service();
        let mut before = Changes::of(&service);
        let mut changed = |what: &str| {
            let now = Changes::of(&service);
            let parts = [
                ("posts", now.posts > before.posts),
                ("notices", now.notices > before.notices),
                ("notice_views", now.notice_views > before.notice_views),
                ("feedback", now.feedback > before.feedback),
                ("members", now.members > before.members),
                ("counts", now.counts > before.counts),
                ("terms", now.terms > before.terms),
                ("audit", now.audit > before.audit),
                ("sources", now.sources > before.sources),
            ];
            before = now;
            let names: Vec<_> =
                parts.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect();
            assert_eq!(names.join(" "), what);
        };
        let ann = service.member("ann");
        changed("members");
        service.call(&Caller::Operator, admin::Grant { user_id: "ann".into() }).unwrap();
        changed("members audit");
        service.call(&ann, profile::ChangeNickname { new_nickname: "Annie".into() }).unwrap();
        changed("members");
        service.call(&ann, notice::Insert { draft: testing::notice("t") }).unwrap();
        changed("notices audit");
        let message = feedback::Message { kind: None, post: Some("p".into()), feedback: None };
        service.call(&ann, feedback::SendGeneral { message }).unwrap();
        changed("feedback");
        let id = service.call(&ann, feedback::ListAll {}).unwrap().feedback_list.remove(0).id;
        service.call(&ann, feedback::Mark { feedback_obi: id, activation: 0 }).unwrap();
        changed("feedback audit");
        search::log(&service, &ann, None, "rust").wait().unwrap();
        changed("counts terms");
        analysis::insert_device(&service, "pc").wait().unwrap();
        changed("counts");
        publish(&service, draft("t", "https://a.b/"));
        changed("posts counts audit");
        service.member("ben");
        changed("members");
        service.blacklist("ben");
        changed("members audit");
        service.remove_member("ben");
        changed("members counts audit");
        let add = source::Add { url: "https://a.b/feed".into(), ..source::Add::default() };
        service.call(&ann, add).unwrap();
        changed("audit sources");
        changed("");
    }
}
