//! Names of the settings in extensions of Visual Studio Code.

use serde_json::{Value, json};

use analysis::tune::Server;

/// An extension's settings; `None` if it lacks one.
pub(crate) struct Extension {
    server: &'static str,
    pub env: Option<&'static str>,
    pub args: Option<&'static str>,
    /// The setting that names another program in the server's place.
    path: Option<Path>,
    /// Prefix of the settings that it makes initialization options of.
    pub section: Option<&'static str>,
    /// The reason that none of these can be set, and what to do instead.
    pub instead: Option<&'static str>,
}

/// The form of a setting that names a program.
enum Path {
    Text(&'static str),
    /// A list with the program as its only item.
    List(&'static str),
    /// The setting, an object, and its member.
    Member(&'static str, &'static str),
}

impl Extension {
    /// Finds a server's extension by its profile, which may be the user's own, or by its program.
    pub fn for_server(server: &Server) -> Option<&'static Extension> {
        Extension::by_name(&server.name).or_else(|| Extension::by_name(&server.program))
    }

    fn by_name(name: &str) -> Option<&'static Extension> {
        EXTENSIONS.iter().find(|extension| extension.server == name)
    }

    /// The setting that puts `program` in the server's place.
    pub fn program(&self, program: &str) -> Option<(&'static str, Value)> {
        Some(match self.path.as_ref()? {
            Path::Text(key) => (key, json!(program)),
            Path::List(key) => (key, json!([program])),
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
        path: Some(Path::List("ty.path")),
        section: Some("ty"),
        ..NONE
    },
    Extension {
        server: "ruff",
        path: Some(Path::List("ruff.path")),
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

/// The reason that nothing can be set for a server that is a script.
const OWN_NODE: &str = "its extension runs the server that it brings along in VS Code's own Node.js, and passes neither \
                        environment nor arguments on: use another editor, or start VS Code from a shell that has the variables";
