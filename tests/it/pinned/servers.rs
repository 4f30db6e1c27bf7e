//! Servers that are installed by their version.

use super::Place;
use super::records::first_header;

impl Place {
    /// A uv that installs one program, `shop`.
    fn installs_shop(&self) {
        self.client(
            "uv",
            "if [ $1 = venv ]; then mkdir -p $3/bin; exit; fi\n\
             at=$5/lib/python3.11/site-packages/shop-1.dist-info; mkdir -p $at\n\
             echo 'shop.py,sha256=aa,1' > $at/RECORD; cp /bin/true $5/bin/shop",
        );
    }

    /// A profile whose package is `shop`.
    fn server_mine(&self, program: &str) {
        let text = format!("[server.mine]\npackage = {{ pypi = \"shop\" }}\nprograms = [\"{program}\"]\n");
        self.write("servers.toml", text.as_bytes());
    }
}

#[test]
fn an_install_without_its_program_is_not_kept() {
    let place = Place::new();
    place.installs_shop();
    place.repository();
    place.scenario("path = \"repository\"");
    place.server_mine("shopp");
    let none = place.soak(&["check", "a.toml", "--server", "mine@1"]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("has no program `shopp`"), "{}", none.stderr);
    assert!(place.soak(&["cache"]).stdout.contains("is empty"));
    place.server_mine("shop");
    place.soak(&["run", "a.toml", "--server", "mine@1", "--out", "out"]);
    let hash = &first_header(&place, "out")["server"]["package"]["sha256"];
    assert_eq!(hash.as_str().map(str::len), Some(64), "{hash}");
}

#[test]
fn a_gate_refuses_a_range_of_versions_before_it_starts_any() {
    let place = Place::new();
    place.installs_shop();
    place.client("python3", "echo 'Available versions: 3, 2, 1'");
    place.server_mine("shop");
    place.repository();
    place.scenario("path = \"repository\"");
    let words = [
        "gate", "a.toml", "--baseline", "mine@1", "--candidate", "mine@2..3", "--lens", "as-shipped",
    ];
    let said = place.soak(&[&words[..], &["--out", "out"]].concat());
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("name one version on each side"), "{}", said.stderr);
    assert!(!place.path().join("out").exists());
}
