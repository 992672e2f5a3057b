//! The responses to a request: from memory, or of an operation that runs on the async thread or in a lane.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderValue;
use serde::Serialize;
use tidings_core::account::{Caller, ClientInfo};
use tidings_core::answer::{self, Encoded};
use tidings_core::error::Code;
use tidings_core::operation::{self, Spec};
use tidings_core::{Error, Outcome, Result, Tidings};

use super::{Call, Context, Parts};
use crate::filter::caching::{self, Checked, Condition};
use crate::filter::coding::{Accepted, Level};
use crate::filter::forms::{self, Forms as _};
use crate::filter::lane::{Lane, Lanes};
use crate::filter::reply::{Answer, JSON, Refusal, Reply};

/// The largest response, in bytes, that is compressed on an async thread.
const COMPRESSED_AT_ONCE: usize = 8 * 1024;

/// Begins an operation, which does not block.
pub(crate) type Work = Box<dyn FnOnce(&Tidings, &Caller, &ClientInfo) -> Begun + Send>;
type Blocking = Box<dyn FnOnce(&Tidings, &Caller, &ClientInfo) -> Result<Made> + Send>;

pub(crate) enum Begun {
    Awaited(Pin<Box<dyn Future<Output = Result<Made>> + Send>>),
    /// It blocks, so it runs where its kind of work belongs.
    Blocking(Blocking),
}

pub(crate) enum Made {
    Own(Vec<u8>),
    Shared(Arc<Encoded>),
}

impl Context {
    /// For a response of another thread.
    fn condition(&self) -> Condition {
        Condition::of(&self.head.headers, self.is_tagged)
    }

    /// Only if the response has a tag.
    fn check<T: AsRef<[u8]>>(&self, tag: impl FnOnce() -> T) -> Checked {
        if self.is_tagged {
            caching::check(&self.head.headers, tag().as_ref())
        } else {
            Checked::Changed(None)
        }
    }

    fn accepted(&self) -> Accepted {
        Accepted::of(&self.head.headers)
    }

    pub(crate) fn encoded(&self, cached: &Arc<Encoded>) -> impl Future<Output = Answer> + Send {
        self.shared(cached, JSON, Level::Answer)
    }

    fn document(
        &self,
        cached: &Arc<Encoded>,
        media_type: HeaderValue,
    ) -> impl Future<Output = Answer> + Send {
        self.shared(cached, media_type, Level::Answer)
    }

    fn file(&self, cached: &Arc<Encoded>, media_type: HeaderValue) -> impl Future<Output = Answer> + Send {
        self.shared(cached, media_type, Level::File)
    }

    /// A large response without a cached compressed form is compressed in a lane; if that lane is full, the response is sent
    /// uncompressed.
    async fn shared(&self, cached: &Arc<Encoded>, media_type: HeaderValue, level: Level) -> Answer {
        match self.check(|| cached.tag()) {
            Checked::Unchanged(tag) => Ok(Reply::not_modified(tag)),
            Checked::Changed(tag) => Ok(self.coded(cached, media_type, level).await?.tagged(tag)),
        }
    }

    async fn coded(&self, cached: &Arc<Encoded>, media_type: HeaderValue, level: Level) -> Answer {
        let accepted = self.accepted();
        if !self.is_personal {
            self.app.compressor.offer(cached, accepted, level);
        }
        let is_ready = cached.gzip().is_some() || (accepted.brotli && cached.brotli().is_some());
        if !accepted.gzip || is_ready || cached.json().len() <= COMPRESSED_AT_ONCE {
            return Ok(Reply::encoded(cached, media_type, accepted));
        }
        let (shared, type_of_shared) = (Arc::clone(cached), media_type.clone());
        let compress = move || Ok(Reply::encoded(&shared, type_of_shared, accepted));
        // Boxed, because it is large and rare, and every response would have room for it.
        match Box::pin(self.app.lanes.codec.run_for(self.address().into(), compress)).await {
            Err(Error::Overloaded) => Ok(Reply::encoded(cached, media_type, Accepted::default())),
            compressed => Ok(compressed?),
        }
    }
}

impl Call {
    pub(crate) fn encoded(&self, cached: &Arc<Encoded>) -> impl Future<Output = Answer> + Send {
        self.0.context.encoded(cached)
    }

    pub(crate) fn file(
        &self,
        cached: &Arc<Encoded>,
        media_type: HeaderValue,
    ) -> impl Future<Output = Answer> + Send {
        self.0.context.file(cached, media_type)
    }

    pub(crate) fn document(
        &self,
        cached: &Arc<Encoded>,
        media_type: HeaderValue,
    ) -> impl Future<Output = Answer> + Send {
        self.0.context.document(cached, media_type)
    }

    /// Runs an operation where its kind of work belongs.
    ///
    /// While reads of a few rows are quick, they run on the async thread, because moving them to another thread and back costs
    /// more than the read. They run in the lane of short reads while all connections are in use, and while the average read is
    /// slow, as when the database is not in the system's memory.
    pub(crate) async fn run(self, spec: Spec, work: Work) -> Answer {
        if !spec.is_attempt || !self.app().config.log_auth_failures {
            return self.begin(spec.work, work).await;
        }
        let address = self.address();
        let answer = self.begin(spec.work, work).await;
        if let Err(Refusal::Operation(error)) = &answer
            && is_auth_failure(error)
        {
            // Tools that block addresses parse this line, so its text must not change.
            tracing::warn!(client = %address, reason = %error, "sign-in failed");
        }
        answer
    }

    pub(crate) async fn begin(self, kind: operation::Work, work: Work) -> Answer {
        let client = self.client_info();
        let work = match work(self.tidings(), self.caller(), &client) {
            Begun::Awaited(made) => return self.made(made.await?).await,
            Begun::Blocking(work) => work,
        };
        if kind != operation::Work::Few {
            return self.make_in(kind, client, work).await;
        }
        let context = Arc::clone(&self.0.context);
        let pace = &context.app.lanes.pace;
        if pace.is_quick() && self.tidings().can_read_now() {
            let made = pace.measure(|| work(self.tidings(), self.caller(), &client))?;
            return self.made(made).await;
        }
        let app = context.app.clone();
        let measured: Blocking =
            Box::new(move |tidings, caller, client| app.lanes.pace.measure(|| work(tidings, caller, client)));
        self.make_in(kind, client, measured).await
    }

    async fn made(&self, made: Made) -> Answer {
        match made {
            Made::Own(json) => self.compressed(json.into()).await,
            Made::Shared(encoded) => self.encoded(&encoded).await,
        }
    }

    async fn make_in(self, kind: operation::Work, client: ClientInfo, work: Blocking) -> Answer {
        let (app, condition) = (self.app().clone(), self.0.context.condition());
        let is_personal = self.0.context.is_personal;
        let places = match kind {
            operation::Work::Remote => Some(&app.remote),
            operation::Work::Long => Some(&app.imports),
            _ => None,
        };
        let taken = places.and_then(|places| Some(places.take(self.caller().account(self.tidings())?, 1)));
        let place = taken.transpose()?;
        let answer = move |tidings: &_, caller: &_, accepted| {
            // Returned when the work ends, also if the client is gone by then.
            let _place = place;
            Ok(match work(tidings, caller, &client)? {
                Made::Own(json) => {
                    let json = Bytes::from(json);
                    match condition.check(|| forms::tag(&json)) {
                        Checked::Unchanged(tag) => Reply::not_modified(tag),
                        Checked::Changed(tag) => Reply::json(json, accepted).tagged(tag),
                    }
                }
                Made::Shared(cached) => match condition.check(|| cached.tag()) {
                    Checked::Unchanged(tag) => Reply::not_modified(tag),
                    Checked::Changed(tag) => {
                        if !is_personal {
                            app.compressor.offer(&cached, accepted, Level::Answer);
                        }
                        Reply::encoded(&cached, JSON, accepted).tagged(tag)
                    }
                },
            })
        };
        self.run_in(|lanes| lanes.of(kind), answer).await
    }

    /// Runs an operation in a lane whose answer several callers share, a document of this type.
    pub(crate) fn document_in(
        self,
        lane: impl FnOnce(&Lanes) -> &Lane + Send,
        media_type: HeaderValue,
        work: impl FnOnce(&Tidings, &Caller) -> Result<Arc<Encoded>> + Send + 'static,
    ) -> impl Future<Output = Answer> + Send {
        let (app, condition) = (self.0.context.app.clone(), self.0.context.condition());
        let answer = move |tidings: &_, caller: &_, accepted| {
            let cached = work(tidings, caller)?;
            Ok(match condition.check(|| cached.tag()) {
                Checked::Unchanged(tag) => Reply::not_modified(tag),
                Checked::Changed(tag) => {
                    app.compressor.offer(&cached, accepted, Level::Answer);
                    Reply::encoded(&cached, media_type, accepted).tagged(tag)
                }
            })
        };
        self.run_in(lane, answer)
    }

    /// A large object is compressed on another thread.
    async fn compressed(&self, json: Bytes) -> Answer {
        let tag = match self.0.context.check(|| forms::tag(&json)) {
            Checked::Unchanged(tag) => return Ok(Reply::not_modified(tag)),
            Checked::Changed(tag) => tag,
        };
        let accepted = self.0.context.accepted();
        if !accepted.gzip || json.len() <= COMPRESSED_AT_ONCE {
            return Ok(Reply::json(json, accepted).tagged(tag));
        }
        let plain = json.clone();
        match self
            .0
            .context
            .app
            .lanes
            .codec
            .run_for(self.address().into(), move || Ok(Reply::json(json, accepted)))
            .await
        {
            Err(Error::Overloaded) => Ok(Reply::json(plain, Accepted::default()).tagged(tag)),
            compressed => Ok(compressed?.tagged(tag)),
        }
    }

    pub(crate) fn answer_in<T: Serialize>(
        self,
        lane: impl FnOnce(&Lanes) -> &Lane + Send,
        work: impl FnOnce(&Tidings, &Caller) -> Result<T> + Send + 'static,
    ) -> impl Future<Output = Answer> + Send {
        let condition = self.0.context.condition();
        let answer = move |tidings: &_, caller: &_, accepted| {
            let json = Bytes::from(answer::success(&work(tidings, caller)?));
            Ok(match condition.check(|| forms::tag(&json)) {
                Checked::Unchanged(tag) => Reply::not_modified(tag),
                Checked::Changed(tag) => Reply::json(json, accepted).tagged(tag),
            })
        };
        self.run_in(lane, answer)
    }

    pub(crate) async fn run_in<T: Send + 'static>(
        self,
        lane: impl FnOnce(&Lanes) -> &Lane + Send,
        work: impl FnOnce(&Tidings, &Caller, Accepted) -> Result<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (accepted, client) = (self.0.context.accepted(), self.address().into());
        let Parts { context, caller, .. } = *self.0;
        let app = &context.app;
        let tidings = app.tidings.clone();
        Ok(lane(&app.lanes).run_for(client, move || work(&tidings, &caller, accepted)).await?)
    }
}

fn is_auth_failure(error: &Error) -> bool {
    use Outcome::{IncorrectCode, IncorrectOtp, IncorrectPw, NoMember, NotSchool, PwIncorrect};
    let wrong = [NoMember, IncorrectPw, IncorrectOtp, IncorrectCode, NotSchool, PwIncorrect];
    match error {
        Error::Documented(_, problem) if problem.code == Code::SignUpClosed => false,
        Error::Documented(outcome, _) => wrong.contains(outcome),
        Error::TooManyRequests { .. } => true,
        _ => false,
    }
}
