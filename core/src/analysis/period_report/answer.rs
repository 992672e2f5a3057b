//! The answer with the report of a period: shared by all who ask for it.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::PeriodReport;
use crate::record::answer::{self, Encoded};

/// The report of a period, with its encoded forms. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Report(Arc<Content>);

#[derive(Debug)]
struct Content {
    report: PeriodReport,
    answer: OnceLock<Arc<Encoded>>,
    page: OnceLock<Arc<Encoded>>,
}

impl Report {
    pub(super) fn new(report: PeriodReport) -> Self {
        Self(Arc::new(Content { report, answer: OnceLock::new(), page: OnceLock::new() }))
    }

    /// Returns the complete answer as JSON.
    pub fn answer(&self) -> &Arc<Encoded> {
        self.0.answer.get_or_init(|| Arc::new(Encoded::new(answer::success(&self.0.report))))
    }

    /// Returns the page for people. Calls `render` only the first time.
    pub fn page(&self, render: impl FnOnce(&PeriodReport) -> String) -> &Arc<Encoded> {
        self.0.page.get_or_init(|| Arc::new(Encoded::new(render(&self.0.report))))
    }

    #[cfg(test)]
    pub(in crate::analysis) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Report {
    type Target = PeriodReport;

    fn deref(&self) -> &PeriodReport {
        &self.0.report
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.report.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        PeriodReport::deserialize(deserializer).map(Self::new)
    }
}

impl PartialSchema for Report {
    fn schema() -> RefOr<Schema> {
        PeriodReport::schema()
    }
}

impl ToSchema for Report {
    fn name() -> Cow<'static, str> {
        PeriodReport::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        PeriodReport::schemas(schemas);
    }
}
