//! Tests of the forms: a post, and a new password and the role of a member.

use tidings_core::account::key::Scope;
use tidings_core::account::{ResetPassword, SignIn};
use tidings_core::member::GetRole;
use tidings_core::post::{self, GetPost, Post};

use super::*;

fn posts(stage: &Stage) -> Vec<GetPost> {
    let list = stage.tidings.call(&Caller::Guest, post::List::default()).unwrap().posts;
    list.into_iter()
        .map(|row| stage.tidings.call(&Caller::Guest, post::Get { post_obi: row.id.clone() }).unwrap())
        .collect()
}

/// Returns whether the member can sign in with a password.
fn signs_in(stage: &Stage, pw: &str) -> bool {
    let form = SignIn { id: "ben".into(), pw: pw.into(), otp: None };
    stage.tidings.call(&Caller::Guest, form).is_ok()
}

#[test]
fn a_post_is_added_with_all_its_fields() {
    let mut stage = Stage::new();
    stage.keys(&["5", "n", "일식 an eclipse", "Enter", "https://sky.example.org/1", "Tab", "Sky, News"]);
    stage.keys(&["Down", "2026", "Tab", "/eclipse.png", "Tab", "2026-11-19", "Tab", "2026-12-01 09:00"]);
    stage.keys(&["Tab", "Look up.", "Enter", "At ten."]);
    stage.keys(&["Ctrl-S"]).sees("✓ Added “일식 an eclipse”.");
    let added = &posts(&stage)[0].post;
    assert_eq!((&*added.shown.title, &*added.shown.url), ("일식 an eclipse", "https://sky.example.org/1"));
    assert_eq!((&*added.post, &*added.shown.img), ("Look up.\nAt ten.", "/eclipse.png"));
    assert_eq!(added.topic.texts(), ["Sky", "News"]);
    assert_eq!(added.tag.texts(), ["2026"]);
    let dates = [Some(added.shown.date), added.shown.end_date].map(|at| at.unwrap().to_string());
    assert_eq!(dates, ["2026-11-19T00:00:00.000Z", "2026-12-01T09:00:00.000Z"]);
}

#[test]
fn a_mistake_is_shown_at_its_field_until_the_field_changes() {
    let mut stage = Stage::new();
    stage.keys(&["5", "n", "Eclipse", "Enter", "sky.example.org", "Ctrl-S"]);
    stage.sees("✗ Url is an address of at most 2000 characters");
    insta::assert_snapshot!("post_mistake", stage.drawn());
    // Neither another field nor the cursor changes it.
    stage.keys(&["Up", "!", "Backspace", "Down", "Left"]).sees("✗ Url");
    // The field has the focus.
    stage.keys(&["Ctrl-U", "https://sky.example.org/1"]).sees_not("✗");
    stage.keys(&["Tab", "Tab", "Tab", "Tab", "soon", "Ctrl-S"]);
    stage.sees("✗ A time looks like 2026-12-01 or 2026-12-01 09:00.");
    stage.keys(&["Ctrl-U", "Ctrl-S"]).sees("✓ Added “Eclipse”.");
    assert_eq!(posts(&stage)[0].post.shown.date, NOW);
    // Another post has the address.
    stage.keys(&["n", "Again", "Tab", "https://sky.example.org/1", "Ctrl-S"]).sees("✗").sees("A new post");
    assert_eq!(posts(&stage).len(), 1);
}

#[test]
fn an_edit_of_a_post_changes_only_the_edited_fields_and_selects_it() {
    let mut stage = Stage::campus();
    // A search shows a change at once, the feed within a second.
    stage
        .keys(&["5", "/", "cafeteria", "Enter", "e"])
        .sees("Edit the post")
        .sees("https://news.example.org/");
    let cafeteria = |stage: &Stage| {
        posts(stage).into_iter().find(|one| one.post.shown.title.starts_with("Cafeteria")).unwrap().post
    };
    let before = cafeteria(&stage);
    stage.keys(&["Ctrl-U", "Cafeteria: no menu", "Ctrl-S"]).sees("✓ Saved “Cafeteria: no menu”.");
    let after = cafeteria(&stage);
    assert_eq!((&*after.shown.title, after.post), ("Cafeteria: no menu", before.post));
    let unchanged = |post: Post| (post.id, post.url, post.date);
    assert_eq!(unchanged(after.shown), unchanged(before.shown));
    stage.keys(&["x"]).sees("Remove the post “Cafeteria: no menu”?");
    stage.keys(&["Esc", "e", "Ctrl-S"]).sees("Nothing was changed.");
}

#[test]
fn a_typed_post_is_not_lost_without_a_question() {
    let mut stage = Stage::new();
    stage.keys(&["5", "n", "Esc"]).sees("There are no posts.");
    stage.keys(&["n", "Eclipse", "Esc"]).sees("Leave “Eclipse”?");
    stage.sees("s  publish it now").sees("d  discard it").sees("Esc  go on editing");
    stage.keys(&["Esc"]).sees("A new post");
    stage.click(4, 0);
    stage.keys(&["q"]).sees("Quit with a post that is not saved?");
    stage.keys(&["n", "5", "Esc", "d"]).sees("There are no posts.");
    assert!(!stage.ended);
}

#[test]
fn a_password_is_typed_twice_hidden_and_set_after_a_question() {
    let mut stage = Stage::campus();
    // A server does not tell its rule in advance.
    stage.keys(&["4", "P"]).sees("unless the server has another rule").sees("none of the most common");
    stage.state.ctx.password = Some(stage.tidings.config().password_length());
    stage.keys(&["Esc", "Down", "P", "Enter", "Enter"]).sees("✗ Type the new password.");
    stage.keys(&["short", "Tab", "short", "Enter", "y"]).sees("✗ A password has 8 to 128 characters.");
    stage.keys(&["Esc"]).sees("Ben of the library");

    stage.keys(&["P"]).sees("A new password for ben").sees("A password has 8 to 128 characters.");
    stage.keys(&["a new horse", "Enter", "a new hors", "Enter"]);
    stage.sees("✗ The passwords differ.").sees_not("horse");
    insta::assert_snapshot!("password", stage.drawn());
    stage.keys(&["e"]).sees_not("differ");
    stage.keys(&["Enter"]).sees("Set a new password for ben?").sees("signed out everywhere");
    stage.keys(&["n"]);
    assert!(!signs_in(&stage, "a new horse"));
    stage.keys(&["Enter", "y"]).sees("✓ ben has a new password and is signed out everywhere.");
    stage.sees_not("horse");
    assert!(signs_in(&stage, "a new horse"));
}

#[test]
fn a_code_for_a_new_password_stays_until_it_is_closed() {
    let mut stage = Stage::campus();
    stage.keys(&["4", "Down", "C"]).sees("Issue a code for ben");
    stage.keys(&["y"]).sees("Note · ").sees("It is not shown again.");
    let seen = stage.seen();
    let code = seen.split("The code for ben: ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    stage.keys(&["x", "Enter"]).sees(code);
    stage.keys(&["Esc"]).sees_not(code);
    let new_pw = "a new horse".to_owned();
    let form = ResetPassword { code: code.to_owned(), new_pw_check: new_pw.clone(), new_pw };
    stage.tidings.call(&Caller::Guest, form).unwrap();
    assert!(signs_in(&stage, "a new horse"));
}

#[test]
fn a_role_is_chosen_from_the_scopes() {
    let mut stage = Stage::campus();
    let role = |stage: &Stage| {
        let role = stage.call(GetRole { user_id: "ben".into() });
        role.scopes.into_iter().map(Scope::name).collect::<Vec<_>>()
    };
    stage.keys(&["4", "Down", "r"]).sees("The role of ben");
    stage.sees("“yes” allows to insert, change and remove notices, and read hidden ones.");
    stage.keys(&[" ", "Down", "Down", " "]);
    insta::assert_snapshot!("role", stage.drawn());
    stage.keys(&["Enter"]).sees("✓ ben has a new role.").sees("◆ role");
    assert_eq!(role(&stage), ["notices", "posts:import"]);
    stage.keys(&["Enter"]).sees("notices, posts:import");
    stage.keys(&["Left", "r", "Enter"]).sees("Nothing was changed.");
    stage.keys(&["r", " ", "Esc"]);
    assert_eq!(role(&stage), ["notices", "posts:import"]);
    stage.keys(&["r", " ", "Tab", "Tab", "Left", "Enter"]).sees("✓ ben has no role any more.");
    assert_eq!(role(&stage), [""; 0]);
}
