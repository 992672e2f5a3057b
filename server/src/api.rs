//! The routes of the API, and the handlers of those that are more than their operation.

use tidings_core::config;
use tidings_core::operation::{Operation, Stream};
use tidings_core::operations::{self, Visitor};

use crate::config::Config;
use crate::route::Route;
use crate::{events, openapi};

pub(crate) mod account_page;
pub(crate) mod data;
pub(crate) mod home;
pub(crate) mod import;
pub(crate) mod newsfeed;
pub(crate) mod notice;
pub(crate) mod oidc;
pub(crate) mod post;
pub(crate) mod report;
#[cfg(test)]
mod tests;
pub(crate) mod websub;

pub(crate) fn routes(core: &config::Config, config: &Config) -> Vec<Route> {
    struct Declared(Vec<Route>);

    impl Visitor for Declared {
        fn visit<O: Operation>(&mut self) {
            self.0.push(Route::of::<O>());
        }

        fn stream<S: Stream>(&mut self) {
            // Its handler is below.
        }
    }

    let handlers = [
        oidc::handlers(),
        data::handlers(),
        import::handlers(),
        notice::handlers(),
        post::handlers(),
        newsfeed::handlers(),
        websub::handlers(),
        report::handlers(),
        events::handlers(),
        home::handlers(config),
        account_page::handlers(core, config),
        openapi::handlers(core, config),
    ];
    let handlers: Vec<Route> = handlers.into_iter().flatten().collect();
    let mut declared = Declared(Vec::new());
    operations::each(&mut declared);
    declared.0.retain(|route| !handlers.iter().any(|other| other.is_of(route)));
    declared.0.extend(handlers);
    declared.0
}
