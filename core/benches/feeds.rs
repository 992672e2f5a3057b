//! Measures feeds over 20,000 posts with a word model: `cargo bench -p tidings-core --bench feeds`.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use tidings_core::account::{Caller, SignUp};
use tidings_core::newsfeed::{self, FeedPage, ListRecommended, Page, Paging};
use tidings_core::{Tidings, post, search, words};

const POSTS: u64 = 20_000;

/// Returns posts with a topic, two tags and 62 words each; they are the same in every run.
fn posts() -> String {
    let mut lines = String::new();
    for n in 0..POSTS {
        let word = |k: u64| format!("word{}", (n * 7_919 + k * k * 104_729) % 4_000);
        let text: Vec<String> = (0..60).map(word).collect();
        let line = format!(
            r#"{{"title":"{} {}","post":"{}","url":"https://site{}.example/{n}","topic":["topic{}"],"tag":["tag{}","tag{}"],"date":"20{:02}-{:02}-{:02}"}}"#,
            word(100),
            word(101),
            text.join(" "),
            n % 50,
            n % 20,
            n % 200,
            n % 199,
            20 + n % 6,
            1 + n % 12,
            1 + n % 28
        );
        writeln!(lines, "{line}").expect("writing to a string does not fail");
    }
    lines
}

fn answer(page: tidings_core::Result<FeedPage>) -> usize {
    page.expect("there are posts").answer().json().len()
}

fn feeds(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary directory is created");
    let path = dir.path().join("bench.db");
    let tidings = Tidings::open(&path).expect("the database opens");
    post::import(&tidings, &Caller::Operator, posts().as_bytes(), &mut tidings_core::import::to_the_end)
        .expect("the posts are valid");
    words::train(&tidings, &Caller::Operator, &mut |_| {}).expect("there are words");
    let pw = String::from("correct horse");
    let form = SignUp { id: "ann".into(), pw: pw.clone(), pw_check: pw, nickname: "Ann".into(), email: None };
    let ann = Caller::token(tidings.call(&Caller::Guest, form.clone()).expect("the id is free").access_token);
    let page = Page { limit: Some(300), ..Page::default() };
    let first = newsfeed::popular(&tidings, &page).expect("there are posts");
    let ids: Vec<String> = first.posts().map(|post| post.id).collect();
    for id in &ids {
        post::like(&tidings, &ann, id).wait().expect("the post exists");
        post::view(&tidings, &ann, id).wait().expect("the post exists");
    }
    let next = newsfeed::popular(&tidings, &Page { next: first.next(), ..Page::default() })
        .expect("there are posts");
    let more: Vec<String> = ids.iter().cloned().chain(next.posts().map(|post| post.id)).collect();
    reasons(criterion, &tidings, &more);
    criterion.bench_function("load 20,000 posts", |bencher| {
        bencher.iter(|| {
            let reopened = Tidings::open(&path).expect("the database opens");
            newsfeed::popular(&reopened, &Page::default()).expect("the posts load");
        });
    });
    criterion.bench_function("popular feed of a guest", |bencher| {
        bencher.iter(|| answer(newsfeed::popular(&tidings, &Page::default())));
    });
    criterion.bench_function("recommended feed of a member, unchanged", |bencher| {
        bencher.iter(|| answer(newsfeed::recommended(&tidings, &ann, &Page::default())));
    });
    let mut liked = false;
    criterion.bench_function("recommended feed of a member, after a like or unlike", |bencher| {
        bencher.iter(|| {
            let act = if liked { post::unlike } else { post::like };
            act(&tidings, &ann, &ids[0]).wait().expect("the post exists");
            liked = !liked;
            answer(newsfeed::recommended(&tidings, &ann, &Page::default()))
        });
    });
    criterion.bench_function("like or unlike alone", |bencher| {
        bencher.iter(|| {
            let act = if liked { post::unlike } else { post::like };
            act(&tidings, &ann, &ids[0]).wait().expect("the post exists");
            liked = !liked;
        });
    });
}

/// Measures the recommended feed of a member with as many acts as are listed.
fn reasons(criterion: &mut Criterion, tidings: &Tidings, posts: &[String]) {
    let pw = String::from("correct horse");
    let form = SignUp { id: "ben".into(), pw: pw.clone(), pw_check: pw, nickname: "Ben".into(), email: None };
    let ben = Caller::token(tidings.call(&Caller::Guest, form).expect("the id is free").access_token);
    for (n, id) in posts.iter().enumerate() {
        let act = if n % 2 == 0 { post::like } else { post::view };
        act(tidings, &ben, id).wait().expect("the post exists");
        if n % 2 == 0 {
            search::log(tidings, &ben, None, &format!("word{n} word{}", n + 1)).wait().expect("it is logged");
        }
    }
    let mut liked = true;
    for why in [None, Some(1)] {
        let feed = || {
            let page = Paging { why, ..Paging::default() };
            let answer = tidings.call(&ben, ListRecommended { page }).expect("there are posts");
            answer.encoded().json().len()
        };
        let name = if why.is_some() { "feed with reasons" } else { "feed" };
        criterion.bench_function(&format!("{name} after 900 acts, unchanged"), |bencher| bencher.iter(feed));
        criterion.bench_function(&format!("{name} after 900 acts, ranked"), |bencher| {
            bencher.iter_custom(|times| {
                let mut spent = Duration::ZERO;
                for _ in 0..times {
                    let act = if liked { post::unlike } else { post::like };
                    act(tidings, &ben, &posts[0]).wait().expect("the post exists");
                    liked = !liked;
                    let began = Instant::now();
                    feed();
                    spent += began.elapsed();
                }
                spent
            });
        });
    }
}

criterion_group!(benches, feeds);
criterion_main!(benches);
