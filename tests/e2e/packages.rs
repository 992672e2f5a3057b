//! The Debian package and its units of systemd.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;
use tidings_tests::{command, only_on_sqlite};

use crate::programs::{is_installed, is_privileged, packaging};

/// Builds the package of the program under test, compressed quickly.
fn build() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let mut build = Command::new(packaging("debian/build"));
    build.arg("--binary").arg(command().get_program()).arg("--output").arg(directory.path());
    build.envs([("DPKG_DEB_COMPRESSOR_TYPE", "gzip"), ("DPKG_DEB_COMPRESSOR_LEVEL", "1")]);
    let done = build.env("SOURCE_DATE_EPOCH", "1700000000").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let file = fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().path();
    (directory, file)
}

fn shown(command: &mut Command) -> String {
    let done = command.output().unwrap();
    let text = [done.stdout, done.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    assert!(done.status.success(), "{command:?}: {text}");
    text
}

#[test]
fn the_package_has_everything_and_the_same_inputs_make_the_same_package() {
    only_on_sqlite!("it concerns no store");
    if !is_installed("dpkg-deb") {
        return;
    }
    let ((_first, package), (_second, again)) = (build(), build());
    assert!(fs::read(&package).unwrap() == fs::read(&again).unwrap(), "the two packages differ");
    let list = shown(Command::new("dpkg-deb").arg("--contents").arg(&package));
    for path in [
        "/usr/bin/tidings",
        "/etc/tidings/tidings.toml",
        "/usr/lib/systemd/system/tidings.service",
        "/usr/lib/systemd/system/tidings.socket",
        "/usr/lib/systemd/system/tidings-backup.timer",
        "/usr/lib/sysusers.d/tidings.conf",
        "/usr/share/man/man1/tidings-serve.1.gz",
        "/usr/share/bash-completion/completions/tidings",
        "/usr/share/zsh/vendor-completions/_tidings",
        "/usr/share/fish/vendor_completions.d/tidings.fish",
        "/usr/share/doc/tidings/copyright",
        "/usr/share/doc/tidings/examples/proxies/Caddyfile",
    ] {
        assert!(list.lines().any(|line| line.ends_with(&format!(".{path}"))), "{path} is missing:\n{list}");
    }
    assert!(list.lines().all(|line| line.contains(" root/root ")), "{list}");
    let control = shown(Command::new("dpkg-deb").arg("--info").arg(&package));
    assert!(control.contains("Package: tidings") && control.contains("libc6 (>= 2."), "{control}");
}

#[test]
fn the_services_are_confined() {
    only_on_sqlite!("it concerns no store");
    if !is_installed("systemd-analyze") {
        return;
    }
    for unit in ["tidings.service", "tidings-backup.service"] {
        let mut security = Command::new("systemd-analyze");
        // The threshold is in tenths of the exposure.
        security.args(["security", "--no-pager", "--offline=true", "--threshold=20"]);
        let text = shown(security.arg(packaging(&format!("systemd/{unit}"))));
        assert!(text.contains("Overall exposure level"), "{text}");
    }
}

/// What an administrator does with the package. `/` is a copy, so that nothing of it is left on this machine.
const LIFE: &str = r#"
set -e
mount -t proc proc /proc
dpkg --install /package.deb
units="tidings.service tidings.socket tidings-backup.service tidings-backup.timer"
said=$(systemd-analyze verify --man=no $units 2>&1)
[ -z "$said" ] || { echo "systemd-analyze: $said"; exit 1; }
as_user="setpriv --reuid=tidings --regid=tidings --clear-groups"
tidings="$as_user /usr/bin/tidings --config /etc/tidings/tidings.toml"
printf 'correct horse' | $tidings init --admin ann --password-stdin
sed -i 's/^#listen = .*/listen = "127.0.0.1:0"/' /etc/tidings/tidings.toml
cd /var/lib/tidings
mkfifo /ready
$tidings serve >/ready 2>/dev/null &
read -r line </ready
address=${line#listening on }
curl --silent --fail --noproxy '*' "$address/readyz"
$as_user mkdir backups
$tidings backup /var/lib/tidings/backups/tidings-$(date +%F).backup
kill $!
wait $!
[ "$(stat --format='%U %a' /var/lib/tidings/tidings.db)" = "tidings 600" ]
# An upgrade keeps the changed settings.
dpkg --install --force-confold /package.deb
grep -q '127.0.0.1:0' /etc/tidings/tidings.toml
dpkg --remove tidings
[ ! -e /usr/bin/tidings ]
[ -e /etc/tidings/tidings.toml ]
dpkg --purge tidings
[ ! -e /etc/tidings ]
[ -e /var/lib/tidings/tidings.db ]
echo the end
"#;

#[test]
fn the_package_is_installed_serves_and_is_removed_without_the_data() {
    only_on_sqlite!("the package has a file of its own");
    let programs = ["dpkg", "systemd-analyze", "setpriv", "curl"];
    if !programs.into_iter().all(is_installed) || !is_privileged() {
        return;
    }
    let (_directory, package) = build();
    // Changes go to memory, in a name space of mounts that ends with the commands.
    let script = format!(
        "set -e; cd {}; mount -t tmpfs tmpfs upper; mkdir upper/changes upper/work\n\
         mount -t overlay overlay -o lowerdir=/,upperdir=upper/changes,workdir=upper/work root\n\
         cp {} root/package.deb\n\
         exec chroot root bash -c \"$LIFE\"",
        package.parent().unwrap().display(),
        package.display(),
    );
    for directory in ["upper", "root"] {
        fs::create_dir(package.parent().unwrap().join(directory)).unwrap();
    }
    let mut life = Command::new("unshare");
    life.args(["--mount", "--propagation", "private", "bash", "-c", &script]).env("LIFE", LIFE);
    let text = shown(life.env_remove("TIDINGS_DB"));
    assert!(text.contains("the end\n"), "{text}");
    assert!(text.contains("init --admin"), "the package says what to do next: {text}");
    assert!(text.contains("stay in /var/lib/tidings"), "{text}");
}
