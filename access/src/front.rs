//! The two lines of the front page.

use serde::Serialize;
use tidings_core::main_info::{self, Draft, MainInfo};

use crate::Service;
use crate::error::Result;

impl Service {
    /// Returns the two lines of the front page.
    ///
    /// # Errors
    /// Those of [`main_info::get`].
    pub fn front(&self) -> Result<MainInfo> {
        self.run(
            |tidings, _| main_info::get(tidings),
            |server| server.as_reader().get(&["get_main_info"], &[]),
        )
    }

    /// Changes one line of the front page, or both.
    ///
    /// # Errors
    /// Those of [`main_info::update`].
    pub fn update_front(&self, draft: &Draft) -> Result<()> {
        #[derive(Serialize)]
        struct Form<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            new_info_1: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            new_info_2: Option<&'a str>,
        }
        self.run(
            |tidings, caller| main_info::update(tidings, caller, draft),
            |server| {
                let Draft { new_info_1, new_info_2 } = draft;
                let (new_info_1, new_info_2) = (new_info_1.as_deref(), new_info_2.as_deref());
                server.posted(&["update_main_info"], &Form { new_info_1, new_info_2 })
            },
        )
    }
}
