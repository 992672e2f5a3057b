//! tidings from outside: the real binary, over real HTTP. What an answer has to be stands in the documents of
//! the interface; each module holds the tests of one slice.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod account;
mod admin;
mod analysis;
mod bench;
mod cli;
mod demo;
mod docs;
mod faults;
mod feedback;
mod form;
mod http;
mod import;
mod isolation;
mod main_info;
mod main_job;
mod matrix;
mod meanwhile;
mod metrics;
mod moving;
mod newsfeed;
mod notice;
mod post;
mod profile;
mod search;
mod tui;
mod words;
