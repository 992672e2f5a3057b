//! Posts, which administrators write and import, and members view and like.

use tidings_core::post::{
    self, Get, Hide, Insert, Like, List, ListCategories, Remove, Unhide, Unlike, Update, View,
};

use crate::docs;
use crate::download;
use crate::limit::Counted;
use crate::reply::{Answer, Reply};
use crate::request::Call;
use crate::route::Route;

pub(crate) mod import;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::of::<Get>(),
        Route::of::<ListCategories>(),
        Route::of::<List>(),
        Route::get("/export_posts", export_posts).reads(),
        Route::of::<View>().answered_by(view),
        Route::of::<Like>().answered_by(like),
        Route::of::<Unlike>().answered_by(unlike),
        Route::of::<Hide>().answered_by(hide),
        Route::of::<Unhide>().answered_by(unhide),
        Route::of::<Insert>(),
        Route::of::<Update>(),
        Route::of::<Remove>(),
        Route::post("/import_posts", import::import_posts).counts_as(Counted::Write),
    ]
}

// The acts of many callers are written together: none of them waits on a thread of its own.

async fn view(call: Call, View { post_obi }: View) -> Answer {
    let guest = Some(call.guest());
    Reply::written(post::view_from(call.tidings(), call.caller(), guest, &post_obi)).await
}

async fn like(call: Call, Like { post_obi }: Like) -> Answer {
    Reply::written(post::like(call.tidings(), call.caller(), &post_obi)).await
}

async fn unlike(call: Call, Unlike { post_obi }: Unlike) -> Answer {
    Reply::written(post::unlike(call.tidings(), call.caller(), &post_obi)).await
}

async fn hide(call: Call, Hide { post_obi }: Hide) -> Answer {
    Reply::written(post::hide(call.tidings(), call.caller(), &post_obi)).await
}

async fn unhide(call: Call, Unhide { post_obi }: Unhide) -> Answer {
    Reply::written(post::unhide(call.tidings(), call.caller(), &post_obi)).await
}

/// Returns all posts in the format that `/import_posts` reads
///
/// The response is a download of any length with one JSON object on each line, in the order of the insertions, sent as it is
/// read: posts may change meanwhile. At most 16 downloads run at the same time, four of one caller, each for at most
/// ten minutes; the client reads at least 64 KiB in 20 seconds.
#[utoipa::path(
    get,
    path = "/export_posts",
    tag = "post",
    security(("token" = [])),
    responses((status = 200, body = String, content_type = "application/x-ndjson"), docs::Administrators),
)]
pub(crate) async fn export_posts(call: Call) -> Answer {
    let posts = post::PostExport::new(call.tidings(), call.caller());
    download::lines(&call, posts, "posts.jsonl").await
}

#[cfg(test)]
mod tests {
    use crate::testing::{by, json, outcome, post, request, service};

    #[tokio::test]
    async fn acts_are_answered_once_they_are_on_disk() {
        let service = service();
        let (admin, member) = (service.admin("boss").await, service.member("ann").await);
        let form = "title=A&url=https://example.org/a&topic=x,y&tag=z&tag=w&end_date=";
        let insert = post("/insert_post", "application/x-www-form-urlencoded", form);
        let id = json(&service.call(by(&admin, insert)).await)["_id"].as_str().unwrap().to_owned();
        for path in ["post_view", "post_like", "post_like"] {
            let act = by(&member, request("GET", &format!("/{path}/{id}")));
            assert_eq!(outcome(&service.call(act).await), "200 success");
        }
        let found = json(&service.call(request("GET", &format!("/get_post/{id}"))).await)["post"].clone();
        assert_eq!((&found["view"], &found["fav_cnt"]), (&1.into(), &1.into()));
        assert_eq!((&found["topic"], &found["tag"]), (&["x", "y"][..].into(), &["z", "w"][..].into()));
        assert_eq!(
            outcome(&service.call(request("GET", &format!("/post_like/{id}"))).await),
            "401 bad token"
        );
        assert_eq!(outcome(&service.call(request("GET", "/post_view/%00")).await), "404 Not found");
    }
}
