//! The binary, from start to end.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use anyhow::{Context as _, Result};

fn binary(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton-apiserver"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A folder for one test.
fn folder(name: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The lines that it prints once it serves.
fn printed(server: &mut Child) -> Result<Vec<String>> {
    let lines = BufReader::new(server.stdout.as_mut().context("no output")?).lines();
    Ok(lines.take(5).collect::<Result<_, _>>()?)
}

fn terminate(server: Child) -> Result<Output> {
    Command::new("kill").arg(server.id().to_string()).status()?;
    Ok(server.wait_with_output()?)
}

fn get(address: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

#[test]
fn it_serves_what_it_loaded_until_it_is_stopped() -> Result<()> {
    let folder = folder("serves")?;
    let (kubeconfig, objects) = (folder.join("kubeconfig"), folder.join("objects.yaml"));
    let object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {colour: blue}}";
    fs::write(&objects, object)?;
    let crd = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests/crd/workloads.baton.rs.yaml");
    let mut server = binary(&["--release=1.36.3", "--crd", crd])
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .arg("--load")
        .arg(&objects)
        .spawn()?;
    let lines = printed(&mut server)?;
    let address = lines[0]
        .split("http://")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .context("no address")?
        .to_owned();
    let expected = format!(
        "Kubernetes 1.36.3 is served on http://{address} until Ctrl-C. To use it:\n\n    export KUBECONFIG={}\n    kubectl get \
         namespaces\n",
        kubeconfig.display()
    );
    assert_eq!(lines.join("\n"), expected);
    assert!(fs::read_to_string(&kubeconfig)?.contains(&format!("server: \"http://{address}\"")));
    assert_eq!(fs::metadata(&kubeconfig)?.permissions().mode() & 0o777, 0o600);
    let settings = get(&address, "/api/v1/namespaces/default/configmaps/settings")?;
    assert!(settings.contains(r#""data":{"colour":"blue"}"#), "{settings}");
    assert!(get(&address, "/apis/baton.rs")?.contains(r#""name":"baton.rs""#));

    assert!(terminate(server)?.status.success());
    let left: Vec<_> = fs::read_dir(&folder)?.map(|entry| Ok(entry?.file_name())).collect::<Result<_>>()?;
    assert_eq!(left, ["objects.yaml"]);
    Ok(())
}

#[test]
fn it_says_what_is_wrong_and_what_to_do() -> Result<()> {
    let folder = folder("refuses")?;
    let path = |name: &str| folder.join(name).display().to_string();
    let (own, free, bad) = (path("config"), path("free"), path("bad.yaml"));
    fs::write(&own, "apiVersion: v1\nkind: Config\ncurrent-context: production\n")?;
    fs::write(&bad, "{apiVersion: v1, kind: ConfigMap, metadata: {name: Bad}}")?;
    let cases = [
        (
            vec!["--kubeconfig", &free, "--listen", "0.0.0.0:0"],
            "won't listen on 0.0.0.0:0: every client that reaches this server may do everything, so it serves its own machine only; use \
             an address such as 127.0.0.1:0 or [::1]:0"
                .to_owned(),
        ),
        (
            vec!["--kubeconfig", &own],
            format!(
                "won't overwrite {own}, which isn't a kubeconfig of baton-apiserver: name another file, or remove it"
            ),
        ),
        (
            vec!["--kubeconfig", &free, "--crd", "nowhere.yaml"],
            "can't read nowhere.yaml: No such file or directory (os error 2)".to_owned(),
        ),
        (
            vec!["--kubeconfig", &free, "--load", &bad],
            format!(
                "can't load {bad}: ConfigMap \"Bad\" is refused: ConfigMap \"Bad\" is invalid: metadata.name: Invalid value: \
                 \"Bad\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                 must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                 '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ),
        ),
    ];
    for (arguments, message) in cases {
        let output = binary(&arguments).output()?;
        assert!(!output.status.success());
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("baton-apiserver: {message}\n"));
    }
    assert!(!Path::new(&free).exists());
    assert!(fs::read_to_string(&own)?.contains("production"));
    Ok(())
}

/// The CPU time of a process, in hundredths of a second.
#[cfg(target_os = "linux")]
fn processor_time(process: u32) -> Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, fields) = stat.rsplit_once(')').context("no name")?;
    let fields: Vec<_> = fields.split_whitespace().collect();
    Ok(fields[11].parse::<u64>()? + fields[12].parse::<u64>()?)
}

#[test]
#[cfg(target_os = "linux")]
fn more_connections_than_it_can_open_keep_no_processor_busy() -> Result<()> {
    let mut server = Command::new("sh")
        .args(["-c", "ulimit -n 30; exec \"$0\" --kubeconfig \"$1\"", env!("CARGO_BIN_EXE_baton-apiserver")])
        .arg(folder("busy")?.join("kubeconfig"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let lines = printed(&mut server)?;
    let address = lines[0].split("http://").nth(1).and_then(|rest| rest.split(' ').next());
    let address = address.context("no address")?.to_owned();
    let connections: Vec<_> = (0..60).map(|_| TcpStream::connect(&address)).collect::<Result<_, _>>()?;
    let before = processor_time(server.id())?;
    std::thread::sleep(std::time::Duration::from_secs(1));
    let used = processor_time(server.id())? - before;
    drop(connections);
    let response = get(&address, "/readyz")?;
    terminate(server)?;
    assert!(used < 30, "{used} hundredths of a second");
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    Ok(())
}
