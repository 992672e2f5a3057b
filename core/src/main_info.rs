//! The two lines that an app shows on its front page.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::account::{Admin, Identity, Transaction};
use crate::audit::trail::{Action, Entry};
use crate::base::config::Bounds;
use crate::base::text;
use crate::record::error::{BrokenRule, Code, Problem, Result};
use crate::record::operation::{Access, Spec};
use crate::record::schema::InfoLine;
use crate::record::scope::Scope;
use crate::store::Tx;

const GROUP: &str = "notice";

/// The length of a line in characters; a line may be empty.
pub const LINE: Bounds = Bounds { min: 0, max: 50 };

/// The two lines; each is `""` until an administrator has written it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MainInfo {
    /// The first and the second line.
    #[schema(value_type = Vec<InfoLine>, min_items = 2, max_items = 2)]
    pub main_info: [String; 2],
}

/// The new lines; one that is `None` does not change.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Draft {
    /// The first line, {info-line} characters.
    #[schema(examples("Welcome back"))]
    pub new_info_1: Option<String>,
    /// The second line, {info-line} characters.
    #[schema(examples("The library is open until 22:00"))]
    pub new_info_2: Option<String>,
}

/// Get the front page lines
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Get {}

impl Transaction for Get {
    type By = ();
    type Answer = MainInfo;
    const SPEC: Spec = Spec::get(GROUP, "/get_main_info", Access::Open).public();

    fn run(&self, tx: &mut dyn Tx, (): &(), _: &Identity) -> Result<MainInfo> {
        Ok(MainInfo { main_info: sql::get(tx)? })
    }
}

/// Change the front page lines
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = MainInfoFields)]
pub struct Update {
    /// The lines.
    #[serde(rename = "..")]
    pub draft: Draft,
}

impl Transaction for Update {
    type By = Admin<'static>;
    type Answer = ();
    const SPEC: Spec = Spec::post(GROUP, "/update_main_info", Access::Admins(Scope::Front));

    fn run(&self, tx: &mut dyn Tx, admin: &Admin<'_>, _: &Identity) -> Result<()> {
        let lines = lines(&self.draft);
        let [first, second] = lines.as_ref()?;
        let before = sql::get(tx)?.join(" | ");
        sql::update(tx, admin, first.as_deref(), second.as_deref())?;
        let after = sql::get(tx)?.join(" | ");
        Ok(admin.record(tx, Entry::new(Action::FrontUpdate).change(Some(&before), Some(&after)))?)
    }
}

fn lines(draft: &Draft) -> Result<[Option<String>; 2], BrokenRule> {
    let Draft { new_info_1: first, new_info_2: second } = draft;
    if first.is_none() && second.is_none() {
        return Err(BrokenRule(Problem::new(Code::NothingGiven, "new_info_1 or new_info_2 must be given")));
    }
    let line = |text: &Option<String>, field| {
        let rule = Problem::invalid(field, "a line has up to 50 visible characters");
        let is_shown = |line: &String| line.trim().is_empty() || text::shown::is_shown(line);
        text.as_ref().map(|text| text::line(text, LINE).filter(is_shown).ok_or(BrokenRule(rule))).transpose()
    };
    Ok([line(first, "new_info_1")?, line(second, "new_info_2")?])
}

mod sql {
    use crate::account::Admin;
    use crate::store::{StoreError, Tx};

    pub(super) fn get(tx: &mut dyn Tx) -> Result<[String; 2], StoreError> {
        let mut row = tx.one("SELECT info_1, info_2 FROM main_info", &[])?;
        Ok([row.take(0)?, row.take(1)?])
    }

    pub(super) fn update(
        tx: &mut dyn Tx,
        _: &Admin<'_>,
        first: Option<&str>,
        second: Option<&str>,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE main_info SET info_1 = COALESCE($1, info_1), info_2 = COALESCE($2, info_2)";
        tx.run(sql, &[first.into(), second.into()])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Caller;
    use crate::record::error::Error;
    use crate::testing::service;

    fn draft(first: Option<&str>, second: Option<&str>) -> Draft {
        Draft { new_info_1: first.map(str::to_owned), new_info_2: second.map(str::to_owned) }
    }

    #[test]
    fn an_update_writes_one_line_or_both() {
        let service = service();
        let lines = || service.call(&Caller::Guest, Get {}).unwrap().main_info;
        assert_eq!(lines(), ["", ""]);
        let ann = service.admin("ann");
        service.call(&ann, Update { draft: draft(Some("Welcome"), Some("cafe\u{301}")) }).unwrap();
        assert_eq!(lines(), ["Welcome", "café"]);
        service.call(&ann, Update { draft: draft(None, Some(&"한".repeat(50))) }).unwrap();
        assert_eq!(lines(), ["Welcome", &"한".repeat(50)]);
        service.call(&Caller::Operator, Update { draft: draft(Some(""), None) }).unwrap();
        assert_eq!(lines(), ["", &"한".repeat(50)]);
        let json = serde_json::to_string(&service.call(&Caller::Guest, Get {}).unwrap()).unwrap();
        assert!(json.starts_with(r#"{"main_info":["","한"#), "{json}");
    }

    #[test]
    fn invalid_lines_are_refused_and_nothing_is_written() {
        let service = service();
        let ann = service.admin("ann");
        let long = "x".repeat(51);
        for (first, second) in [
            (None, None),
            (Some(long.as_str()), None),
            (Some("kept?"), Some(long.as_str())),
            (Some("kept?"), Some("a\nb")),
            (Some("nul\0"), Some("")),
        ] {
            let refused = service.call(&ann, Update { draft: draft(first, second) });
            assert!(matches!(refused, Err(Error::BadRequest(_))), "{first:?} {second:?}");
        }
        assert_eq!(service.call(&Caller::Guest, Get {}).unwrap().main_info, ["", ""]);
    }

    #[test]
    fn other_callers_do_not_learn_the_rules() {
        let service = service();
        let update = |caller: &Caller| service.call(caller, Update { draft: Draft::default() });
        assert!(matches!(update(&Caller::Guest), Err(Error::BadToken)));
        assert!(matches!(update(&service.member("ben")), Err(Error::Forbidden)));
    }
}
