use tidings_core::config;
use tidings_core::operation::{Operation, Stream};
use tidings_core::operations::{self, Visitor};

use crate::api::{account_page, data, home, newsfeed, oidc, report, websub};
use crate::config::Config;
use crate::route::Route;
use crate::{events, openapi};

pub(crate) fn all(core: &config::Config, config: &Config) -> Vec<Route> {
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
