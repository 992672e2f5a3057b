//! Posts in CSV. The columns have the names of the fields.

use csv::StringRecord;

use super::line::{FAV_RULE, Fields, Names, VIEW_RULE};
use crate::import::csv::Columns;

/// The columns of posts.
pub(super) const COLUMNS: Columns = Columns {
    known: &["_id", "title", "url", "date", "post", "img", "end_date", "topic", "tag", "view", "fav_cnt"],
    needed: &["url"],
    missing: "the first line names the fields, and url is not among them: title,url,post,img,topic,tag,date,end_date",
};

/// Returns the fields of a line.
pub(super) fn fields(names: &[String], values: &StringRecord) -> Result<Fields, String> {
    let mut fields = Fields::default();
    for (name, written) in names.iter().zip(values) {
        let value = written.trim();
        let given = || Some(value).filter(|value| !value.is_empty()).map(str::to_owned);
        let list = || Some(Names::split(value, &[',', ';']));
        let count = |rule: &str| given().map(|given| given.parse().map_err(|_| rule.to_owned())).transpose();
        match name.as_str() {
            "_id" => fields.id = given(),
            "title" => fields.title = given(),
            "url" => fields.url = given(),
            "date" => fields.date = given(),
            "post" => fields.post = Some(written.strip_suffix('\r').unwrap_or(written).to_owned()),
            "img" => fields.img = Some(value.to_owned()),
            "end_date" => fields.end_date = Some(value.to_owned()),
            "topic" => fields.topic = list(),
            "tag" => fields.tag = list(),
            "view" => fields.view = count(VIEW_RULE)?,
            "fav_cnt" => fields.fav_cnt = count(FAV_RULE)?,
            _ => {}
        }
    }
    Ok(fields)
}
