//! The right of a caller to a long operation: an import, or a stream of events. It is checked again meanwhile.

use std::time::Duration;

use tidings_core::account::key::Scope;
use tidings_core::account::{Caller, Client, check_right};
use tidings_core::{Error, Result};
use tokio::time::sleep;

use crate::filter::request::Call;
use crate::state::AppRef;

pub(crate) const CHECK_EVERY: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 5_000 });

/// Of an administrator, or of an API key with a scope.
pub(crate) struct Right {
    app: AppRef,
    caller: Caller,
    client: Client,
    scope: Scope,
}

impl Right {
    pub(crate) async fn of(call: &Call, scope: Scope) -> Result<Self> {
        let (app, caller) = (call.app().clone(), call.caller().clone());
        let right = Self { app, caller, client: call.address().into(), scope };
        right.check().await?;
        Ok(right)
    }

    pub(crate) async fn check(&self) -> Result<()> {
        let (tidings, caller, scope) = (self.app.tidings.clone(), self.caller.clone(), self.scope);
        self.app.lanes.read.run_for(self.client, move || check_right(&tidings, &caller, scope)).await
    }

    pub(crate) async fn lost(&self) -> Error {
        loop {
            sleep(CHECK_EVERY).await;
            match self.check().await {
                Err(error) if !is_temporary(&error) => return error,
                _ => {}
            }
        }
    }
}

pub(crate) fn is_temporary(error: &Error) -> bool {
    matches!(error, Error::Overloaded) || error.is_unavailable()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::stream;
    use http::{Request, Response};
    use http_body::Frame;
    use http_body_util::{BodyExt as _, StreamBody};
    use tidings_core::account::key;
    use tower::ServiceExt as _;

    use super::*;
    use crate::config::Config;
    use crate::router::Router;
    use crate::testing::{by, outcome, service};

    fn endless() -> StreamBody<impl stream::Stream<Item = Result<Frame<Bytes>, std::convert::Infallible>>> {
        use futures_util::StreamExt as _;
        let first = stream::iter([Ok(Frame::data(Bytes::from_static(b"{")))]);
        StreamBody::new(Box::pin(first.chain(stream::pending())))
    }

    #[tokio::test]
    async fn an_import_ends_when_its_key_is_revoked() {
        let service = service();
        let scopes = vec![Scope::PostsImport.name().into()];
        let add = key::Add { name: "loader".into(), scopes, expires: None };
        let key = service.tidings.call(&Caller::Operator, add).unwrap();
        let app = service.app(Config::default());
        let import = |path: &str| {
            let request = Request::builder().method("POST").uri(path).body(endless()).unwrap();
            let answer = Router::new(&app).service().oneshot(by(&key.key, request));
            tokio::spawn(async move {
                let (head, body) = answer.await.unwrap().into_parts();
                outcome(&Response::from_parts(head, body.collect().await.unwrap().to_bytes()))
            })
        };
        assert_eq!(import("/import_acts").await.unwrap(), "403 Not admin");
        let running = [import("/import_posts"), import("/import_posts")];
        while app.imports.taken() < 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(import("/import_posts").await.unwrap(), "429 too many requests");
        let id = service.tidings.call(&Caller::Operator, key::List {}).unwrap().keys[0].id.clone();
        service.tidings.call(&Caller::Operator, key::Revoke { key_obi: id.clone() }).unwrap();
        for running in running {
            assert_eq!(running.await.unwrap(), "401 bad token");
        }
        while app.imports.taken() > 0 {
            tokio::task::yield_now().await;
        }
    }
}
