//! Validation of probes and lifecycle hooks.

use baton_merge::value::Value;

use crate::field::FieldError;
use crate::kinds::{
    cursor::{Cursor, Errors},
    format,
};

/// The handlers of probes and hooks, in the server's order.
const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

/// The stop signals, in the server's order.
#[rustfmt::skip]
const SIGNALS: [&str; 65] = [
    "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT",
    "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX",
    "SIGRTMAX-1", "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13", "SIGRTMAX-14", "SIGRTMAX-2",
    "SIGRTMAX-3", "SIGRTMAX-4", "SIGRTMAX-5", "SIGRTMAX-6", "SIGRTMAX-7", "SIGRTMAX-8", "SIGRTMAX-9",
    "SIGRTMIN", "SIGRTMIN+1", "SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14",
    "SIGRTMIN+15", "SIGRTMIN+2", "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7",
    "SIGRTMIN+8", "SIGRTMIN+9", "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP",
    "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ",
];

pub(super) fn check_probe(probe: &Cursor<'_>, name: &str, spec: &Cursor<'_>, errors: &mut Errors) {
    if !probe.is_set() {
        return;
    }
    check_handler(probe, spec, errors);
    probe.check_none_negative(
        errors,
        &["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"],
    );
    let grace_period = probe.child("terminationGracePeriodSeconds");
    if grace_period.is_set() && grace_period.int() <= 0 {
        errors.push(grace_period.invalid_int("must be greater than 0"));
    }
    let threshold = probe.child("successThreshold");
    if name == "readinessProbe" {
        if grace_period.is_set() {
            errors.push(grace_period.invalid_int("must not be set for readinessProbes"));
        }
    } else if threshold.int() != 1 {
        errors.push(threshold.invalid_int("must be 1"));
    }
}

pub(super) fn check_lifecycle(lifecycle: &Cursor<'_>, spec: &Cursor<'_>, errors: &mut Errors) {
    for handler in ["postStart", "preStop"].map(|name| lifecycle.child(name)) {
        if handler.is_set() {
            check_handler(&handler, spec, errors);
        }
    }
    let signal = lifecycle.child("stopSignal");
    match spec.at(&["os", "name"]).text() {
        _ if !signal.is_set() => {}
        "windows" => signal.check_one_of(errors, &["SIGKILL", "SIGTERM"]),
        "linux" => signal.check_one_of(errors, &SIGNALS),
        _ if !spec.has("os") => {
            errors.push(signal.forbidden("may not be set for containers with empty `spec.os.name`"));
        }
        _ => {}
    }
}

fn check_handler(parent: &Cursor<'_>, spec: &Cursor<'_>, errors: &mut Errors) {
    let handlers: Vec<_> = HANDLERS
        .iter()
        .map(|name| (*name, parent.child(name)))
        .filter(|(_, handler)| handler.is_set())
        .collect();
    let Some(((name, handler), others)) = handlers.split_first() else {
        errors.push(parent.required("must specify a handler type"));
        return;
    };
    match *name {
        "exec" => {
            let command = handler.child("command");
            if command.len() == 0 {
                errors.push(command.required(""));
            }
        }
        "httpGet" => {
            handler.child("path").check_present(errors);
            check_port(&handler.child("port"), errors);
            let scheme = handler.child("scheme");
            if !matches!(scheme.text(), "HTTP" | "HTTPS") {
                errors.push(scheme.not_supported(&["HTTP", "HTTPS"]));
            }
            let headers = handler.child("httpHeaders");
            for header in headers.items() {
                header.child("name").shown_at(headers.path.clone()).check(errors, format::http_header);
            }
        }
        "sleep" => {
            let seconds = handler.int_of("seconds");
            let grace_period = spec.int_of("terminationGracePeriodSeconds");
            if seconds < 0 || seconds > grace_period {
                let detail = format!(
                    "must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
                );
                errors.push(FieldError::invalid(&handler.path, Value::Int(seconds), &detail));
            }
        }
        _ => check_port(&handler.child("port"), errors),
    }
    errors
        .extend(others.iter().map(|(_, other)| other.forbidden("may not specify more than 1 handler type")));
}

/// A port number or name.
pub(in crate::kinds) fn check_port(port: &Cursor<'_>, errors: &mut Errors) {
    if port.value.is_some_and(|value| value.as_str().is_some()) {
        port.check(errors, format::port_name);
    } else if let Some(problem) = format::port_number(port.int()) {
        errors.push(port.invalid_int(problem));
    }
}
