//! The image of the `Dockerfile`, and `compose.yaml`.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use tidings_tests::{only_on_sqlite, wait_until};

use crate::programs::{free_ports, is_installed, root, static_binary};

const USER: u32 = 65532;
const IMAGE: &str = "localhost/tidings";

struct Images(TempDir);

impl Images {
    fn buildah(&self, args: &[&str]) -> String {
        let mut buildah = Command::new("buildah");
        buildah.args(["--storage-driver", "vfs", "--root"]).arg(self.0.path().join("images"));
        buildah.arg("--runroot").arg(self.0.path().join("run")).args(args).current_dir(self.0.path());
        let done = buildah.output().unwrap();
        assert!(done.status.success(), "buildah {args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }
}

struct Container {
    root: PathBuf,
    environment: Vec<(String, String)>,
}

impl Container {
    /// Returns the command that the image runs, with these arguments, as its user.
    fn tidings(&self, port: u16, args: &[&str]) -> Command {
        let mut tidings = Command::new("chroot");
        tidings.arg(format!("--userspec={USER}:{USER}")).arg(&self.root).arg("/usr/bin/tidings").args(args);
        tidings.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // Other tests use the port of the image.
        let listen = |value: &str| value.replace(":8080", &format!(":{port}"));
        tidings.envs(self.environment.iter().map(|(name, value)| (name, listen(value))));
        tidings.stdin(Stdio::null());
        tidings
    }

    fn is_ready(&self, port: u16) -> bool {
        self.tidings(port, &["ready"]).output().unwrap().status.success()
    }
}

fn stop(mut server: Child) {
    let pid = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(server.wait().unwrap().success());
}

#[test]
fn the_image_runs_without_root_and_keeps_its_data() {
    only_on_sqlite!("the image has a file of its own");
    let Some(program) = static_binary() else { return };
    if !is_installed("buildah") {
        return;
    }
    let images = Images(tempfile::tempdir().unwrap());
    let context = images.0.path();
    // The stage that compiles the program is replaced by one that has it.
    for directory in ["image/usr/bin", "image/data", "image/backups"] {
        fs::create_dir_all(context.join(directory)).unwrap();
    }
    fs::copy(program, context.join("image/usr/bin/tidings")).unwrap();
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(root().join(licence), context.join(licence)).unwrap();
    }
    let file = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let (_, image) = file.split_once("\nFROM scratch\n").unwrap();
    let file = format!("FROM scratch AS compiled\nCOPY image /image\nFROM scratch\n{image}");
    fs::write(context.join("Dockerfile"), file).unwrap();
    images.buildah(&["bud", "--isolation", "chroot", "--format", "docker", "--quiet", "--tag", IMAGE, "."]);

    let about: Value = serde_json::from_str(&images.buildah(&["inspect", "--type", "image", IMAGE])).unwrap();
    let config = &about["Docker"]["config"];
    assert_eq!(config["User"], format!("{USER}:{USER}"));
    assert_eq!(config["Entrypoint"], serde_json::json!(["/usr/bin/tidings"]));
    assert_eq!(config["Cmd"], serde_json::json!(["serve"]));
    assert_eq!(config["Healthcheck"]["Test"], serde_json::json!(["CMD", "/usr/bin/tidings", "ready"]));
    assert!(config["Volumes"]["/data"].is_object(), "{config}");
    let pair = |variable: &Value| {
        let (name, value) = variable.as_str().unwrap().split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    };
    let environment = config["Env"].as_array().unwrap().iter().map(pair).filter(|(name, _)| name != "PATH");
    let environment = environment.collect();

    let name = images.buildah(&["from", IMAGE]);
    let root = PathBuf::from(images.buildah(&["mount", name.trim()]).trim());
    let container = Container { root, environment };
    let [port] = free_ports();
    assert!(!container.is_ready(port), "nothing runs yet");
    let serve = || container.tidings(port, &["serve"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let server = serve().unwrap();
    wait_until("the server in the container is ready", || container.is_ready(port));
    let run = |args: &[&str]| {
        let done = container.tidings(port, args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    run(&["notice", "add", "--title", "Library", "--post", "Open until ten."]);
    run(&["backup", "/backups/tidings-2026-11-20.backup"]);
    stop(server);
    let server = serve().unwrap();
    wait_until("the server in the container is ready again", || container.is_ready(port));
    assert!(run(&["notice", "list"]).contains("Library"));
    stop(server);

    let files = fs::read_dir(container.root.join("data")).unwrap().map(|file| file.unwrap());
    let files: Vec<_> = files.map(|file| (file.file_name(), file.metadata().unwrap().uid())).collect();
    assert!(files.iter().any(|(name, _)| name == "tidings.db"), "{files:?}");
    assert!(files.iter().all(|(_, owner)| *owner == USER), "{files:?}");
    let backups = fs::read_dir(container.root.join("backups")).unwrap().map(|file| file.unwrap().file_name());
    assert!(backups.into_iter().any(|name| name.to_string_lossy().ends_with(".backup")));
    images.buildah(&["rm", name.trim()]);
}

#[test]
fn what_compiles_the_program_is_in_the_context_of_the_image() {
    only_on_sqlite!("the image has a file of its own");
    let directory = tempfile::tempdir().unwrap();
    let ignored = fs::read_to_string(root().join(".dockerignore")).unwrap();
    let included: Vec<_> = ignored.lines().filter_map(|line| line.strip_prefix('!')).collect();
    let mut copy = Command::new("sh");
    copy.current_dir(root()).arg("-c").arg(format!("cp -r {} \"$0\"", included.join(" ")));
    assert!(copy.arg(directory.path()).status().unwrap().success());
    // Unlike the metadata, the tree needs no packages of other platforms, which were never downloaded.
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--workspace", "--locked", "--offline", "--prefix", "none"]);
    let read = tree.current_dir(directory.path()).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}

#[test]
fn the_compose_file_is_valid() {
    only_on_sqlite!("it concerns no store");
    if !is_installed("docker-compose") {
        return;
    }
    let mut compose = Command::new("docker-compose");
    let read = compose.current_dir(root()).args(["config"]).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let text = String::from_utf8(read.stdout).unwrap();
    for part in ["127.0.0.1:8080:8080", "data:/data", "backups:/backups", "read_only: true", "ALL"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
