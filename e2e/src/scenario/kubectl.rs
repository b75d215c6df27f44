//! kubectl in a scenario: what it writes is predicted, too.

use std::{future::IntoFuture, pin::Pin};

use super::{
    body,
    scene::{Scene, failed},
    show,
};
use crate::{kubectl::Output, merge_diff::Json};

/// A call of kubectl that hasn't run yet. Awaiting it runs it.
#[must_use = "kubectl does nothing until it is awaited"]
pub struct Kubectl<'s> {
    scene: &'s mut Scene,
    args: Vec<String>,
    input: Option<Json>,
    fails_with: Option<String>,
    prints: Vec<String>,
}

impl Scene {
    /// kubectl as administrator, in the namespace of the scene: `"apply --server-side -f -"`.
    pub fn kubectl(&mut self, args: &str) -> Kubectl<'_> {
        let args = args.split_whitespace().map(str::to_owned).collect();
        Kubectl { scene: self, args, input: None, fails_with: None, prints: Vec::new() }
    }
}

impl Kubectl<'_> {
    /// What it reads for `-f -`: the subject, written like every body.
    pub fn reading(mut self, object: &str) -> Self {
        let (resource, name) = self.scene.subject();
        self.input = Some(body::completed(body::parse(object), &resource, &name));
        self
    }

    /// Expects that it fails, with this in what it says.
    pub fn fails(mut self, text: &str) -> Self {
        self.fails_with = Some(text.to_owned());
        self
    }

    /// Expects this in what it says.
    pub fn says(mut self, text: &str) -> Self {
        self.prints.push(text.to_owned());
        self
    }

    async fn run(self) -> Output {
        let Self { scene, mut args, input, fails_with, prints } = self;
        let told = format!("kubectl {}", args.join(" "));
        args.extend(["--namespace".to_owned(), scene.namespace().to_owned()]);
        let control_plane = scene.stage().control_plane();
        let mut command = control_plane.kubectl_command(&args).unwrap_or_else(failed);
        if let Some(input) = &input {
            command = command.input(show::yaml(input));
        }
        let output = command.run().await.unwrap_or_else(failed);
        match &fails_with {
            None => assert!(output.status.success(), "{}: {output}", scene.title()),
            Some(text) => assert!(
                !output.status.success() && output.stderr.contains(text),
                "{}: expected is a failure with {text:?}\n{output}",
                scene.title()
            ),
        }
        for text in prints {
            let said = [&*output.stdout, &*output.stderr].concat();
            assert!(said.contains(&text), "{}: expected is that it says {text:?}\n{output}", scene.title());
        }
        scene.take_note_of_others(Some(&told)).await;
        output
    }
}

impl<'s> IntoFuture for Kubectl<'s> {
    type Output = Output;
    type IntoFuture = Pin<Box<dyn Future<Output = Output> + 's>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
