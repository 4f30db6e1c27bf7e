//! The client capabilities, by profile name: servers use memory for announced capabilities.

use serde_json::{Value, json};

use super::retry::RETRIED;

/// The `capabilities` member of `initialize` for a profile; `None` for an unknown name.
///
/// - `default`: a full modern editor. It offers all position encodings, UTF-8 first because that avoids conversions.
///   The server's choice is recorded.
/// - `vscode`: the same with only UTF-16, as Visual Studio Code offers.
/// - `no-pull`: the default without pulled diagnostics, so that servers push them.
/// - `neovim`: the default without what Neovim 0.11 on Linux lacks: watched files, tokens of a range, inline values and
///   extensions of the protocol.
/// - `minimal`: an editor with plain text, no settings, no progress and no dynamic registration.
pub fn client_capabilities(profile: &str) -> Option<Value> {
    let text = match profile {
        "default" | "vscode" | "neovim" | "no-pull" => include_str!("capabilities/default.json"),
        "minimal" => include_str!("capabilities/minimal.json"),
        _unknown => return None,
    };
    let mut capabilities: Value =
        serde_json::from_str(text).expect("the built-in profiles are JSON, and a test reads each of them");
    if profile == "vscode" {
        capabilities["general"]["positionEncodings"] = json!(["utf-16"]);
    }
    if profile == "neovim" {
        capabilities["workspace"]["didChangeWatchedFiles"]["dynamicRegistration"] = json!(false);
        capabilities["textDocument"]["semanticTokens"]["requests"]["range"] = json!(false);
        remove(&mut capabilities["textDocument"], "inlineValue");
        remove(&mut capabilities["workspace"], "inlineValue");
        remove(&mut capabilities, "experimental");
    }
    if profile == "no-pull" {
        for (section, name) in [
            ("textDocument", "diagnostic"),
            ("workspace", "diagnostic"),
            ("workspace", "diagnostics"),
        ] {
            remove(&mut capabilities[section], name);
        }
    }
    if profile != "minimal" {
        capabilities["general"]["staleRequestSupport"] = json!({"cancel": true, "retryOnContentModified": RETRIED});
    }
    Some(capabilities)
}

fn remove(capabilities: &mut Value, name: &str) {
    if let Some(members) = capabilities.as_object_mut() {
        members.remove(name);
    }
}

/// True if the editor of this profile sends a `textDocument` request by itself, as far as it announces it. Neovim asks for
/// actions only when its user does.
pub fn asks_by_itself(profile: &str, method: &str) -> bool {
    let Some(capabilities) = client_capabilities(profile) else {
        return false;
    };
    let document = &capabilities["textDocument"];
    match method {
        "textDocument/codeAction" if profile == "neovim" => false,
        "textDocument/semanticTokens/full" => document["semanticTokens"]["requests"]["full"].is_object(),
        "textDocument/semanticTokens/range" => document["semanticTokens"]["requests"]["range"] == true,
        _ => method
            .strip_prefix("textDocument/")
            .is_some_and(|name| document[name].is_object()),
    }
}

/// True if the editor of this profile pulls diagnostics: it announces that it can.
pub fn pulls_diagnostics(profile: &str) -> bool {
    client_capabilities(profile).is_some_and(|capabilities| capabilities["textDocument"]["diagnostic"].is_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILES: [&str; 5] = ["default", "vscode", "neovim", "no-pull", "minimal"];

    #[test]
    fn an_editor_pulls_diagnostics_exactly_if_it_announces_them() {
        let pulls: Vec<&&str> = PROFILES.iter().filter(|name| pulls_diagnostics(name)).collect();
        assert_eq!(pulls, [&"default", &"vscode", &"neovim"]);
        for name in ["no-pull", "minimal"] {
            let text = profile(name).to_string();
            assert!(
                !text.contains("\"diagnostic\"") && !text.contains("\"diagnostics\""),
                "{name}"
            );
        }
    }

    fn profile(name: &str) -> Value {
        client_capabilities(name).unwrap()
    }

    #[test]
    fn every_profile_is_json_of_a_shape_that_others_read_too() {
        for name in PROFILES {
            serde_json::from_value::<lsp_types::ClientCapabilities>(profile(name)).unwrap();
        }
        assert_eq!(client_capabilities("emacs"), None);
    }

    #[test]
    fn the_methods_announced_for_retry_are_those_that_are_retried() {
        let stale = &profile("default")["general"]["staleRequestSupport"];
        assert_eq!(stale["cancel"], json!(true));
        assert_eq!(stale["retryOnContentModified"], json!(RETRIED));
    }

    #[test]
    fn the_full_profile_announces_what_servers_wait_for() {
        let full = profile("default");
        for pointer in [
            "/workspace/configuration",
            "/workspace/workspaceFolders",
            "/workspace/didChangeWatchedFiles/dynamicRegistration",
            "/workspace/diagnostics/refreshSupport",
            "/workspace/semanticTokens/refreshSupport",
            "/workspace/inlayHint/refreshSupport",
            "/workspace/codeLens/refreshSupport",
            "/workspace/foldingRange/refreshSupport",
            "/workspace/inlineValue/refreshSupport",
            "/window/workDoneProgress",
            "/experimental/serverStatusNotification",
            "/textDocument/documentSymbol/hierarchicalDocumentSymbolSupport",
            "/textDocument/completion/completionItem/snippetSupport",
        ] {
            assert_eq!(full.pointer(pointer), Some(&json!(true)), "{pointer}");
        }
        assert_eq!(
            full["general"]["positionEncodings"],
            json!(["utf-8", "utf-16", "utf-32"])
        );
        assert!(full["textDocument"]["diagnostic"].is_object());
    }

    #[test]
    fn the_profile_of_visual_studio_code_offers_utf16_alone() {
        assert_eq!(profile("vscode")["general"]["positionEncodings"], json!(["utf-16"]));
    }

    #[test]
    fn an_editor_asks_by_itself_for_what_it_announces() {
        for (profile, method, asks) in [
            ("vscode", "textDocument/codeAction", true),
            ("neovim", "textDocument/codeAction", false),
            ("vscode", "textDocument/semanticTokens/range", true),
            ("neovim", "textDocument/semanticTokens/range", false),
            ("neovim", "textDocument/semanticTokens/full", true),
            ("minimal", "textDocument/inlayHint", false),
        ] {
            assert_eq!(asks_by_itself(profile, method), asks, "{profile} {method}");
        }
    }

    #[test]
    fn the_minimal_profile_asks_for_nothing_dynamic() {
        let text = profile("minimal").to_string();
        assert!(!text.contains("dynamicRegistration") && !text.contains("refreshSupport"));
    }
}
