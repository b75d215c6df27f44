//! The world of a session: a cluster with a namespace, and a folder with files.

use std::{
    cell::RefCell,
    fs,
    io::{self, Cursor, Write},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use anstream::StripStream;
use baton_apiserver::{Actor, ApiServer, Serving};
use baton_crd::{Workload, workload_crd};
use baton_e2e::{
    apply, client_side_apply,
    session::{self, World as _},
};
use baton_merge::yaml::{self, Document};
use baton_testbed::{ControlPlane, Error};
use jiff::Timestamp;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Namespace};
use kube::{
    Api, Client,
    api::{GetParams, Patch, PatchParams},
    core::Request,
};
use kubectl_baton::Terminal;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The namespace of every session, as pages name it.
const NAMESPACE: &str = "shop";
/// A time, as pages have all times.
const TIME: &str = "2026-01-02T03:04:05Z";
/// Longer than a second, after which entries of `managedFields` have another time.
const NEXT_SECOND: Duration = Duration::from_millis(1050);

pub struct World {
    cluster: Cluster,
    client: Client,
    folder: TempDir,
}

enum Cluster {
    InProcess { clock: Arc<AtomicI64>, _serving: Serving },
    Real { control_plane: Arc<ControlPlane>, namespace: String },
}

/// The output of a command, and how it ended.
struct Ended {
    output: String,
    code: u8,
}

impl World {
    pub async fn in_process() -> Result<Self, Error> {
        let clock = Arc::new(AtomicI64::new(1_767_323_045));
        let seconds = clock.clone();
        let server = ApiServer::builder()
            .clock(move || Timestamp::from_second(seconds.load(Ordering::Relaxed)).unwrap_or_default())
            .actors([Actor::AccessControl])
            .crd_object(&workload_crd())
            .start()
            .map_err(Error::parse("the server"))?;
        let client = server.client();
        create_namespace(&client, NAMESPACE).await?;
        let serving =
            server.serve(([127, 0, 0, 1], 0).into()).await.map_err(Error::file("serve", "the server"))?;
        let kubeconfig = serving.kubeconfig().replace("user: anybody}", "user: anybody, namespace: shop}");
        Self::of(Cluster::InProcess { clock, _serving: serving }, client, &kubeconfig)
    }

    pub async fn real(control_plane: &Arc<ControlPlane>) -> Result<Self, Error> {
        // No longer than its column in a table.
        static SESSIONS: AtomicI64 = AtomicI64::new(0);
        let client = control_plane.admin().await?;
        let namespace = format!("{NAMESPACE}-{}", SESSIONS.fetch_add(1, Ordering::Relaxed));
        create_namespace(&client, &namespace).await?;
        let path = control_plane.kubeconfig();
        let text = fs::read_to_string(path).map_err(Error::file("read", path))?;
        let mut kubeconfig: Value =
            yaml::from_str(&text).map_err(|error| Error::parse("kubeconfig")(error))?;
        for context in kubeconfig["contexts"].as_array_mut().into_iter().flatten() {
            context["context"]["namespace"] = json!(namespace);
        }
        let cluster = Cluster::Real { control_plane: control_plane.clone(), namespace };
        Self::of(cluster, client, &kubeconfig.to_string())
    }

    fn of(cluster: Cluster, client: Client, kubeconfig: &str) -> Result<Self, Error> {
        let folder = TempDir::new().map_err(Error::file("make", "a folder"))?;
        let world = Self { cluster, client, folder };
        world.save("kubeconfig", kubeconfig)?;
        Ok(world)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn namespace(&self) -> &str {
        match &self.cluster {
            Cluster::InProcess { .. } => NAMESPACE,
            Cluster::Real { namespace, .. } => namespace,
        }
    }

    /// The output without what differs from run to run.
    fn normalised(&self, output: &str) -> String {
        let output = output
            .replace(&format!(" --kubeconfig {}", self.path("kubeconfig")), "")
            .replace(&self.path(""), "")
            .replace(
                &format!("{}   ", self.namespace()),
                &format!("{NAMESPACE:0$}   ", self.namespace().len()),
            )
            .replace(self.namespace(), NAMESPACE);
        let mut text = String::new();
        let mut rest = output.as_str();
        // A time is as long as any other, so that columns stay as they are.
        while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
            let (before, from) = rest.split_at(start);
            text += before;
            let is_time = from.get(..TIME.len()).is_some_and(|time| time.parse::<Timestamp>().is_ok());
            let end = if is_time {
                TIME.len()
            } else {
                from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len())
            };
            text += if is_time { TIME } else { &from[..end] };
            rest = &from[end..];
        }
        text + rest
    }

    /// Runs a command; nothing if it is plain kubectl, whose output is known only on a real cluster.
    async fn ended(&self, command: &str) -> Result<Option<Ended>, Error> {
        let (command, saved_to) = match command.split_once(" > ") {
            Some((command, file)) => (command, Some(file)),
            None => (command, None),
        };
        let (input, command) = match command.strip_prefix("cat ").and_then(|rest| rest.split_once(" | ")) {
            Some((file, command)) => {
                let path = self.path(file);
                (fs::read_to_string(&path).map_err(Error::file("read", &path))?, command)
            }
            None => (String::new(), command),
        };
        let words = shlex::split(command).ok_or_else(|| Error::parse(command)("a quote is never closed"))?;
        let words = words.into_iter().map(|word| match self.folder.path().join(&word) {
            path if path.is_file() || path.is_dir() && word.ends_with('/') => path.display().to_string(),
            _ if word == NAMESPACE => self.namespace().to_owned(),
            _ => word,
        });
        let words: Vec<String> = words.collect();
        let ended = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["kubectl", "baton", ref args @ ..] => Some(self.plugin(args, input).await),
            ["kubectl", ref args @ ..] => self.kubectl(args, input).await?,
            _ => return Err(Error::parse(command)("only kubectl can be run")),
        };
        match (saved_to, ended) {
            (Some(file), Some(Ended { output, .. })) => {
                self.save(file, &output)?;
                Ok(Some(Ended { output: String::new(), code: 0 }))
            }
            (_, ended) => Ok(ended),
        }
    }

    async fn plugin(&self, args: &[&str], input: String) -> Ended {
        let stream = Stream::default();
        let mut terminal = Terminal {
            out: Box::new(StripStream::new(Box::new(stream.clone()) as Box<dyn Write>)),
            err: Box::new(StripStream::new(Box::new(stream.clone()) as Box<dyn Write>)),
            input: Box::new(Cursor::new(input)),
            is_interactive: false,
        };
        let kubeconfig = self.path("kubeconfig");
        let mut line = vec!["kubectl-baton"];
        let flag = ["--kubeconfig", &kubeconfig];
        match args {
            // The last word is the one to complete.
            ["__complete", words @ ..] => line.extend(["__complete"].iter().chain(&flag).chain(words)),
            _ if args.contains(&"--kubeconfig") => line.extend(args),
            _ => line.extend(args.iter().chain(&flag)),
        }
        let code = kubectl_baton::run(line, &mut terminal).await;
        drop(terminal);
        let output = String::from_utf8_lossy(&stream.0.borrow()).into_owned();
        Ended { output, code }
    }

    async fn kubectl(&self, args: &[&str], input: String) -> Result<Option<Ended>, Error> {
        if let Cluster::Real { control_plane, namespace } = &self.cluster {
            let args = args.iter().copied().chain(["--namespace", namespace]);
            let output = control_plane.kubectl_command(args)?.input(input).run().await?;
            let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255);
            return Ok(Some(Ended { output: output.stdout + &output.stderr, code }));
        }
        self.as_kubectl(args).await
    }

    /// Does what kubectl does. Only what it reads is returned.
    async fn as_kubectl(&self, args: &[&str]) -> Result<Option<Ended>, Error> {
        let params =
            |manager: &str| PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        match args {
            ["apply", "--server-side", "-f", file, rest @ ..] => {
                let (manager, force) = match rest {
                    [] => ("kubectl", false),
                    ["--field-manager", manager] => (*manager, false),
                    ["--field-manager", manager, "--force-conflicts"] => (*manager, true),
                    _ => return Err(Error::parse("kubectl apply")(format!("unknown arguments {rest:?}"))),
                };
                for mut object in objects(file)? {
                    object["metadata"]["namespace"] = json!(NAMESPACE);
                    apply(&self.client, object, &PatchParams { force, ..PatchParams::apply(manager) })
                        .await?;
                }
                Ok(None)
            }
            ["apply", "--server-side", "--subresource", "status", "-f", file] => {
                for status in objects(file)? {
                    let api: Api<Workload> = Api::namespaced(self.client.clone(), NAMESPACE);
                    let name = status["metadata"]["name"].as_str().unwrap_or_default();
                    let applied =
                        api.patch_status(name, &PatchParams::apply("kubectl"), &Patch::Apply(&status)).await;
                    applied.map_err(Error::api("apply the status"))?;
                }
                Ok(None)
            }
            ["apply", "-f", file] => {
                for object in objects(file)? {
                    client_side_apply::create(&self.client, NAMESPACE, &object).await?;
                }
                Ok(None)
            }
            ["create", "-f", file, "--field-manager", manager] => {
                for mut object in objects(file)? {
                    object["metadata"]["namespace"] = json!(NAMESPACE);
                    client_side_apply::create_as(&self.client, manager, object).await?;
                }
                Ok(None)
            }
            ["scale", object, replicas] => {
                let name = object.rsplit('/').next().unwrap_or_default();
                let replicas = replicas.trim_start_matches("--replicas=").parse::<i32>();
                let replicas = replicas.map_err(|error| Error::parse("--replicas")(error))?;
                let api: Api<Deployment> = Api::namespaced(self.client.clone(), NAMESPACE);
                let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
                let scaled = api.patch_scale(name, &params("kubectl"), &patch).await;
                scaled.map_err(Error::api("scale the Deployment"))?;
                Ok(None)
            }
            ["get", "deployment", name, "-o", "json", "--show-managed-fields"] => {
                let path = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments");
                let request = Request::new(path).get(name, &GetParams::default());
                let request = request.map_err(|error| Error::parse("the request")(error))?;
                let output =
                    self.client.request_text(request).await.map_err(Error::api("read the Deployment"))?;
                Ok(Some(Ended { output, code: 0 }))
            }
            _ => Err(Error::parse("kubectl")(format!("no session does {args:?} yet"))),
        }
    }
}

impl session::World for World {
    fn save(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.folder.path().join(name);
        let text = text.replace("namespace: shop", &format!("namespace: {}", self.namespace()));
        fs::write(&path, text).map_err(Error::file("write", &path))
    }

    /// Plain kubectl's output is the old one unless the cluster is real.
    async fn run(&self, command: &str, old: &str) -> Result<String, Error> {
        let ended = self.ended(command).await?;
        Ok(ended.map_or_else(
            || old.to_owned(),
            |Ended { output, code }| session::output(self.normalised(&output), code.into()),
        ))
    }

    async fn pause(&self) {
        match &self.cluster {
            Cluster::InProcess { clock, .. } => drop(clock.fetch_add(1, Ordering::Relaxed)),
            Cluster::Real { .. } => tokio::time::sleep(NEXT_SECOND).await,
        }
    }
}

async fn create_namespace(client: &Client, name: &str) -> Result<(), Error> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let api: Api<Namespace> = Api::all(client.clone());
    let applied = api.patch(name, &PatchParams::apply("test"), &Patch::Apply(&namespace)).await;
    applied.map(drop).map_err(Error::api("create the namespace"))
}

fn objects(file: &str) -> Result<Vec<Value>, Error> {
    let text = fs::read_to_string(file).map_err(Error::file("read", file))?;
    let objects = yaml::read_all(&text).and_then(|documents| documents.iter().map(Document::to).collect());
    objects.map_err(Error::parse(file))
}

/// Keeps what is written.
#[derive(Clone, Default)]
struct Stream(Rc<RefCell<Vec<u8>>>);

impl Write for Stream {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
