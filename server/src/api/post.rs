//! Posts, which administrators write and import, and members view and like.

use tidings_core::post::{ExportPosts, ImportPosts};

use crate::filter::download;
use crate::route::Route;

pub(crate) fn handlers() -> Vec<Route> {
    vec![
        Route::stream::<ExportPosts, _>(download::lines),
        Route::stream::<ImportPosts, _>(crate::api::import::import_posts),
    ]
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
