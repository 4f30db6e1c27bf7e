//! Settings of virtual machines and interpreters, checked by the runtimes: they refuse unknown ones.

use super::super::probe;
use super::{Checked, KnobError, Question, unconfirmed_settings};
use record::{AllocatorFamily, KnobFacts};

/// A program that reads a variable.
struct Reader {
    variable: &'static str,
    /// Arguments with which it reads the variable and ends.
    args: &'static [&'static str],
    name: &'static str,
    cure: &'static str,
}

const JAVA: Reader = Reader {
    variable: "JAVA_TOOL_OPTIONS",
    args: &["-version"],
    name: "Java",
    cure: "write options that `java -X` and `java -XX:+PrintFlagsFinal -version` list",
};

const READERS: [Reader; 6] = [
    Reader {
        variable: "NODE_OPTIONS",
        args: &["--version"],
        name: "Node.js",
        cure: "write options that `node --help` and `node --v8-options` list",
    },
    // For its version alone it does not start V8.
    Reader {
        variable: super::DENO,
        args: &["eval", "0"],
        name: "Deno",
        cure: "write options that `deno eval --v8-flags=--help 0` lists, with commas between them",
    },
    Reader {
        variable: super::PYTHON,
        args: &["-S", "-c", ""],
        name: "CPython",
        cure: PYTHON_CURE,
    },
    JAVA,
    Reader {
        variable: "JDK_JAVA_OPTIONS",
        ..JAVA
    },
    Reader {
        variable: "_JAVA_OPTIONS",
        ..JAVA
    },
];

const PYTHON_CURE: &str = "write malloc, pymalloc or mimalloc (since 3.13)";

/// The beginning of the line in which Java says that it reads a variable.
const PICKED_UP: &str = "Picked up ";

/// The mistake in a value of `PYTHONMALLOC` that no version of CPython accepts. Runs no program, since CPython may be
/// behind a launcher that cannot be probed.
pub(super) fn unknown_allocator(variable: &str, value: &str) -> Option<KnobError> {
    // Objects/obmalloc.c of CPython, up to 3.14.
    const ALLOCATORS: [&str; 9] = [
        "", "default", "debug", "malloc", "malloc_debug", "pymalloc", "pymalloc_debug", "mimalloc", "mimalloc_debug",
    ];
    if variable != super::PYTHON || ALLOCATORS.contains(&value) {
        return None;
    }
    Some(KnobError::Value {
        written: format!("{variable}={value}"),
        why: "CPython has no such allocator".to_owned(),
        cure: PYTHON_CURE.to_owned(),
    })
}

/// Checks settings for a runtime of this family. If the program is another one, perhaps a launcher, there is no runtime
/// to run, and the settings stay unconfirmed.
pub(super) fn check(question: &Question<'_>, family: AllocatorFamily) -> Result<Checked, Vec<KnobError>> {
    let mut checked = unconfirmed_settings(question.env);
    let inspected = question.inspected;
    if inspected.facts.family != family && !(family == AllocatorFamily::V8 && inspected.node) {
        return Ok(checked);
    }
    for knob in &mut checked.knobs {
        let Some(reader) = READERS.iter().find(|reader| reader.variable == knob.variable) else {
            continue;
        };
        // V8 silently uses its default for an option without a value.
        let mut options = knob.requested.split([' ', ',']);
        if let Some(option) = options.find(|option| option.starts_with("--") && option.ends_with('=')) {
            let why = format!("`{option}` has no value");
            return Err(vec![wrong_value(knob, why, reader)]);
        }
        let variables = [(knob.variable.as_str(), knob.requested.as_str())];
        let (subject, program) = (question.subject, &inspected.file);
        let Some(heard) = probe::ask_other(subject, program, reader.args, &variables, question.cancel) else {
            continue;
        };
        let mut lines = heard.said.stderr.lines();
        let message = lines.find(|line| !line.trim().is_empty() && !line.contains(PICKED_UP));
        // Node.js warns of a number out of bounds and continues without it.
        let ignores_value = message.is_some_and(|message| message.starts_with("Error: "));
        if ignores_value || !heard.exit_status.is_some_and(|status| status.success()) {
            let message = message.unwrap_or("nothing, and fails").trim();
            let why = format!("{} says `{message}`", reader.name);
            return Err(vec![wrong_value(knob, why, reader)]);
        }
        knob.effective = Some(knob.requested.clone());
        knob.seen = Some(format!("the check of {} itself", reader.name));
        knob.taken = Some(true);
    }
    Ok(checked)
}

fn wrong_value(knob: &KnobFacts, why: String, reader: &Reader) -> KnobError {
    KnobError::Value {
        written: knob.assignment(),
        why,
        cure: reader.cure.to_owned(),
    }
}
