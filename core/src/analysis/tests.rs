//! Helpers that the tests of analytics share.

use std::net::{IpAddr, Ipv4Addr};

use super::*;
use crate::record::answer::SUCCESS;
use crate::testing::{Service, again};

mod bursts;
mod counts;
mod guests;
mod live;
mod log_page;
mod logs;
mod paths;
mod period_report;
mod recount;
mod removed;
mod searches;
mod zones;

pub(super) fn log_date(tidings: &Tidings, caller: &Caller, window: Window, limit: i64) -> Result<Log> {
    let Window { months, days, hours } = window;
    tidings.call(caller, GetLogDate { months, days, hours, limit })
}

fn log_user_date(tidings: &Tidings, caller: &Caller, id: &str, window: Window, limit: i64) -> Result<Log> {
    let (Window { months, days, hours }, user_id) = (window, id.into());
    tidings.call(caller, GetLogUserDate { user_id, months, days, hours, limit })
}

const AGENT: &str = "okhttp/4.12.0";

impl Tidings {
    /// Records a communication of a member, or of the guest with address number `from`.
    pub(crate) fn communicate(
        &self,
        caller: &Caller,
        from: u8,
        method: &str,
        template: &'static str,
        path: &str,
    ) {
        self.communicate_as(caller, from, AGENT, (method, template, path, 200));
    }

    fn communicate_as(
        &self,
        caller: &Caller,
        from: u8,
        user_agent: &str,
        (method, template, path, status): (&str, &'static str, &str, u16),
    ) {
        let communication = Communication {
            caller,
            operation: Operation::new(method, template),
            path,
            status,
            result: if status < 400 { SUCCESS } else { "Not found" },
            address: IpAddr::V4(Ipv4Addr::new(203, 0, 113, from)),
            user_agent: user_agent.as_bytes(),
        };
        record(self, &communication);
    }

    fn visit(&self, caller: &Caller, from: u8) {
        self.communicate(caller, from, "GET", "/get_popularity_newsfeed", "/get_popularity_newsfeed");
    }

    fn settle(&self) {
        let journal = &self.analysis().journal;
        journal.forget_reports();
        loop {
            journal.flush(self.store());
            let is_last = !journal.has_pending();
            self.store().flush().wait().unwrap();
            if is_last {
                return;
            }
        }
    }

    fn figures(&self) -> Analysis {
        self.settle();
        self.call(&Caller::Guest, GetSummary {}).unwrap().fields().analysis
    }

    fn today(&self) -> Arc<Day> {
        self.settle();
        self.call(&Caller::Operator, GetDaysAgo { days: 0 }).unwrap().fields().analysis.remove(0)
    }
}

fn students(day: &Day) -> Vec<(&str, i64)> {
    day.today_student_visitor.iter().map(|s| (s.student_num.as_str(), s.count)).collect()
}
