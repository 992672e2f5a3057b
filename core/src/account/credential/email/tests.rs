use super::*;
use crate::Caller;
use crate::ClientInfo;
use crate::account::Client;
use crate::account::credential::otp;
use crate::account::{RequestReset, ResetPassword, SignIn, SignUp};
use crate::audit;
use crate::mail::tests::{Arrived, Mailing, config, text};
use crate::testing::{RunFor as _, import_roster, sign_in, sign_in_up, sign_up_form};
use crate::{admin, member};

fn set(id: &str, email: &str) -> SetEmail {
    SetEmail { pw: format!("password of {id}"), email: email.into(), otp: None }
}

fn confirm(mailing: &Mailing, caller: &Caller, code: &str) -> String {
    text(mailing.call(caller, ConfirmEmail { code: code.into() }))
}

fn reset_to(mailing: &Mailing, code: &str, new_pw: &str) -> String {
    let (code, new_pw) = (code.to_owned(), new_pw.to_owned());
    text(mailing.call(&Caller::Guest, ResetPassword { code, new_pw_check: new_pw.clone(), new_pw }))
}

fn reset(mailing: &Mailing, code: &str) -> String {
    reset_to(mailing, code, "a new sentence")
}

fn addresses(mailing: &Mailing, caller: &Caller) -> (Option<String>, Option<String>) {
    let EmailAddress { email, pending_email } = mailing.call(caller, GetEmail {}).unwrap();
    (email, pending_email)
}

fn form(id: &str, email: &str) -> SignUp {
    SignUp { email: Some(email.into()), ..sign_up_form(id) }
}

fn client(n: u8) -> ClientInfo {
    Some(Client::v4([10, 0, 0, n].into())).into()
}

fn sign_up_from(mailing: &Mailing, n: u8, id: &str, email: &str) -> String {
    text(form(id, email).run_for(&mailing.service, &Caller::Guest, client(n)))
}

fn ask_from(mailing: &Mailing, n: u8, id: &str) -> String {
    text(RequestReset { id: id.into() }.run_for(&mailing.service, &Caller::Guest, client(n)))
}

fn sent(mail: &Arrived) -> (&str, &str) {
    (&mail.to, &mail.subject)
}

#[test]
fn an_address_counts_once_the_digits_or_the_link_of_its_mail_have_confirmed_it() {
    let mut mailing = Mailing::new(config());
    let ann = mailing.service.member("ann");
    assert_eq!(addresses(&mailing, &ann), (None, None));
    let wrong = SetEmail { pw: "wrong".into(), ..set("ann", "a@b.cd") };
    assert_eq!(text(mailing.call(&ann, wrong)), "incorrect pw");
    assert_eq!(text(mailing.call(&ann, set("ann", "not one"))), "bad request");
    mailing.call(&ann, set("ann", "Ann@Example.org")).unwrap();
    let mail = mailing.only();
    assert_eq!(sent(&mail), ("Ann@example.org", "Confirm your address for Campus"));
    assert_eq!(addresses(&mailing, &ann), (None, Some("Ann@example.org".into())));
    assert_eq!(mailing.ask("ann"), "success");
    assert!(mailing.arrived().is_empty(), "an address that is not confirmed gets no code");
    let ben = mailing.service.member("ben");
    assert_eq!(confirm(&mailing, &ben, &mail.code()), "incorrect code", "the digits are of one member");
    assert_eq!(confirm(&mailing, &Caller::Guest, &mail.code()), "incorrect code");
    let digits = mail.code();
    assert_eq!(confirm(&mailing, &ann, &format!(" {} {} ", &digits[..3], &digits[3..])), "success");
    assert_eq!(addresses(&mailing, &ann), (Some("Ann@example.org".into()), None));
    assert_eq!(confirm(&mailing, &ann, &digits), "incorrect code", "once");

    mailing.call(&ann, set("ann", "ann@other.example")).unwrap();
    let [told, mail] = mailing.two();
    assert_eq!(sent(&told), ("Ann@example.org", "Another address was given to your account of Campus"));
    assert_eq!(mail.to, "ann@other.example");
    assert_eq!(addresses(&mailing, &ann), (Some("Ann@example.org".into()), Some("ann@other.example".into())));
    assert_eq!(confirm(&mailing, &Caller::Guest, &mail.linked()), "success");
    assert_eq!(sent(&mailing.only()), ("Ann@example.org", "Your address for Campus has changed"));
    mailing.call(&Caller::Member("ann".into()), set("ann", " ")).unwrap();
    assert_eq!(mailing.only().to, "ann@other.example");
    assert_eq!(addresses(&mailing, &ann), (None, None));
    let trail = mailing.service.trail();
    let shown = |n: usize| [&trail[n].action, &trail[n].actor_kind, &trail[n].actor];
    assert_eq!(shown(0), ["member.email", "operator", "as ann"]);
    assert_eq!(shown(1), ["member.email", "member", "ann"]);
}

#[test]
fn the_code_of_a_mail_sets_a_password_once_within_20_minutes_and_the_member_is_told() {
    let mut mailing = Mailing::new(config());
    mailing.member_at("ann", "ann@example.org");
    for asked in ["ANN", " Ann@Example.ORG ", "ann"] {
        assert_eq!(mailing.ask(asked), "success");
        assert_eq!(mailing.only().to, "ann@example.org");
    }
    assert_eq!((mailing.ask("ann"), mailing.ask("ann")), ("success".into(), "success".into()));
    let late = mailing.only();
    mailing.service.clock().advance(LASTS_MS);
    assert_eq!(reset(&mailing, &late.code()), "incorrect code");
    mailing.ask("ann@example.org");
    let code = mailing.only().code();
    mailing.service.clock().advance(LASTS_MS - 1);
    assert_eq!(reset(&mailing, &code), "success");
    assert_eq!(sent(&mailing.only()), ("ann@example.org", "Your password for Campus has changed"));
    assert_eq!(reset(&mailing, &code), "incorrect code");
    assert!(sign_in(&mailing.service, "ann", "a new sentence", None).is_ok());
}

#[test]
fn an_address_is_found_in_every_spelling_of_its_domain() {
    let mut mailing = Mailing::new(config());
    let kim = mailing.member_at("kim", "Kim@도서관.example");
    let stored = "Kim@xn--zb0b81k2qm.example";
    assert_eq!(addresses(&mailing, &kim), (Some(stored.into()), None));
    let domains = ["도서관.example", "도서관.Example. ", "xn--zb0b81k2qm.example", "XN--ZB0B81K2QM.EXAMPLE"];
    for asked in domains.map(|domain| format!(" KIM@{domain}")) {
        assert_eq!(mailing.ask(&asked), "success");
        assert_eq!(mailing.only().to, stored, "{asked}");
    }
    // The same address of another account.
    mailing.call(&Caller::Guest, form("eve", "kim@도서관.EXAMPLE.")).unwrap();
    assert!(mailing.only().subject.contains("was given to another account"));
}

#[test]
fn nobody_learns_whether_a_member_or_an_address_exists() {
    let mut mailing = Mailing::new(config());
    mailing.member_at("ann", "ann@example.org");
    mailing.member_at("ben", "ben@example.org");
    let (boss, long) = (mailing.service.admin("boss"), "x".repeat(100_000));
    mailing.call(&boss, admin::PushBlacklist { user_id: "ben".into() }).unwrap();
    for asked in ["nobody", "nobody@example.org", "ben", "ben@example.org", "boss", "", "%", &long] {
        assert_eq!(mailing.ask(asked), "success", "{asked:.20}");
    }
    assert!(mailing.arrived().is_empty());
    assert_eq!(mailing.call(&Caller::Operator, crate::mail::List {}).unwrap().mails, []);

    // An address of another member is told about it, and nobody else.
    let token = mailing.call(&Caller::Guest, form("eve", "ANN@example.org")).unwrap().access_token;
    let mail = mailing.only();
    assert_eq!(sent(&mail), ("ANN@example.org", "Your address was given to another account of Campus"));
    assert!(mail.text.contains("ann") && !mail.text.contains("eve"), "{}", mail.text);
    assert_eq!(confirm(&mailing, &Caller::token(token), "000000"), "incorrect code");
    mailing.ask("ann@example.org");
    assert!(mailing.only().text.contains("account ann of"));
}

#[test]
fn of_two_members_the_first_who_confirms_an_address_has_it() {
    let mut mailing = Mailing::new(config());
    let [ann, ben] = ["ann", "ben"].map(|id| mailing.service.member(id));
    for (id, caller) in [("ann", &ann), ("ben", &ben)] {
        mailing.call(caller, set(id, "shared@example.org")).unwrap();
    }
    let mails = mailing.arrived();
    let of = |id| mails.iter().find(|mail| mail.text.contains(&format!("account {id} of"))).unwrap();
    assert_eq!(confirm(&mailing, &ben, &of("ben").code()), "success");
    assert_eq!(confirm(&mailing, &ann, &of("ann").code()), "incorrect code");
    assert_eq!(confirm(&mailing, &ann, &of("ann").linked()), "incorrect code");
}

#[test]
fn codes_cannot_be_guessed_and_mail_is_limited() {
    let mut mailing = Mailing::new(config());
    let ann = mailing.service.member("ann");
    mailing.call(&ann, set("ann", "ann@example.org")).unwrap();
    let code = mailing.only().code();
    let wrong = |n: u32| format!("{:06}", (code.parse::<u32>().unwrap() + n) % 1_000_000);
    for n in 1..=5 {
        assert_eq!(confirm(&mailing, &ann, &wrong(n)), "incorrect code");
    }
    assert_eq!(confirm(&mailing, &ann, &code), "incorrect code", "after five wrong codes");
    for _ in 0..4 {
        mailing.call(&ann, set("ann", "ann@example.org")).unwrap();
    }
    let other = text(mailing.call(&ann, set("ann", "other@example.org")));
    assert_eq!(other, "too many requests", "of the member");
    let code = mailing.only().code();
    assert_eq!(confirm(&mailing, &ann, &code), "success");
    for n in 0..8 {
        let eve = form(&format!("eve{n}"), "ann@example.org");
        assert_eq!(text(mailing.call(&Caller::Guest, eve)), "success");
    }
    assert!(mailing.arrived().is_empty(), "the address has got five mails in an hour");
    let asked = (0..8).map(|_| (mailing.ask("ann"), mailing.arrived().len())).map(|(_, sent)| sent);
    assert_eq!(asked.sum::<usize>(), 5);
    mailing.ask("ann@example.org");
    assert!(mailing.arrived().is_empty(), "the same member by another name");
    mailing.service.clock().advance(60 * 60 * SECOND_MS);
    mailing.ask("ann");
    assert_eq!(mailing.arrived().len(), 1);
    let answers: Vec<_> = (0..31).map(|n| ask_from(&mailing, 1, &format!("nobody{n}"))).collect();
    assert!(answers[..30].iter().all(|answer| answer == "success") && answers[30] == "too many requests");
}

#[test]
fn strangers_do_not_keep_members_from_their_mail() {
    let mut mailing = Mailing::new(config());
    mailing.member_at("ann", "ann@example.org");
    let ask = |mailing: &mut Mailing, n, id: &str| {
        assert_eq!(ask_from(mailing, n, id), "success");
        mailing.arrived()
    };
    let issued = crate::member::IssueReset { user_id: "ann".into() };
    let issued = mailing.call(&Caller::Operator, issued).unwrap().code;
    let asked = (0..8).flat_map(|n| ask(&mut mailing, 1, ["ann", "ann@example.org"][n % 2]));
    assert_eq!(asked.count(), 5, "of one network");
    let [first, second, third] = [2, 2, 2].map(|n| ask(&mut mailing, n, "ann").remove(0).code());
    let latest = ask(&mut mailing, 3, "ann").remove(0).code();
    assert_eq!(reset(&mailing, &first), "incorrect code", "three wait beside each other");
    for code in [&second, &third, &latest, &issued] {
        assert_eq!(reset_to(&mailing, code, "short"), "wrong user info", "the code is right");
    }
    let networks = (4..30).map(|n| ask(&mut mailing, n, "ann").len()).sum::<usize>();
    assert_eq!(networks, 20 - 5 - 4, "of all networks");
    assert_eq!(reset(&mailing, &issued), "success", "that of an administrator stays");

    let ben = mailing.service.member("ben");
    (0..8).for_each(|n| drop(sign_up_from(&mailing, 1, &format!("eve{n}"), "ben@example.org")));
    assert_eq!(mailing.arrived().iter().filter(|mail| mail.to == "ben@example.org").count(), 5);
    set("ben", "ben@example.org").run_for(&mailing.service, &ben, client(2)).unwrap();
    let code = mailing.only().code();
    assert_eq!(confirm(&mailing, &ben, &code), "success");
}

#[test]
fn one_network_causes_few_mails_whatever_they_are_for() {
    let mut mailing = Mailing::new(config());
    let ann = mailing.service.member("ann");
    let sign_up = |mailing: &Mailing, id: &str, email: &str| {
        assert_eq!(sign_up_from(mailing, 1, id, email), "success");
    };
    for tag in ["", "+a", "+b+c", "+LONG"] {
        sign_up(&mailing, &format!("tag{}", tag.len()), &format!("Eve.Lee{tag}@example.org"));
        sign_up(&mailing, &format!("dot{}", tag.len()), &format!("evelee{tag}@EXAMPLE.org"));
        mailing.service.clock().advance(1);
    }
    assert_eq!(mailing.arrived().len(), 5, "to one mailbox");
    for n in 0..20 {
        sign_up(&mailing, &format!("member{n}"), &format!("member{n}@example.org"));
    }
    assert_eq!(mailing.arrived().len(), 20);
    let ask = || ask_from(&mailing, 1, "nobody");
    assert_eq!([ask(), ask(), ask()], ["success", "success", "too many requests"]);
    sign_up(&mailing, "late", "late@example.org");
    let set = |n| text(set("ann", "ann@example.org").run_for(&mailing.service, &ann, client(n)));
    assert_eq!((set(1), set(2)), ("too many requests".into(), "success".into()));
    assert_eq!(mailing.only().to, "ann@example.org");
    let stored = mailing.service.texts("SELECT subject FROM mail_limit");
    let plain = hex(&Sha256::digest("ann@example.org"));
    assert!(stored.iter().all(|subject| !subject.contains(&plain) && !subject.contains('@')));
}

#[test]
fn a_pending_address_looks_the_same_whoever_has_it() {
    let mut mailing = Mailing::new(config());
    mailing.member_at("ann", "ann@example.org");
    let [ben, cid] = ["ben", "cid"].map(|id| mailing.service.member(id));
    mailing.call(&ben, set("ben", "Ann@example.org")).unwrap();
    mailing.call(&cid, set("cid", "free@example.org")).unwrap();
    for wait_ms in [0, LASTS_MS - 1, 1, LASTS_MS] {
        mailing.arrived();
        mailing.service.clock().advance(wait_ms);
        let pending = |caller| addresses(&mailing, caller).1.is_some();
        assert_eq!((pending(&ben), pending(&cid)), (true, true), "{wait_ms}");
        for caller in [&ben, &cid] {
            assert_eq!(confirm(&mailing, caller, "000000"), "incorrect code");
        }
    }
}

#[test]
fn a_second_factor_is_needed_and_its_wrong_codes_stay_counted() {
    let mut mailing = Mailing::new(config());
    let ann = mailing.service.member("ann");
    let (phone, _) = otp::tests::enable(&mailing.service, &ann, "ann");
    let set = |otp: Option<&str>, email: &str| {
        let set = SetEmail { otp: otp.map(str::to_owned), ..set("ann", email) };
        text(set.run_for(&mailing.service, &ann, client(1)))
    };
    assert_eq!([set(None, "ann@example.org"), set(None, "")], ["otp required"; 2]);
    assert_eq!(set(Some("000000"), "ann@example.org"), "incorrect otp");
    assert_eq!(set(Some(&phone.code(&mailing.service)), "ann@example.org"), "success");
    let guess = || {
        let (id, pw, otp) = ("ann".into(), "password of ann".into(), Some("000000".into()));
        assert_eq!(set(None, "ann@example.org"), "otp required");
        text(SignIn { id, pw, otp }.run_for(&mailing.service, &Caller::Guest, client(1)))
    };
    assert!((0..6).all(|_| guess() == "incorrect otp"));
    let next = sign_in(&mailing.service, "ann", "password of ann", client(1));
    assert_eq!(text(next), "too many requests");
    assert_eq!(mailing.only().to, "ann@example.org");
}

#[test]
fn an_id_that_looks_like_an_address_gets_no_mail_of_its_owner() {
    let mut mailing = Mailing::new(config());
    let roster = "id,name,major,password\nann@example.org,Eve,Art,secret of eve\nben@example.org,Ben,Art,secret of ben\n";
    import_roster(&mailing.service, roster);
    mailing.member_at("ann", "ann@example.org");
    let into = |mailing: &Mailing, id, pw| text(sign_in_up(&mailing.service, id, pw, client(1)));
    assert_eq!(into(&mailing, "Ann@example.org", "secret of eve"), "not school");
    assert_eq!(into(&mailing, "ben@example.org", "secret of ben"), "success");
    let pw = "secret of ben".to_owned();
    let set = SetEmail { pw, email: "elsewhere@example.org".into(), otp: None };
    let ben = Caller::Member("ben@example.org".into());
    mailing.call(&ben, set).unwrap();
    let code = mailing.only().code();
    assert_eq!(confirm(&mailing, &ben, &code), "success");
    mailing.member_at("cid", "ben@example.org");
    mailing.ask("ben@example.org");
    assert_eq!(mailing.only().to, "ben@example.org");
}

#[test]
fn addresses_are_nowhere_else_and_end_with_the_account() {
    let mut mailing = Mailing::new(config());
    mailing.member_at("ann", "ann@example.org");
    let boss = mailing.service.admin("boss");
    mailing.ask("ann");
    let trail = mailing.call(&boss, audit::List::default()).unwrap();
    assert!(trail.audit.iter().any(|entry| entry.action == "member.email" && entry.subject == "ann"));
    let members = mailing.call(&boss, member::List::default()).unwrap();
    let mails = mailing.call(&boss, crate::mail::List {}).unwrap();
    let answers = serde_json::to_string(&(trail, members, mails)).unwrap();
    assert!(!answers.contains("example.org"), "{answers}");
    mailing.call(&boss, member::Remove { user_id: "ann".into() }).unwrap();
    let left = ["member_email", "mail WHERE member IS NOT NULL"];
    let left = left.map(|rows| mailing.service.number(&format!("SELECT count(*) FROM {rows}")));
    assert_eq!(left, [0, 0]);
    assert!(mailing.arrived().is_empty());
}

#[test]
fn a_sign_up_can_need_an_address() {
    let mut with = config();
    with.mail.required = true;
    let mut mailing = Mailing::new(with);
    for (email, answer) in [
        (None, "wrong user info"),
        (Some("ann at home"), "wrong user info"),
        (Some("ann@example.org"), "success"),
    ] {
        let form = SignUp { email: email.map(str::to_owned), ..form("ann", "") };
        assert_eq!(text(mailing.call(&Caller::Guest, form)), answer, "{email:?}");
    }
    assert_eq!(mailing.only().to, "ann@example.org");
}
