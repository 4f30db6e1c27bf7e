//! What extensions of Visual Studio Code call the settings of their servers.

use serde_json::{Value, json};

use analysis::tune::Server;

/// An extension's settings; `None` if it lacks one.
pub(crate) struct Extension {
    server: &'static str,
    pub env: Option<&'static str>,
    pub args: Option<&'static str>,
    /// Where another program in the server's place goes.
    path: Option<Path>,
    /// What begins the names of the settings that it makes initialization options of.
    pub section: Option<&'static str>,
    /// Why nothing of this can be set in it.
    pub instead: Option<&'static str>,
}

enum Path {
    Text(&'static str),
    First(&'static str),
    /// As a member of an object.
    Member(&'static str, &'static str),
}

impl Extension {
    /// That of a server, where it is known: by its profile, which may be the user's own, or by its program.
    pub fn of(server: &Server) -> Option<&'static Extension> {
        let named = |name: &str| EXTENSIONS.iter().find(|one| one.server == name);
        named(&server.name).or_else(|| named(&server.program))
    }

    /// The setting that puts `program` in the server's place.
    pub fn program(&self, program: &str) -> Option<(&'static str, Value)> {
        Some(match self.path.as_ref()? {
            Path::Text(key) => (key, json!(program)),
            Path::First(key) => (key, json!([program])),
            Path::Member(key, name) => (key, json!({ *name: program })),
        })
    }
}

/// An extension that has a setting for nothing.
const NONE: Extension = Extension {
    server: "",
    env: None,
    args: None,
    path: None,
    section: None,
    instead: None,
};

/// Extensions by their servers' profiles, as their manifests have it.
static EXTENSIONS: [Extension; 11] = [
    Extension {
        server: "rust-analyzer",
        env: Some("rust-analyzer.server.extraEnv"),
        path: Some(Path::Text("rust-analyzer.server.path")),
        section: Some("rust-analyzer"),
        ..NONE
    },
    Extension {
        server: "gopls",
        env: Some("go.toolsEnvVars"),
        args: Some("go.languageServerFlags"),
        path: Some(Path::Member("go.alternateTools", "gopls")),
        section: Some("gopls"),
        ..NONE
    },
    Extension {
        server: "clangd",
        args: Some("clangd.arguments"),
        path: Some(Path::Text("clangd.path")),
        ..NONE
    },
    Extension {
        server: "haskell-language-server",
        env: Some("haskell.serverEnvironment"),
        path: Some(Path::Text("haskell.serverExecutablePath")),
        ..NONE
    },
    Extension {
        server: "ty",
        path: Some(Path::First("ty.path")),
        section: Some("ty"),
        ..NONE
    },
    Extension {
        server: "ruff",
        path: Some(Path::First("ruff.path")),
        section: Some("ruff"),
        ..NONE
    },
    Extension {
        server: "zls",
        path: Some(Path::Text("zig.zls.path")),
        ..NONE
    },
    Extension {
        server: "lua-language-server",
        args: Some("Lua.misc.parameters"),
        path: Some(Path::Text("Lua.misc.executablePath")),
        ..NONE
    },
    Extension {
        server: "pyright",
        instead: Some(OWN_NODE),
        ..NONE
    },
    Extension {
        server: "basedpyright",
        instead: Some(OWN_NODE),
        ..NONE
    },
    Extension {
        server: "typescript-language-server",
        instead: Some(
            "VS Code does not use typescript-language-server but starts tsserver itself: of such settings it has \
             `typescript.tsserver.maxTsServerMemory`, in MB",
        ),
        ..NONE
    },
];

/// Why nothing can be set for a server that is a script.
const OWN_NODE: &str = "its extension runs the server that it brings along in VS Code's own Node.js, and passes neither \
                        environment nor arguments on: use another editor, or start VS Code from a shell that has the variables";
