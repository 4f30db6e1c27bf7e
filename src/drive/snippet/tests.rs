//! Tests of the typed text and its places.

use proptest::prelude::*;

use crate::drive::language::LANGUAGES;

use super::*;

/// The text after typing the first snippet, with `|` where completions are requested.
fn typed(language: &str, text: &str) -> String {
    let triggers = [".", ">", ":"].map(str::to_owned);
    let snippet = compose(text, language, &triggers, 1, 0, 7)
        .into_iter()
        .next()
        .expect("a snippet");
    let keys: String = snippet
        .keys
        .iter()
        .map(|key| {
            if key.ask.is_some() {
                format!("{}|", key.text)
            } else {
                key.text.clone()
            }
        })
        .collect();
    let name = unique(7, 0);
    [&text[..snippet.offset], &keys, &text[snippet.offset..]]
        .concat()
        .replace(&name, "NEW")
}

#[test]
fn a_statement_is_typed_above_one_that_uses_a_member_and_indented_like_it() {
    for (language, before, line, after) in [
        (
            "python",
            "import os\nclass A:\n    def f(self):",
            "        NEW = os.|path",
            "        return os.path\n",
        ),
        ("rust", "fn f(a: A) {", "    let NEW = a.|b;", "    if a.b() { c }\n}"),
        (
            "go",
            "package p\nfunc f(a *A) error {",
            "\tNEW := a.|B",
            "\ta.B()\n\treturn nil\n}",
        ),
        ("c", "int f(struct A *a)\n{", "  int NEW = a->|b;", "  return a->b;\n}"),
        ("cpp", "int A::f() {", "  auto NEW = this->|b;", "  return this->b;\n}"),
        ("typescript", "const a = b()", "const NEW = a.|c;", "a.c(d => d.e)\n"),
        ("lua", "local a = {}", "local NEW = a.|b", "a.b = 1\n"),
        ("zig", "fn f(a: A) u8 {", "    const NEW = a.|b;", "    return a.b;\n}"),
        ("java", "class A { void f(A a) {", "    NEW = a.|b", "    a.b();\n}}"),
    ] {
        let text = format!("{before}\n{after}");
        assert_eq!(
            typed(language, &text),
            format!("{before}\n{line}\n{after}"),
            "{language}"
        );
    }
}

#[test]
fn line_ends_are_typed_as_the_text_has_them() {
    assert_eq!(
        typed("lua", "a = {}\r\n  a.b()\r\n"),
        "a = {}\r\n  local NEW = a.|b\r\n  a.b()\r\n"
    );
}

#[test]
fn places_where_a_statement_would_break_the_text_are_left_alone() {
    for (language, text) in [
        (
            "rust",
            "fn f(a: A) {\n    let b = B {\n        c: a.d,\n    };\n    match b {\n        a.e => 1,\n    }\n}",
        ),
        (
            "python",
            "a = 1\nb = [\n    a.c,\n]\nif b:\n    pass\nelif a.d:\n    pass\n",
        ),
        ("python", "a = 1\n@d\n# e\nclass B(a.c):\n    pass\nfrom a.b import c\n"),
        (
            "typescript",
            "let a = {}\nconst b = {\n  c: a.d,\n}\nfoo()\n  .bar(a.e)\nclass C {\n  d = a.f\n}",
        ),
        ("c", "struct S a;\nint b[] = {\n  a.c };\nint d = a.e;\n"),
        ("c", "void f(struct S a) {\n#ifdef B\n  a.c();\n#endif\n}"),
    ] {
        let language = Language::from_id(language);
        let found: Vec<Spot> = spots(text, language)
            .into_iter()
            .filter(|spot| spot.line.is_some())
            .collect();
        assert!(found.iter().all(|spot| spot.operator.is_empty()), "{text}: {found:?}");
    }
}

#[test]
fn what_a_line_binds_itself_is_not_reached_into_above_it() {
    for (language, text) in [
        ("python", "b = 1\na = b\nc = [a.d for a in b]\n"),
        ("typescript", "let b = 1\na = b\nb(a => a.c)\n"),
    ] {
        let found = spots(text, Language::from_id(language));
        assert!(found.iter().all(|spot| spot.operator.is_empty()), "{text}: {found:?}");
    }
}

#[test]
fn without_members_the_first_letters_of_a_name_are_typed() {
    assert_eq!(
        typed("python", "import os\nprint(os)\n"),
        "import os\nNEW = pr|int\nprint(os)\n"
    );
    assert_eq!(typed("rust", "use a::b;"), "use a::|a::b;");
    assert_eq!(compose("# nothing\n", "python", &[], 3, 0, 0), []);
}

#[test]
fn a_word_that_begins_a_line_is_begun_above_it_where_there_are_no_members() {
    for (language, text, expected) in [
        ("yaml", "a: 1\n  name: b\n", "  na|_soak_0"),
        ("json", "{\n  \"name\": 1\n}", "  \"na|_soak_0"),
        ("html", "<p>\n<div>\n", "<di|_soak_0"),
        ("toml", "[a]\nname = 1\n", "na|_soak_0"),
    ] {
        let snippet = &compose(text, language, &[], 1, 0, 0)[0];
        let text: String = snippet
            .keys
            .iter()
            .map(|key| key.text.clone() + if key.ask.is_some() { "|" } else { "" })
            .collect();
        assert!(
            text.trim_start_matches('\n').starts_with(expected),
            "{language}: {text}"
        );
    }
}

#[test]
fn a_server_without_trigger_characters_is_asked_by_hand() {
    let snippet = &compose("a = b\na.c\n", "lua", &[], 1, 0, 0)[0];
    assert_eq!(snippet.asks(), 1);
    assert!(snippet.keys.iter().any(|key| key.ask == Some(Ask::Invoked)));
}

#[test]
fn no_two_snippets_are_equal_though_places_repeat() {
    let text = "a = b\na.c()\n";
    let mut texts: Vec<String> = Vec::new();
    for serial in [0, 10] {
        texts.extend(compose(text, "python", &[], 10, 3, serial).iter().map(Snippet::text));
    }
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), 20);
    assert_eq!(
        compose(text, "python", &[], 10, 3, 0),
        compose(text, "python", &[], 10, 3, 0)
    );
}

proptest! {
    #[test]
    fn any_text_takes_snippets_on_character_boundaries(
        lines in prop::collection::vec(prop::sample::select(vec![
            "fn f(a: A) {", "  a.é();", "}", "\té.b", "名->c", "if (a.b) {", "'''", "/*", "*/", "\"", "😀", "", "#if X",
            "a::b;", "=> {", "case a.b:", "return a.b", "@d", "\\",
        ]), 0..25),
        crlf in any::<bool>(),
    ) {
        let text = lines.join(if crlf { "\r\n" } else { "\n" });
        for language in LANGUAGES {
            for snippet in compose(&text, language.ids[0], &[".".to_owned()], 3, 1, 2) {
                prop_assert!(text.is_char_boundary(snippet.offset));
                prop_assert_eq!(snippet.asks(), 1);
            }
        }
    }
}
