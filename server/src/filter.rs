//! The steps that every request passes, the parts of a request that operations read, and their responses.
//!
//! | module | what it does |
//! |---|---|
//! | `target`, `limit`, `policy` | refuses requests without a path and requests that are too frequent |
//! | `cors`, `security` | what web pages of other origins may read, and what pages of the service may do |
//! | `request`, `fields`, `upload`, `client`, `right` | what a handler can read of a request, and whether its caller still may |
//! | `lane`, `shares` | runs operations outside the async threads, with a bounded queue for each kind of work, and fair shares |
//! | `reply`, `accept`, `coding`, `forms`, `caching`, `download` | the response: status, headers, compression, `304 Not Modified`, streamed files |
//! | `request_record` | records answered requests in the access log and the counters |

pub(crate) mod accept;
pub(crate) mod caching;
pub(crate) mod client;
pub(crate) mod coding;
pub(crate) mod cors;
pub(crate) mod download;
pub(crate) mod fields;
pub(crate) mod forms;
pub(crate) mod lane;
pub(crate) mod limit;
pub(crate) mod policy;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod request_record;
pub(crate) mod right;
pub(crate) mod security;
pub(crate) mod shares;
pub(crate) mod target;
pub(crate) mod upload;
