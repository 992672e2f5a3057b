//! End-to-end tests: the real binary, over real HTTP. The expected responses are those of the interface's
//! documentation; each module tests one slice.
#![expect(clippy::unwrap_used, reason = "a failed step of a test panics")]

mod account;
mod admin;
mod administration;
mod analysis;
mod bench;
mod cli;
mod client;
mod containers;
mod demo;
mod docs;
mod events;
mod faults;
mod feedback;
mod form;
mod http;
mod import;
mod isolation;
mod login;
mod main_info;
mod main_job;
mod matrix;
mod meanwhile;
mod member_data;
mod metrics;
mod monitoring;
mod moving;
mod newsfeed;
mod notice;
mod packages;
mod pooler;
mod post;
mod postgres;
mod profile;
mod programs;
mod proxies;
mod remote_administration;
mod search;
mod source;
mod structure;
mod supervisor;
mod tls;
mod tui;
mod webhook;
mod words;
