use std::fs;
use std::ops::ControlFlow;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use tidings_cluster::{Scratch, only_on_sqlite};

use super::*;
use crate::account::Caller;
use crate::account::key::{self, Scope};
use crate::base::files::{key_file, previous_key_file};
use crate::notice;
use crate::post;
use crate::record::export::{Export as _, ExportLines as _};
use crate::testing::{self, NOW, Service, again, operator, service};
use crate::{Surface, Tidings};
use crate::{admin, webhook};

fn copy(database: &Path, to: &Path) -> Result<Report> {
    backup(operator(), &database.into(), to, &mut |_| (), &CancelFlag::default())
}

fn put(database: &Path, from: &Path) -> Result<Restored> {
    restore(
        operator(),
        &database.into(),
        from,
        By { clock: &Clock::fixed(NOW), surface: Surface::Library, account: Some("root") },
        &mut |_| (),
        &CancelFlag::default(),
    )
}

fn notice(tidings: &Tidings, title: &str) {
    tidings.call(&Caller::Operator, notice::Insert { draft: testing::notice(title) }).unwrap();
}

fn titles(database: &Path) -> Vec<String> {
    let tidings = Tidings::open(database).unwrap();
    let list = tidings.call(&Caller::Operator, notice::List::default()).unwrap();
    list.notices().iter().map(|notice| notice.title.to_string()).collect()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns the directory of a closed service, its database with one notice, and a backup of it.
fn closed() -> (Scratch, PathBuf, PathBuf) {
    let Service { tidings, database: dir } = service();
    notice(&tidings, "one");
    drop(tidings);
    let (database, file) = (dir.path(), dir.folder().join("copy.db"));
    copy(&database, &file).unwrap();
    (dir, database, file)
}

#[test]
fn a_backup_replaces_an_older_one_or_an_empty_file_and_nothing_else() {
    only_on_sqlite!("backups are copies of the file");
    let (dir, database, file) = closed();
    let tidings = Tidings::open(&database).unwrap();
    notice(&tidings, "two");
    copy(&database, &file).unwrap();
    drop(tidings);
    assert_eq!(titles(&file), ["two", "one"]);
    let empty = dir.folder().join("empty.db");
    fs::write(&empty, "").unwrap();
    copy(&database, &empty).unwrap();
    let itself = copy(&database, &dir.folder().join("test.db-wal"));
    assert!(matches!(itself, Err(BackupError::Itself(_))), "{itself:?}");
    let used = dir.folder().join("used.db");
    let other = Tidings::open(&used).unwrap();
    notice(&other, "precious");
    assert!(matches!(copy(&database, &used), Err(BackupError::InUse(_))));
    drop(other);
    assert!(matches!(copy(&database, &used), Err(BackupError::Occupied(_))));
    assert_eq!(titles(&used), ["precious"]);
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_followed() {
    only_on_sqlite!("backups are copies of the file");
    let (dir, database, file) = closed();
    let (link, there) = (dir.folder().join("link.db"), dir.folder().join("there.db"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    copy(&database, &link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "the link stays");
    std::os::unix::fs::symlink(&database, &there).unwrap();
    assert!(matches!(copy(&database, &there), Err(BackupError::Itself(_))));
    put(&there, &file).unwrap();
    assert!(fs::symlink_metadata(&there).unwrap().is_symlink());
    assert_eq!(titles(&database), ["one"]);
}

#[test]
fn a_cancelled_backup_leaves_the_older_one_and_no_other_file() {
    only_on_sqlite!("backups are copies of the file");
    let (dir, database, file) = closed();
    let before = fs::read(&file).unwrap();
    let stop = CancelFlag::default();
    let stopped = backup(operator(), &database.clone().into(), &file, &mut |_| stop.set(), &stop);
    assert!(matches!(stopped, Err(BackupError::Interrupted)), "{stopped:?}");
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(names(dir.folder()), ["copy.db", "test.db", "test.db.key"]);
}

#[test]
fn a_later_backup_removes_the_files_of_a_killed_one() {
    only_on_sqlite!("backups are copies of the file");
    let (dir, database, file) = closed();
    let names = [".copy.db.abcdef.part", ".copy-1.db.abcdef.part", ".film.abcdef.part"];
    let [half, yesterdays, foreign] = names.map(|name| dir.folder().join(name));
    fs::copy(&database, &yesterdays).unwrap();
    fs::write(&half, "half").unwrap();
    fs::write(&foreign, "half a film").unwrap();
    copy(&database, &file).unwrap();
    assert!(!half.exists() && !yesterdays.exists() && foreign.exists());
}

#[test]
fn a_restore_keeps_the_old_database_and_ends_every_token() {
    only_on_sqlite!("backups are copies of the file");
    let service = service();
    let ann = service.member("ann");
    notice(&service, "one");
    let (database, file) = (service.path(), service.database.folder().join("copy.db"));
    copy(&database, &file).unwrap();
    notice(&service, "two");
    let Service { tidings, database: dir } = service;
    drop(tidings);
    let key = fs::read(key_file(&database)).unwrap();
    fs::write(previous_key_file(&key_file(&database)), &key).unwrap();
    let restored = put(&database, &file).unwrap();
    let kept = dir.folder().join("test.db.20261120T083600Z");
    assert_eq!(restored.previous.as_ref(), Some(&kept));
    let left = ["copy.db", "test.db", "test.db.20261120T083600Z"];
    assert_eq!(names(dir.folder()), left, "no key, no earlier one");
    assert_eq!(titles(&database), ["one"]);
    // The token is invalid even with the old key, which may come from a setting.
    fs::write(key_file(&database), &key).unwrap();
    let tidings = Tidings::open(&database).unwrap();
    let asked = tidings.call(&ann, crate::profile::Get {});
    assert_eq!(asked.err().unwrap().to_string(), "not found");
    drop(tidings);
    // Restores again in the same second, from the kept database.
    let again = put(&database, &kept).unwrap();
    assert_eq!(again.previous, Some(dir.folder().join("test.db.20261120T083600Z-2")));
    assert_eq!(titles(&database), ["two", "one"]);
}

#[test]
fn an_open_database_is_not_replaced() {
    only_on_sqlite!("backups are copies of the file");
    let (_dir, database, file) = closed();
    let open = Tidings::open(&database).unwrap();
    let refused = put(&database, &file);
    assert!(matches!(refused, Err(BackupError::InUse(_))), "{refused:?}");
    // The failed attempt has not released its locks.
    assert!(matches!(put(&database, &file), Err(BackupError::InUse(_))));
    notice(&open, "two");
    drop(open);
    put(&database, &file).unwrap();
    assert_eq!(titles(&database), ["one"]);
}

#[test]
fn what_was_revoked_since_the_backup_stays_revoked() {
    only_on_sqlite!("backups are copies of the file");
    let service = service();
    let operator = &Caller::Operator;
    for id in ["ann", "ben", "cid", "dan"] {
        service.admin(id);
    }
    service.member_with("eve", &[Scope::Members]);
    service.member_with("fay", &[Scope::Posts, Scope::Notices]);
    service.member_with("gus", &[Scope::Front]);
    let add = |name: &str| service.named_key(name, &[Scope::Posts]);
    let (kept, lost) = (add("kept"), add("lost"));
    let hook = |name: &str| {
        let events = vec![webhook::Event::NoticePublished.name().to_owned()];
        let draft = webhook::Add { name: name.into(), url: "https://a.example/".into(), events };
        service.call(operator, draft).unwrap();
    };
    hook("kept hook");
    hook("lost hook");
    let database = service.path();
    let [file, second] = ["copy.db", "second.db"].map(|name| service.database.folder().join(name));
    copy(&database, &file).unwrap();
    let between = add("between");
    copy(&database, &second).unwrap();
    service.call(operator, key::Revoke { key_obi: "lost".into() }).unwrap();
    service.call(operator, webhook::Remove { webhook_obi: "lost hook".into() }).unwrap();
    service.call(operator, admin::Revoke { user_id: "ben".into() }).unwrap();
    service.remove_member("cid");
    service.blacklist("eve");
    for (id, scopes) in [("fay", ["posts", "front"]), ("gus", ["front", "members"])] {
        let scopes = scopes.map(str::to_owned).into();
        service.call(operator, crate::member::SetRole { user_id: id.into(), scopes }).unwrap();
    }
    let Service { tidings, database: _dir } = service;
    drop(tidings);
    let expected = RevokedAgain {
        keys: vec!["lost".into()],
        administrators: vec!["ben".into(), "cid".into()],
        roles: vec!["fay".into()],
        blacklisted: vec!["eve".into()],
        webhooks: vec!["lost hook".into()],
    };
    let first = put(&database, &file).unwrap();
    assert_eq!(first.revoked.as_ref(), Some(&expected));
    let works = |key: &Caller| {
        let tidings = Tidings::open(&database).unwrap();
        let export = post::ExportPosts {}.export(&tidings, &again(key));
        export.pass_to(&tidings, &mut |_, _| ControlFlow::Continue(())).is_ok()
    };
    assert_eq!([&kept, &lost, &between].map(works), [true, false, false]);
    let tidings = Tidings::open(&database).unwrap();
    let admins = tidings.call(operator, admin::List {}).unwrap().admins;
    assert_eq!(admins.into_iter().map(|admin| admin.user_id).collect::<Vec<_>>(), ["ann", "dan"]);
    assert!(tidings.call(operator, crate::audit::Verify { head: None }).unwrap().intact);
    let role = |id: &str| {
        let role = tidings.call(operator, crate::member::GetRole { user_id: id.into() }).unwrap();
        role.scopes.into_iter().map(Scope::name).collect::<Vec<_>>()
    };
    assert_eq!([role("eve"), role("fay"), role("gus")], [["members"], ["posts"], ["front"]]);
    drop(tidings);
    // That the replaced database lacks a key does not mean that it was revoked: the later backup was made before.
    assert_eq!(put(&database, &second).unwrap().revoked, Some(expected));
    assert_eq!([&kept, &lost, &between].map(works), [true, false, true]);
    let back = put(&database, first.previous.as_ref().unwrap()).unwrap();
    assert_eq!(back.revoked, Some(RevokedAgain::default()));
    // A database that cannot be read tells nothing.
    let bytes = fs::read(&database).unwrap();
    fs::write(&database, &bytes[..5_000]).unwrap();
    assert_eq!(put(&database, &file).unwrap().revoked, None);
    assert!(works(&lost));
}

#[cfg(unix)]
#[test]
fn a_restored_database_belongs_to_the_owner_of_the_one_before() {
    only_on_sqlite!("backups are copies of the file");
    let (_dir, database, file) = closed();
    let about = |path: &Path| {
        let about = fs::metadata(path).unwrap();
        (about.uid(), about.gid(), about.mode() & 0o777)
    };
    fs::set_permissions(&database, fs::Permissions::from_mode(0o660)).unwrap();
    // Only root gives a file to somebody else.
    let is_root = chown(&database, Some(4_242), Some(4_343)).is_ok();
    let before = about(&database);
    assert_eq!(is_root, before == (4_242, 4_343, 0o660));
    put(&database, &file).unwrap();
    assert_eq!(about(&database), before);
}

#[test]
fn a_damaged_database_is_replaced_and_kept_unchanged() {
    only_on_sqlite!("backups are copies of the file");
    let (dir, database, file) = closed();
    let mut damaged = fs::read(&database).unwrap();
    damaged[100..4_096].fill(0x5a);
    fs::write(&database, &damaged).unwrap();
    fs::write(beside(&database, "-wal"), "what is left of a log").unwrap();
    put(&database, &file).unwrap();
    assert!(!beside(&database, "-wal").exists());
    assert_eq!(titles(&database), ["one"]);
    assert_eq!(fs::read(dir.folder().join("test.db.20261120T083600Z")).unwrap(), damaged);
}

#[test]
fn a_backup_is_restored_where_there_was_no_database() {
    only_on_sqlite!("backups are copies of the file");
    let (dir, _, file) = closed();
    let elsewhere = dir.folder().join("elsewhere.db");
    assert_eq!(put(&elsewhere, &file).unwrap().previous, None);
    assert_eq!(titles(&elsewhere), ["one"]);
    let restored = Tidings::open(&elsewhere).unwrap();
    let trail = restored.call(&Caller::Operator, crate::audit::List::default()).unwrap();
    assert_eq!((&*trail.audit[0].action, &*trail.audit[0].actor), ("store.restore", "root"));
    assert!(put(&dir.folder().join("no").join("where.db"), &file).is_err());
}
