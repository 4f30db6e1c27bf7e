//! The header of an invented session.

use crate::{
    FORMAT, Header, Host, Memory, PlanFacts, Revision, ScenarioFacts, ServerFacts, Settings, TreeFacts, WorkspaceFacts,
};

use super::session::TICK;

pub(super) fn header(label: &str) -> Header {
    Header {
        format: FORMAT,
        tool: "0.1.0".to_owned(),
        started: "2026-11-21T09:30:00Z".to_owned(),
        wrapped: None,
        plan: PlanFacts {
            run: 1,
            ..PlanFacts::default()
        },
        host: Host {
            target: "x86_64-unknown-linux-gnu".to_owned(),
            os: "linux".to_owned(),
            distribution: Some("Debian GNU/Linux 12 (bookworm)".to_owned()),
            kernel: Some("6.12.41".to_owned()),
            libc: Some("glibc 2.36".to_owned()),
            cpu: Some("AMD EPYC 9R14".to_owned()),
            cpus: Some(8),
            affinity: Some("0-7".to_owned()),
            memory: Memory {
                total: Some(32 << 30),
                available: Some(28 << 30),
                swap: Some(0),
                huge_pages: Some("madvise".to_owned()),
                ..Memory::default()
            },
            page_size: Some(4096),
            load: Some(0.42),
            ..Host::default()
        },
        server: ServerFacts {
            label: label.to_owned(),
            profile: Some(label.to_owned()),
            program: format!("/usr/local/bin/{label}"),
            sha256: Some("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned()),
            version: Some(format!("{label} 0.4.2")),
            args: vec!["server".to_owned()],
            ..ServerFacts::default()
        },
        scenario: ScenarioFacts {
            name: "completions".to_owned(),
            path: "scenarios/completions.toml".to_owned(),
            sha256: "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752".to_owned(),
            text: "format = 1\n".to_owned(),
            seed: 1,
            phases: ["start", "goto", "completions", "workspace-symbols", "decay"]
                .map(str::to_owned)
                .to_vec(),
            result: None,
        },
        workspace: workspace(),
        settings: Settings {
            interval: TICK,
            peak_reset: true,
            capabilities: "default".to_owned(),
            ..Settings::default()
        },
    }
}

fn workspace() -> WorkspaceFacts {
    WorkspaceFacts {
        path: "fixtures/workspaces/shop".to_owned(),
        origin: None,
        isolation: "copy".to_owned(),
        language: "python".to_owned(),
        files: 42,
        bytes: 180_224,
        sha256: "fd61a03af4f77d870fc21e05e7e80678095c92d808cfb3b5c279ee04c74aca13".to_owned(),
        tree: Some(TreeFacts {
            files: 61,
            bytes: 412_007,
            sha256: "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae".to_owned(),
            unread: 0,
        }),
        revision: Some(Revision {
            commit: "5f2b1a7c0d9e4b3f8a6c7d8e9f0a1b2c3d4e5f60".to_owned(),
            dirty: Some(false),
        }),
    }
}
