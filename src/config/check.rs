//! Mistakes in a scenario that its types allow, one file at a time.

use std::collections::BTreeMap;
use std::ops::Range;

use super::decode::{Document, Segment};
use super::problem::Mistake;
use super::scenario::{FORMAT, Isolation, Phase, Repeat, Scenario, Settle, SettleLimits};
use super::step::{Ask, Disk, Idle, IdleMode, Step, template};
use super::wording::instead;
use crate::config::is_file_name;

/// The mistakes of one scenario file. `isolation` is that of its workspace.
pub fn scenario(scenario: &Scenario, document: &Document<'_>, isolation: Isolation) -> Vec<Mistake> {
    let mut check = Check {
        document,
        faults: Vec::new(),
    };
    check.head(scenario);
    check.names(scenario);
    check.starts(scenario);
    check.open_documents(scenario);
    check.destructive(scenario);
    for (index, phase) in scenario.phases.iter().enumerate() {
        check.phase(index, phase, isolation);
        let own = phase.settle;
        if own.quiet.is_some() || own.at_most.is_some() {
            let path = ["phase".into(), index.into(), "settle".into()];
            check.settle(&path, own, scenario.settle(phase));
        }
    }
    check.faults
}

/// Checks the format's version, which decides whether the rest can be read.
pub fn format(version: i64, span: Range<usize>) -> Option<Mistake> {
    if version <= i64::from(FORMAT) {
        return None;
    }
    Some(Mistake::new(
        span,
        format!("format {version} is newer than this lsp-soak, which reads format {FORMAT}"),
        "update lsp-soak",
    ))
}

/// Reports that a scenario with its includes has no result, or none of the given name.
pub fn result(scenario: &Scenario, document: &Document<'_>) -> Option<Mistake> {
    if scenario.phases.is_empty() || scenario.result().is_some() {
        return None;
    }
    let names: Vec<&str> = scenario.phases.iter().map(|phase| phase.name.as_str()).collect();
    let (title, cure) = match &scenario.result {
        Some(name) => (format!("no phase is called `{name}`"), instead(name, &names)),
        None => (
            "every phase is diagnostic, so the scenario has no result".to_owned(),
            "write `result = \"PHASE\"`, or take `diagnostic` from a phase".to_owned(),
        ),
    };
    Some(Mistake::new(document.span(&["result".into()]), title, cure))
}

pub(super) struct Check<'d, 't> {
    document: &'d Document<'t>,
    faults: Vec<Mistake>,
}

impl Check<'_, '_> {
    pub(super) fn add(&mut self, path: &[Segment<'_>], title: impl Into<String>, cure: impl Into<String>) {
        self.faults.push(Mistake::new(self.document.span(path), title, cure));
    }

    fn head(&mut self, scenario: &Scenario) {
        if scenario.format != FORMAT {
            let title = match scenario.format {
                0 => "the format is not given".to_owned(),
                other => format!("there is no format {other}"),
            };
            self.add(&["format".into()], title, "write `format = 1` in the first line");
        }
        if scenario.name.trim().is_empty() {
            self.add(
                &["name".into()],
                "the scenario has no name",
                "write `name = \"…\"`: it names the report",
            );
        } else if !is_file_name(&scenario.name) {
            let title = format!("`{}` cannot name a scenario", scenario.name);
            let cure = "it names the directory of the records: use up to 64 letters, digits, `-`, `_` and `.`, and \
                        begin \
                        with a letter or digit";
            self.add(&["name".into()], title, cure);
        }
        if scenario.phases.is_empty() && scenario.include.is_empty() {
            let cure = "add `[[phase]]` with a name and steps, or `include` another scenario";
            self.add(&["phase".into()], "the scenario has no phases", cure);
        }
        self.repeat(&["repeat".into()], scenario.repeat);
        self.settle(
            &["settle".into()],
            scenario.settle,
            scenario.settle.completed_from(Settle::default()),
        );
    }

    /// The quiet period must fit into the time limit.
    fn settle(&mut self, path: &[Segment<'_>], own: Settle, limits: SettleLimits) {
        if limits.quiet <= limits.at_most {
            return;
        }
        let member = if own.at_most.is_some() { "at-most" } else { "quiet" };
        let path: Vec<_> = path.iter().copied().chain([member.into()]).collect();
        let title = format!(
            "no time to settle: {} of quiet do not fit into {}",
            limits.quiet, limits.at_most
        );
        self.add(&path, title, "make `at-most` longer than `quiet`, or `quiet` shorter");
    }

    fn repeat(&mut self, path: &[Segment<'_>], repeat: Option<Repeat>) {
        let nothing = match repeat {
            Some(Repeat::Times(times)) => times == 0,
            Some(Repeat::For(time)) => time.0.is_zero(),
            None => false,
        };
        if nothing {
            self.add(path, "repeated 0 times", "write 1 or more, or leave `repeat` out");
        }
    }

    fn names(&mut self, scenario: &Scenario) {
        let mut seen = BTreeMap::new();
        for (index, phase) in scenario.phases.iter().enumerate() {
            let path = ["phase".into(), index.into(), "name".into()];
            if phase.name.trim().is_empty() {
                self.add(
                    &path,
                    "a phase without a name",
                    "write `name = \"…\"`: it names a row of the report",
                );
            } else if let Some(first) = seen.insert(phase.name.as_str(), index) {
                let title = format!("two phases are called `{}`", phase.name);
                self.add(
                    &path,
                    title,
                    format!("rename one of them; the other is phase {}", first + 1),
                );
            }
        }
    }

    fn starts(&mut self, scenario: &Scenario) {
        // An unreadable part may have contained the start.
        let mut unsure = self.unread_steps(scenario);
        let mut started = !scenario.include.is_empty();
        for (phase_index, phase) in scenario.phases.iter().enumerate() {
            for (step_index, step) in phase.steps.iter().enumerate() {
                let path = ["phase".into(), phase_index.into(), "steps".into(), step_index.into()];
                match (step, started) {
                    _ if !self.as_written(&path, step) => unsure = true,
                    (Step::Start(start), false) => {
                        started = true;
                        let has_folders = scenario.workspace.as_ref().is_some_and(|own| !own.folders.is_empty());
                        if start.root.is_some() && has_folders {
                            let path: Vec<_> = path.iter().copied().chain(["start".into(), "root".into()]).collect();
                            self.add(&path, "`root` beside `folders` of the workspace", "keep one of them");
                        }
                    }
                    (Step::Start(_), true) => self.add(
                        &path,
                        "the server is already running",
                        "write `{ restart = {} }` to stop it and start a new one",
                    ),
                    (Step::Restart(_), true) if scenario.start().instances.get() > 1 => {
                        let cure = "leave out `instances` of `start`, or the restart";
                        self.add(&path, "`restart` with several windows", cure);
                    }
                    (_, true) => {}
                    (_, false) if unsure => {}
                    (step, false) => {
                        let title = format!("`{}` before the server is started", step.name());
                        self.add(&path, title, "begin the first phase with `{ start = {} }`");
                        started = true;
                    }
                }
            }
        }
    }

    /// True if `steps` of some phase were unreadable.
    fn unread_steps(&self, scenario: &Scenario) -> bool {
        scenario.phases.iter().enumerate().any(|(index, phase)| {
            let path = ["phase".into(), index.into()];
            phase.steps.is_empty() && self.document.has(&path, "steps") && !self.document.is_empty_array(&path, "steps")
        })
    }

    /// True if the user wrote the step, rather than it replaces an unreadable one.
    fn as_written(&self, path: &[Segment<'_>], step: &Step) -> bool {
        self.document.has(path, step.name())
    }

    /// Finds steps without open documents. Documents opened by included phases are unknown here.
    fn open_documents(&mut self, scenario: &Scenario) {
        let mut open = !scenario.include.is_empty() || self.unread_steps(scenario);
        for (phase_index, phase) in scenario.phases.iter().enumerate() {
            for (step_index, step) in phase.steps.iter().enumerate() {
                let path = ["phase".into(), phase_index.into(), "steps".into(), step_index.into()];
                match step {
                    Step::Open(_) => open = true,
                    step if !self.as_written(&path, step) => open = true,
                    Step::Restart(options) if !options.reopen => open = false,
                    step if step.needs_open() && !open => {
                        let title = format!("`{}` with no document open", step.name());
                        self.add(&path, title, "put `{ open = { files = 20 } }` before it");
                        open = true;
                    }
                    Step::Close(options) if options.files.is_none() => open = false,
                    _ => {}
                }
            }
        }
    }

    fn phase(&mut self, index: usize, phase: &Phase, isolation: Isolation) {
        if phase.steps.is_empty() {
            let path = ["phase".into(), index.into(), "steps".into()];
            let cure = "write `steps = [{ idle = {} }]` or whatever it is to do";
            self.add(&path, format!("phase {} has no steps", index + 1), cure);
        }
        self.repeat(&["phase".into(), index.into(), "repeat".into()], phase.repeat);
        for (step_index, step) in phase.steps.iter().enumerate() {
            let path = ["phase".into(), index.into(), "steps".into(), step_index.into()];
            if isolation == Isolation::InPlace && step.writes() {
                let title = format!("`{}` writes files, and the workspace is used in place", step.name());
                let cure = "use `isolation = \"copy\"` or `--isolation copy`, or leave the step out";
                self.add(&path, title, cure);
            }
            self.step(&path, step);
        }
    }

    fn step(&mut self, path: &[Segment<'_>], step: &Step) {
        let name = step.name();
        let at = |member: &'static str| -> Vec<Segment<'_>> {
            let tail = [name.into(), member.into()];
            path.iter().copied().chain(tail).collect()
        };
        if let Some(ask) = step.ask() {
            self.cancellation(&at, ask);
        }
        match step {
            Step::Idle(options) => self.idle(&at, options),
            Step::WorkspaceSymbol(options) if options.queries.is_empty() => {
                self.add(
                    &at("queries"),
                    "no queries",
                    "name at least one, such as [\"test\"], or leave `queries` out",
                );
            }
            Step::Request(options) => {
                self.method(&at("method"), &options.method);
                self.placeholders(&at("params"), options.params.iter());
            }
            Step::Notification(options) => {
                self.method(&at("method"), &options.method);
                self.placeholders(&at("params"), options.params.iter());
            }
            Step::ExecuteCommand(options) => {
                if options.command.is_empty() {
                    self.add(&at("command"), "no command is named", "write `command = \"…\"`");
                }
                self.placeholders(&at("arguments"), options.arguments.iter());
            }
            Step::Release(options) if options.by.as_ref().is_some_and(Vec::is_empty) => {
                let cure = "name \"server\", \"allocator\" or both, or leave `by` out";
                self.add(&at("by"), "nothing to release memory by", cure);
            }
            Step::Disk(options) => self.disk(path, &at, options),
            Step::Checkout(options) if options.rev.is_empty() || options.rev.starts_with('-') => {
                self.add(
                    &at("rev"),
                    "no commit is named",
                    "write `rev = \"…\"`, a branch, tag or commit",
                );
            }
            Step::Session(options) if options.file.is_empty() => {
                self.add(path, "no session is named", "write `session = { file = \"…\" }`");
            }
            Step::Shell(options) if options.command.trim().is_empty() => {
                self.add(&at("command"), "no command is named", "write `command = \"…\"`");
            }
            Step::Settings(options) if options.0.is_empty() => {
                let cure = "write them as in the server's profile, such as `settings = { python = { … } }`";
                self.add(path, "no settings", cure);
            }
            Step::Folders(options) if options.add.is_empty() && options.remove.is_empty() => {
                self.add(
                    path,
                    "no folders to add or to remove",
                    "write `add = [\"packages/*\"]`, or `remove`",
                );
            }
            Step::Type(options) => self.text(&at("text"), options.text.as_deref()),
            Step::TypeAndComplete(options) => self.text(&at("text"), options.text.as_deref()),
            _ => {}
        }
    }

    fn cancellation<'p>(&mut self, at: &impl Fn(&'static str) -> Vec<Segment<'p>>, ask: Ask) {
        let (Some(patience), Some(deadline)) = (ask.cancel_after, ask.deadline) else {
            return;
        };
        if patience >= deadline {
            let title = format!("no request is open after {patience}: its deadline is {deadline}");
            self.add(&at("cancel-after"), title, "cancel before the deadline");
        }
    }

    fn disk<'p>(&mut self, path: &[Segment<'_>], at: &impl Fn(&'static str) -> Vec<Segment<'p>>, options: &Disk) {
        match (&options.path, &options.glob) {
            (None, None) => self.add(
                path,
                "no file is named",
                "write `path = \"src/a.py\"`, or `glob = \"dist/**\"`",
            ),
            (Some(_), Some(_)) => self.add(&at("glob"), "`glob` beside `path`", "keep one of them"),
            (Some(_), None) if options.files.is_some() => {
                self.add(
                    &at("files"),
                    "`files` beside `path`, which is one file",
                    "leave it out, or write `glob`",
                );
            }
            _ => {}
        }
        let actions: Vec<&'static str> = options.actions().into_iter().map(|(name, _)| name).collect();
        match actions.as_slice() {
            [] => {
                let cure = "write one of `write`, `append`, `replace`, `delete`, `rename` and `touch`";
                self.add(path, "nothing happens to the files", cure);
            }
            [_] => {}
            [first, second, ..] => {
                let title = format!("`{second}` beside `{first}`");
                self.add(
                    &at(second),
                    title,
                    "keep one, and write another `disk` step for the other",
                );
            }
        }
        if options.rename.is_some() && options.glob.is_some() {
            self.add(
                &at("rename"),
                "several files would get one path",
                "name the file with `path`",
            );
        }
    }

    fn text(&mut self, path: &[Segment<'_>], text: Option<&str>) {
        if text == Some("") {
            self.add(
                path,
                "nothing to type",
                "write some text, or leave `text` out for a line that fits the language",
            );
        }
    }

    fn idle<'p>(&mut self, at: &impl Fn(&'static str) -> Vec<Segment<'p>>, options: &Idle) {
        if options.time.is_some() && (options.until.is_some() || options.at_most.is_some()) {
            let cure = "keep `for` to wait a fixed time, or `until` and `at-most` to wait for memory to settle";
            self.add(&at("for"), "`for` beside `until` or `at-most`", cure);
        }
        if options.time.is_none()
            && let Some(at_most) = options.at_most
            && at_most <= Idle::STEADY
        {
            let title = format!(
                "no time to settle: memory that keeps still for {} does not fit into {at_most}",
                Idle::STEADY
            );
            let cure = "make `at-most` longer, or write `for` to wait a fixed time";
            self.add(&at("at-most"), title, cure);
        }
        if options.time.is_some() && options.dwell.is_some() {
            let cure = "keep `for` to wait a fixed time, or `dwell` to say when memory counts as held";
            self.add(&at("dwell"), "`dwell` beside `for`", cure);
        }
        let traffic = [
            ("every", options.every.is_some()),
            ("methods", options.methods.is_some()),
            ("control", options.control),
        ];
        for (name, _) in traffic
            .iter()
            .filter(|(_, given)| *given && options.mode == IdleMode::Silent)
        {
            let cure = format!("write `mode = \"simmer\"`, or leave `{name}` out");
            let title = format!("`{name}` in a silent idle, which sends nothing");
            self.add(&at(name), title, cure);
        }
        if options.methods.as_ref().is_some_and(Vec::is_empty) {
            self.add(
                &at("methods"),
                "simmering without anything to send",
                "name some of \"hover\", \"document-highlight\" and \"touch\", or leave `methods` out",
            );
        }
        if options.every.is_some_and(|every| every.0.is_zero()) {
            self.add(
                &at("every"),
                "simmering without pause",
                "write how often, such as \"250ms\"",
            );
        }
    }

    fn method(&mut self, path: &[Segment<'_>], method: &str) {
        let lifecycle = ["initialize", "initialized", "shutdown", "exit"];
        if method.is_empty() {
            self.add(path, "no method is named", "write `method = \"textDocument/…\"`");
        } else if lifecycle.contains(&method) {
            let title = format!("`{method}` is sent by lsp-soak itself");
            self.add(path, title, "use the steps `start` and `restart`");
        } else if method.contains(char::is_whitespace) {
            let title = format!("`{method}` is not a method name");
            self.add(path, title, "write it as in the protocol, such as `textDocument/hover`");
        }
    }

    fn placeholders<'v>(&mut self, path: &[Segment<'_>], values: impl Iterator<Item = &'v serde_json::Value>) {
        for name in values.flat_map(template::unknown) {
            let known = template::PLACEHOLDERS.map(|name| format!("`${{{name}}}`")).join(", ");
            self.add(
                path,
                format!("unknown placeholder `${{{name}}}`"),
                format!("there are {known}"),
            );
        }
    }
}
