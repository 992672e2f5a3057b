//! `tidings notice list`, `tidings notice show` and `tidings notice reads`.

use std::process::ExitCode;

use clap::Args;
use tidings_client::shown::number::{count, number};
use tidings_core::notice::{self, Audience, FullNotice, Get, GetReads, ListFull, Pin, State};

use crate::complete::{Kind, ids};
use crate::failure::Failure;
use crate::output::{Column, Style, Table, dated, local};
use crate::session::{Session, unknown};

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
    pub(super) fn run(&self, session: &Session) -> Result<ExitCode, Failure> {
        let service = if self.all { session.service.clone() } else { session.service.as_guest() };
        if session.out.is_for_programs() && !self.details && self.topic.is_none() {
            let notices = service.call(notice::List::default())?;
            return session.out.list(&notices, notices.notices(), |_| ());
        }
        let notices = service.call(ListFull { topic: self.topic.clone(), html: None })?;
        session.out.list(&notices, notices.notices(), |page| {
            let mut columns = vec![
                Column::whole("ID"),
                Column::text("Title"),
                Column::number("Views").optional(),
                Column::whole(dated("Date")).optional(),
            ];
            if self.details {
                columns.extend(["From", "Until"].map(|name| Column::whole(name).optional()));
                columns.push(Column::text("Topic").optional());
            }
            let mut table = Table::new(columns);
            for notice in notices.notices() {
                // The mark is part of the title, because that column is never omitted.
                let marks = marks(notice, session);
                let mark = if marks.is_empty() { String::new() } else { format!("({}) ", marks.join(", ")) };
                let state = notice.state(session.service.now());
                let style = if state == State::Shown { Style::Plain } else { Style::Faint };
                let title = format!("{mark}{}", notice.title);
                let row = [notice.id.to_string(), title, number(notice.view), local(notice.date)];
                if self.details {
                    let [id, title, views, date] = row;
                    let placement = &notice.placement;
                    let [from, until] = [placement.visible_from, placement.visible_until]
                        .map(|at| at.map_or_else(String::new, local));
                    let topic = placement.topic.as_deref().unwrap_or_default().to_owned();
                    table.styled_row(style, [id, title, views, date, from, until, topic]);
                } else {
                    table.styled_row(style, row);
                }
            }
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
    pub(super) fn run(&self, session: &Session) -> Result<ExitCode, Failure> {
        let Session { service, out } = session;
        let id = &self.id;
        let notice = service.call(Get { notice_obi: id.clone(), html: self.html.then_some(1) });
        let notice = notice.map_err(|error| unknown(error, "notice", id))?;
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
    pub(super) fn run(&self, session: &Session) -> Result<ExitCode, Failure> {
        let id = &self.id;
        let reads = session.service.call(GetReads { notice_obi: id.clone(), days: Some(self.days) });
        let reads = reads.map_err(|error| unknown(error, "notice", id))?;
        session.out.list(&reads, &reads.notice_reads, |page| {
            let mut table = Table::new([Column::whole("Day"), Column::number("Reads"), Column::bars()]);
            for day in &reads.notice_reads {
                table.row([day.date.clone(), number(day.reads), day.reads.to_string()]);
            }
            page.table(&table, "");
        })
    }
}
