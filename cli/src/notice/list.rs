use tidings_core::clock::Timestamp;
use tidings_core::notice::{self, Audience, FullNotice, Get, GetReads, ListFull, Pin, State};

use crate::prelude::*;

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Include hidden notices, those that are not visible now, and those of all topics
    #[arg(long)]
    all: bool,
    /// Include the notices of this topic
    #[arg(long, value_name = "T", allow_hyphen_values = true, add = ids(Kind::Topic))]
    topic: Option<String>,
    /// Also show dates and topics; with --json, answer with all fields
    #[arg(long)]
    details: bool,
}

impl List {
    pub(super) fn run(&self, session: &Session) -> Exit {
        let service = if self.all { session.service.clone() } else { session.service.as_guest() };
        if session.out.is_for_programs() && !self.details && self.topic.is_none() {
            let notices = service.call(notice::List::default())?;
            return session.out.list(&notices, notices.notices(), |_| ());
        }
        let notices = service.call(ListFull { topic: self.topic.clone(), html: None })?;
        session.out.list(&notices, notices.notices(), |page| {
            let state = |notice: &FullNotice| notice.state(session.service.now());
            let table = Table::of(notices.notices())
                .whole("ID", |notice| notice.id.to_string())
                // The mark is part of the title, because that column is never omitted.
                .text("Title", |notice| {
                    let marks = marks(notice, session);
                    let mark =
                        if marks.is_empty() { String::new() } else { format!("({}) ", marks.join(", ")) };
                    format!("{mark}{}", notice.title)
                })
                .optional_number("Views", |notice| number(notice.view))
                .optional_whole(dated("Date"), |notice| local(notice.date))
                .styled(|notice| if state(notice) == State::Shown { Style::Plain } else { Style::Faint });
            let date = |at: Option<Timestamp>| at.map(local).unwrap_or_default();
            let table = if self.details {
                table
                    .optional_whole("From", |notice| date(notice.placement.visible_from))
                    .optional_whole("Until", |notice| date(notice.placement.visible_until))
                    .optional_text("Topic", |notice| {
                        notice.placement.topic.as_deref().unwrap_or_default().to_owned()
                    })
            } else {
                table
            };
            let hint = "No notice is visible: --all also lists the others.";
            page.table(&table, if self.all { "There are no notices." } else { hint });
        })
    }
}

fn marks(notice: &FullNotice, session: &Session) -> Vec<&'static str> {
    let state = match notice.state(session.service.now()) {
        State::Shown => None,
        State::Hidden => Some("hidden"),
        State::Scheduled => Some("scheduled"),
        State::Ended => Some("ended"),
    };
    let pinned = (notice.placement.pinned == Pin::Pinned).then_some("pinned");
    let members = (notice.placement.members_only == Audience::Members).then_some("members");
    [state, pinned, members].into_iter().flatten().collect()
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The notice
    #[arg(add = ids(Kind::Notice))]
    id: String,
    /// Print the text as HTML: a safe subset of Markdown
    #[arg(long)]
    html: bool,
}

impl Show {
    pub(super) fn run(&self, session: &Session) -> Exit {
        let Session { service, out } = session;
        let id = &self.id;
        let get = Get { notice_obi: id.clone(), html: self.html.then_some(1) };
        let notice = session.call_on("notice", id, get)?;
        let all = service.call(ListFull::default())?;
        out.answer(&notice, |page| {
            let notice = &notice.notice_list;
            page.styled(Style::Strong, &notice.title);
            let full = all.notices().iter().find(|full| full.id == notice.id);
            let marks = full.map(|full| marks(full, session)).unwrap_or_default();
            let mut facts = vec![local(notice.date), count(notice.view, "view")];
            facts.extend(marks.into_iter().map(ToOwned::to_owned));
            page.styled(Style::Faint, facts.join(", "));
            if let Some(full) = full {
                let placement = &full.placement;
                let from = placement.visible_from.map(|from| format!("from {}", local(from)));
                let until = placement.visible_until.map(|until| format!("until {}", local(until)));
                let topic = placement.topic.as_ref().map(|topic| format!("on the page of {topic}"));
                let lines: Vec<_> = [from, until, topic].into_iter().flatten().collect();
                if !lines.is_empty() {
                    page.styled(Style::Faint, format!("visible {}", lines.join(" ")));
                }
            }
            page.line("");
            page.block(notice.html.as_ref().unwrap_or(&notice.post));
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct Reads {
    /// The notice
    #[arg(add = ids(Kind::Notice))]
    id: String,
    /// How many days, 1 to 366, today included
    #[arg(long, value_name = "N", default_value_t = 30, allow_negative_numbers = true)]
    days: i64,
}

impl Reads {
    pub(super) fn run(&self, session: &Session) -> Exit {
        let reads = GetReads { notice_obi: self.id.clone(), days: Some(self.days) };
        let reads = session.call_on("notice", &self.id, reads)?;
        session.out.table(&reads, &reads.notice_reads, "", |table| {
            table
                .whole("Day", |day| day.date.clone())
                .number("Reads", |day| number(day.reads))
                .bars(|day| day.reads)
        })
    }
}
