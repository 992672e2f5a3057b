//! The responses to a request: from memory, or of an operation that runs on the async thread or in a lane.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderValue;
use http::header::ETAG;
use serde::Serialize;
use tidings_core::account::{Caller, ClientInfo};
use tidings_core::answer::{self, Encoded};
use tidings_core::error::Code;
use tidings_core::operation::{self, Operation, Spec};
use tidings_core::{Error, Outcome, Result, Tidings};

use super::{Call, Context};
use crate::filter::caching::{Checked, Condition};
use crate::filter::coding::{Accepted, Level};
use crate::filter::forms::{self, Forms as _};
use crate::filter::lane::{Lane, Lanes};
use crate::filter::reply::{Answer, JSON, Refusal, Reply};
use crate::state::AppRef;

/// The largest response, in bytes, that is compressed on an async thread.
const COMPRESSED_AT_ONCE: usize = 8 * 1024;

pub(crate) type Work = Begin<Begun>;
type Begin<T> = Box<dyn FnOnce(&Tidings, &Caller, &ClientInfo) -> T + Send>;

pub(crate) enum Begun {
    Awaited(Pin<Box<dyn Future<Output = Result<Made>> + Send>>),
    /// It blocks, so it runs where its kind of work belongs.
    Blocking(Begin<Result<Made>>),
}

#[derive(Clone)]
pub(crate) enum Made {
    Own(Bytes),
    Shared(Arc<Encoded>),
}

pub(crate) fn boxed<O: Operation>(operation: O) -> Work {
    Box::new(move |tidings, caller, client| match tidings.start_from(caller, client, operation) {
        Ok(pending) => Begun::Awaited(Box::pin(async move { Ok(made::<O>(&pending.await?)) })),
        Err(operation) => Begun::Blocking(Box::new(move |tidings, caller, client| {
            Ok(made::<O>(&tidings.call_from(caller, client, operation)?))
        })),
    })
}

fn made<O: Operation>(answer: &O::Answer) -> Made {
    O::shared(answer).map_or_else(|| own(answer), |shared| Made::Shared(Arc::clone(shared)))
}

fn own<T: Serialize>(body: &T) -> Made {
    Made::Own(answer::success(body).into())
}

/// What of the request decides how an answer is sent, for any thread.
struct Delivery {
    app: AppRef,
    condition: Condition,
    accepted: Accepted,
    media_type: HeaderValue,
    /// `None` for an answer that is not worth Brotli.
    brotli: Option<Level>,
}

impl Delivery {
    fn reply(&self, made: &Made) -> Reply {
        let checked = match made {
            Made::Own(json) => self.condition.check(|| forms::tag(json)),
            Made::Shared(cached) => self.condition.check(|| cached.tag()),
        };
        let tag = match checked {
            Checked::Unchanged(tag) => return Reply::not_modified(tag),
            Checked::Changed(tag) => tag,
        };
        let reply = match made {
            Made::Own(json) => Reply::json(json.clone(), self.accepted),
            Made::Shared(cached) => {
                if let Some(level) = self.brotli {
                    self.app.compressor.offer(cached, self.accepted, level);
                }
                Reply::encoded(cached, self.media_type.clone(), self.accepted)
            }
        };
        match tag {
            Some(tag) => reply.with(ETAG, tag),
            None => reply,
        }
    }

    fn is_quick(&self, made: &Made) -> bool {
        let (length, is_compressed) = match made {
            Made::Own(json) => (json.len(), false),
            Made::Shared(cached) => {
                let has_brotli = self.accepted.brotli && cached.brotli().is_some();
                (cached.json().len(), has_brotli || cached.gzip().is_some())
            }
        };
        !self.accepted.gzip || is_compressed || length <= COMPRESSED_AT_ONCE
    }
}

impl Context {
    fn delivery(&self, media_type: HeaderValue, level: Level) -> Delivery {
        Delivery {
            app: self.app.clone(),
            condition: Condition::of(&self.head.headers, self.is_tagged),
            accepted: Accepted::of(&self.head.headers),
            media_type,
            brotli: (!self.is_personal).then_some(level),
        }
    }

    /// A large answer without a cached compressed form is compressed in a lane; if that lane is full, the response is sent
    /// uncompressed.
    pub(crate) async fn send(&self, made: Made, media_type: HeaderValue, level: Level) -> Answer {
        let delivery = self.delivery(media_type.clone(), level);
        if delivery.is_quick(&made) {
            return Ok(delivery.reply(&made));
        }
        let compressed = made.clone();
        let compress = move || Ok(delivery.reply(&compressed));
        // Boxed, because it is large and rare, and every response would have room for it.
        match Box::pin(self.app.lanes.codec.run_for(self.address().into(), compress)).await {
            Err(Error::Overloaded) => {
                let plain = Delivery { accepted: Accepted::default(), ..self.delivery(media_type, level) };
                Ok(plain.reply(&made))
            }
            reply => Ok(reply?),
        }
    }
}

impl Call {
    pub(crate) async fn document(&self, cached: &Arc<Encoded>, media_type: HeaderValue) -> Answer {
        self.context.send(Made::Shared(Arc::clone(cached)), media_type, Level::Answer).await
    }

    pub(crate) async fn file(&self, cached: &Arc<Encoded>, media_type: HeaderValue) -> Answer {
        self.context.send(Made::Shared(Arc::clone(cached)), media_type, Level::File).await
    }

    pub(crate) async fn run(self, spec: Spec, work: Work) -> Answer {
        let logs = spec.is_attempt && self.app().config.log_auth_failures;
        let address = self.address();
        let answer = self.begin(spec.work, work).await;
        if logs
            && let Err(Refusal::Operation(error)) = &answer
            && is_auth_failure(error)
        {
            // Tools that block addresses parse this line, so its text must not change.
            tracing::warn!(client = %address, reason = %error, "sign-in failed");
        }
        answer
    }

    /// Begins an operation, and runs it where its kind of work belongs if it blocks. While reads of a few rows are quick, they run
    /// on the async thread, because moving them to another thread and back costs more than the read. They run in the lane of short
    /// reads while all connections are in use, and while the average read is slow, as when the database is not in the system's
    /// memory.
    pub(crate) async fn begin(self, kind: operation::Work, work: Work) -> Answer {
        let (app, client) = (self.app().clone(), self.client_info());
        let work = match work(self.tidings(), self.caller(), &client) {
            Begun::Awaited(made) => return self.context.send(made.await?, JSON, Level::Answer).await,
            Begun::Blocking(work) => work,
        };
        if kind == operation::Work::Few && app.lanes.pace.is_quick() && self.tidings().can_read_now() {
            let made = app.lanes.pace.measure(|| work(self.tidings(), self.caller(), &client))?;
            return self.context.send(made, JSON, Level::Answer).await;
        }
        let places = match kind {
            operation::Work::Remote => Some(&app.remote),
            operation::Work::Long => Some(&app.imports),
            _ => None,
        };
        let taken = places.and_then(|places| Some(places.take(self.caller().account(self.tidings())?, 1)));
        let place = taken.transpose()?;
        let make = move |tidings: &_, caller: &_| {
            // Returned when the work ends, also if the client is gone by then.
            let _place = place;
            match kind {
                operation::Work::Few => app.lanes.pace.measure(|| work(tidings, caller, &client)),
                _ => work(tidings, caller, &client),
            }
        };
        self.make_in(|lanes| lanes.of(kind), JSON, make).await
    }

    async fn make_in(
        self,
        lane: impl FnOnce(&Lanes) -> &Lane + Send,
        media_type: HeaderValue,
        make: impl FnOnce(&Tidings, &Caller) -> Result<Made> + Send + 'static,
    ) -> Answer {
        let delivery = self.context.delivery(media_type, Level::Answer);
        self.run_in(lane, move |tidings, caller, _| Ok(delivery.reply(&make(tidings, caller)?))).await
    }

    /// Runs an operation in a lane whose answer several callers share, a document of this type.
    pub(crate) async fn document_in(
        self,
        lane: impl FnOnce(&Lanes) -> &Lane + Send,
        media_type: HeaderValue,
        work: impl FnOnce(&Tidings, &Caller) -> Result<Arc<Encoded>> + Send + 'static,
    ) -> Answer {
        self.make_in(lane, media_type, move |tidings, caller| work(tidings, caller).map(Made::Shared)).await
    }

    pub(crate) async fn answer_in<T: Serialize>(
        self,
        lane: impl FnOnce(&Lanes) -> &Lane + Send,
        work: impl FnOnce(&Tidings, &Caller) -> Result<T> + Send + 'static,
    ) -> Answer {
        self.make_in(lane, JSON, move |tidings, caller| Ok(own(&work(tidings, caller)?))).await
    }

    pub(crate) async fn run_in<T: Send + 'static>(
        self,
        lane: impl FnOnce(&Lanes) -> &Lane + Send,
        work: impl FnOnce(&Tidings, &Caller, Accepted) -> Result<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (accepted, client) = (Accepted::of(self.headers()), self.address().into());
        let Self { context, caller, .. } = self;
        let tidings = context.app.tidings.clone();
        Ok(lane(&context.app.lanes).run_for(client, move || work(&tidings, &caller, accepted)).await?)
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
