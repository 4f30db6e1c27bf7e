//! Tests of the language tables and of the names found in texts.

use proptest::prelude::*;

use super::*;

/// The names found in `text`, in order.
fn names<'t>(language: &str, text: &'t str) -> Vec<&'t str> {
    let found = sites(text, Language::from_id(language));
    found.identifiers.into_iter().map(|name| &text[name.range]).collect()
}

/// Asserts that exactly the words of `expected` are names in `text`.
#[track_caller]
fn check(language: &str, text: &str, expected: &str) {
    assert_eq!(names(language, text).join(" "), expected, "{language}: {text}");
}

#[test]
fn every_table_is_sorted_so_that_it_can_be_searched() {
    for language in LANGUAGES {
        for table in [language.keywords, language.receivers] {
            let mut sorted = table.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(table, sorted, "{:?}", language.ids);
        }
        let longest = language
            .member_operators
            .windows(2)
            .all(|pair| pair[0].len() >= pair[1].len());
        assert!(longest, "{:?}", language.ids);
    }
}

#[test]
fn a_language_is_found_by_any_of_its_ids_and_others_are_read_like_c() {
    assert_eq!(Language::from_id("javascriptreact").ids[0], "typescriptreact");
    assert_eq!(Language::from_id("brainfuck").ids, ["unknown"]);
    check("plaintext", "name = x", "");
    check(
        "kotlin",
        "fun main() { val x = \"s\" // c\n it's /* a */ y }",
        "main x it s y",
    );
}

#[test]
fn keywords_in_capitals_define_names_where_case_does_not_count() {
    let text = "SUBROUTINE move(p)\nCALL move(p)";
    let found = sites(text, Language::from_id("fortran")).identifiers;
    let defined: Vec<bool> = found.iter().map(|name| name.definition).collect();
    assert_eq!(defined, [true, false, false, false]);
}

#[test]
fn completions_of_a_dockerfile_are_asked_for_in_its_instructions() {
    let text = "FROM node:22 AS a\n  RUN apt \\\n  install x\ncopy . /src\n# RUN y\n";
    let found = sites(text, Language::from_id("dockerfile")).members;
    let words: Vec<&str> = found
        .into_iter()
        .map(|member| &text[member.offset..member.end])
        .collect();
    assert_eq!(words, ["FR", "RU", "co"]);
}

#[test]
fn dialects_get_their_own_language_id() {
    for (path, language, expected) in [
        ("a/b.tsx", "typescript", "typescriptreact"),
        ("a/b.ts", "typescript", "typescript"),
        ("b.mjs", "typescript", "javascript"),
        ("b.c", "cpp", "c"),
        ("b.h", "cpp", "cpp"),
        ("b.h", "c", "c"),
        ("b.py", "python", "python"),
        ("b.ts", "xml", "xml"),
    ] {
        assert_eq!(id_of(Path::new(path), language), expected);
    }
}

#[test]
fn python_strings_of_every_kind_hide_what_is_in_them() {
    check("python", "a = '''b\n\"c\" d''' + e # f", "a e");
    check("python", "x = rb'y\\' z' + F\"{u['v']} w\" + k", "x k");
    check("python", "f\"{a[\"b\"]}c\" + d; f'{{e' + g", "d g");
    check(
        "python",
        "def f(x): return 'open\ny = 1_000j if None else x.match",
        "f x y x match",
    );
    check("python", "größe = naïve_ß + 名前", "größe naïve_ß 名前");
}

#[test]
fn rust_lifetimes_characters_and_raw_strings_are_told_apart() {
    check("rust", "fn f<'a>(x: &'a str) -> char { 'b' }", "f x");
    check("rust", r##"let s = r#"a "b" c"# + d; '\''; e"##, "s d e");
    check(
        "rust",
        "let r#type = b'x' as u8; 'outer: loop { '\u{1F600}' }; name",
        "type name",
    );
    check("rust", "/* a /* b */ c */ d \"e\nf\" g // h", "d g");
    check("rust", "x.0.1.y; 1..n; 1.max(z); self.w.await", "x y n max z w");
}

#[test]
fn names_that_rust_servers_cannot_resolve_are_left_out() {
    check(
        "rust",
        "#[derive(Debug)] #![allow(x)] struct A { #[serde(y = [1])] b: C }",
        "A b C",
    );
    check(
        "rust",
        "#[cfg(unix)] #[a(b)] fn c(d: e) { f; } g; #[cfg(test)] h; #[cfg(all(test, i))] j; k",
        "g h k",
    );
    check("rust", "#[cfg(x)] use a::{b, c}; d; (#[cfg(y)] e, f)", "d f");
    check("rust", "macro_rules! m { ($a:expr) => { foo($a) }; } fn g() {}", "m g");
}

#[test]
fn go_raw_strings_and_runes_hide_what_is_in_them() {
    check("go", "package p\nvar a = `b \\` + c + 'd' + \"e\"; x.(type)", "p a c x");
}

#[test]
fn preprocessor_lines_and_dead_branches_are_no_code() {
    check("c", "#include <a.h>\nint b;\n# define C \\\n d\ne();", "b e");
    check(
        "c",
        "#if 0\nf();\n#if X\n#endif\n#else\ng();\n#endif\nh(L'i', \"j\\\"k\");",
        "g h",
    );
    check(
        "cpp",
        "auto s = R\"x(a )\" b)x\" + c; n = 1'000'000; u8\"d\"; e::f->g.h;",
        "s c n e f g h",
    );
    check(
        "c",
        "#ifndef A_H\n#define A_H\nb;\n#ifdef C\nd;\n#else\ne;\n#endif\nf;\n#endif\ng",
        "b f g",
    );
    check("c", "#define A /* b\nc */ d\ne", "e");
}

#[test]
fn templates_nest_and_regular_expressions_are_not_divisions() {
    check("typescript", "const a = `b ${c + `d ${e}` + {f}} g` + h", "a c e f h");
    check(
        "javascript",
        "x = /a[/]b'/g.test(y) / z / w; if (v) { } /u'/",
        "x test y z w v",
    );
    check(
        "typescript",
        "let m = promise.catch(from => this.delete)",
        "m promise catch delete",
    );
}

#[test]
fn text_between_tags_is_no_code_but_expressions_in_it_are() {
    check(
        "typescriptreact",
        "return <div class='a'>don't <B.C d={e} data-f=\"g\"/> {h ? <i/> : j} k</div>; l",
        "class B C d e h j l",
    );
    check(
        "typescriptreact",
        "const f = <T,>(x: T) => x < y; const g = <>n</>; z",
        "f T x T x y g z",
    );
    check("typescript", "const f = <T>(x: T) => <U>x; it", "f T x T U x it");
}

#[test]
fn long_brackets_and_line_strings_hide_what_is_in_them() {
    check(
        "lua",
        "a = [==[b]]c]==] --[[d\ne]] f() --g\nh:i(j) ::k::",
        "a f h i j k",
    );
    check(
        "zig",
        "const a = @import(\"b\"); const c =\n\\\\d e\n; f.@\"g h\"; i: u31",
        "a c f i",
    );
}

#[test]
fn names_tell_whether_they_are_defined_or_members() {
    let found = sites("def f(a): return a.b", Language::from_id("python")).identifiers;
    let facts: Vec<(bool, bool)> = found.iter().map(|name| (name.definition, name.member)).collect();
    assert_eq!(facts, [(true, false), (false, false), (false, false), (false, true)]);
}

#[test]
fn completions_are_asked_for_just_past_the_operator_of_a_member() {
    for (language, text, expected) in [
        ("python", "a.b + 'x'.y + 1.5 + (c).d + e . f", vec!["a.", "e ."]),
        ("cpp", "a->b; C::d; this->e; x ? y : z", vec!["a->", "C::", "this->"]),
        ("rust", "self.a; b?.c; 0..d; e::f", vec!["self.", "e::"]),
        ("typescript", "a?.b; c?.5:d; ...e; super.f", vec!["a?.", "super."]),
        ("lua", "a.b:c() ::l:: d..e", vec!["a.", "b:"]),
        ("go", "fmt.Println(x...)", vec!["fmt."]),
    ] {
        let found = sites(text, Language::from_id(language)).members;
        let at: Vec<&str> = found
            .iter()
            .map(|member| &text[member.receiver.start..member.offset])
            .collect();
        assert_eq!(at, expected, "{language}");
    }
}

#[test]
fn signatures_are_asked_for_in_calls_but_not_in_definitions() {
    let text = "def f(a):\n    if (b): g(c)(d)\n";
    let found = sites(text, Language::from_id("python")).calls;
    let at: Vec<(u32, &str)> = found
        .iter()
        .map(|call| (call.line, &text[call.name.start..call.offset]))
        .collect();
    assert_eq!(at, [(1, "g(")]);
}

#[test]
fn declarations_are_no_calls() {
    let text = "int f(int a); T *g(void); int m() { NOT(1); return h(i(), j * k(l)); n(); }";
    let found = sites(text, Language::from_id("c")).calls;
    let at: Vec<&str> = found.iter().map(|call| &text[call.name.clone()]).collect();
    assert_eq!(at, ["h", "i", "n"]);
    let found = sites("func (r T) f(a int) {\n g()\n h(i)\n}", Language::from_id("go")).calls;
    assert_eq!(found.iter().map(|call| call.line).collect::<Vec<u32>>(), [1, 2]);
}

#[test]
fn lines_end_with_lf_cr_lf_or_cr() {
    let found = sites("a\r\nb\rc\n\nd", Language::from_id("lua")).identifiers;
    assert_eq!(found.iter().map(|name| name.line).collect::<Vec<u32>>(), [0, 1, 2, 4]);
}

/// Asserts the names of `text` that resolve to a definition.
#[track_caller]
fn leads(language: &str, text: &str, expected: &str) {
    let found = sites(text, Language::from_id(language)).identifiers.into_iter();
    let found: Vec<&str> = found.filter(|name| name.leads).map(|name| &text[name.range]).collect();
    assert_eq!(found.join(" "), expected, "{language}: {text}");
}

fn defines(language: &str, text: &str, expected: &str) {
    let found = sites(text, Language::from_id(language)).identifiers.into_iter();
    let found: Vec<&str> = found
        .filter(|name| name.definition)
        .map(|name| &text[name.range])
        .collect();
    assert_eq!(found.join(" "), expected, "{language}: {text}");
}

#[test]
fn keys_and_values_are_the_places_of_data() {
    let json = "{ // c\n \"a\": [1.5, true, \"b \\\" c\"], \"$ref\": \"#/d\" /* e */ }";
    check("json", json, "a 1.5 true b \\\" c $ref #/d");
    leads("jsonc", json, "#/d");
    let yaml =
        "--- # c\na: &x b c # d\ne:\n  - f: {g: 1, h: \"i\"}\n    <<: *x\n  - |\n    no: text\n\n    here\n  - j\n";
    check("yaml", yaml, "a x b c e f g 1 h i << x j");
    leads("yaml", yaml, "x");
    let crlf = "on:\r\n  push:\r\n  - a: \"b\"\r\n";
    check("yaml", crlf, "on push a b");
    defines("yaml", crlf, "on push a");
    check("yaml", "\"$ref\": \"#/a\"\nextends: b", "$ref #/a extends b");
    leads("yaml", "\"$ref\": \"#/a\"\nextends: b", "#/a b");
    check(
        "toml",
        "# c\n[a.b]\nc.d = \"e\"\nf = [1, 2024-01-01,\n'g'] # h\ni = { j = true, k = 1.5 }\n[[l]]\nm = \"\"\"\nn = 1\n\"\"\"\n",
        "a b c d e f 1 2024-01-01 g i j true k 1.5 l m",
    );
    check("markdown", "# a b\n[c](d.md#e), `f`", "a b c d.md#e f");
    leads("markdown", "# a b\n[c](d.md#e), `f`", "d.md#e");
    let robot =
        "*** Test Cases ***\nFirst One\n    [Tags]    a\n    ${x} =    My Keyword    b c\n    # no\n    Log    ${x}\n";
    check(
        "robotframework",
        robot,
        "First One [Tags] a ${x} = My Keyword b c Log ${x}",
    );
    leads("robotframework", robot, "${x} = My Keyword Log");
    for language in ["json", "yaml", "toml"] {
        let text = "\"a\": 1";
        let members = sites(text, Language::from_id(language)).members;
        assert_eq!(members.first().map(|member| &text[member.receiver.clone()]), Some("a"));
        assert_eq!(members.first().map(|member| member.end), Some(2));
    }
}

#[test]
fn tags_attributes_classes_and_embedded_code_are_the_places_of_markup() {
    let html =
        "<!-- <a> --><div class=\"b c\" id=d>e</div>\n<script>let f = g.h</script><style>i { j: var(--k) }</style>";
    check("html", html, "div class b c id script f g h style i j var --k");
    leads("html", html, "f g h --k");
    let vue = "<template><My-Part :a=\"b + c\" @d=\"e()\" f=\"g\" v-if=\"h\">{{ i.j }} k</My-Part></template>";
    check("vue", vue, "template My-Part :a b c @d e f v-if h i j");
    leads("vue", vue, "My-Part b c e h i j");
    defines("vue", vue, "");
    let svelte = "<Card {a} on:click={() => b({c: 1})}>{#if d}<p>{e.f}</p>{/if}</Card>";
    leads("svelte", svelte, "Card a b c d e f");
    check("xml", "<?xml?><a:b c=\"d\"/><script>e</script>", "a:b c script");
    let lines = sites("<a>\n<script>\nlet b\n</script>\n<c>", Language::from_id("html")).identifiers;
    assert_eq!(lines.iter().map(|name| name.line).collect::<Vec<u32>>(), [0, 1, 2, 4]);
}

#[test]
fn properties_and_variables_are_the_places_of_styles() {
    let css = "/* a */ .b > #c { color: #fff; margin-top: 1.5em var(--d); --d: url(\"e\") } // f\n$g: $h;";
    check("scss", css, "b color margin-top var --d --d url $g $h");
    leads("scss", css, "--d $h");
}

#[test]
fn words_are_places_where_there_are_no_members_and_a_hash_inside_one_is_no_comment() {
    check("shellscript", "a=${b#c} # d\necho \"$e\" $f", "a b c echo f");
    leads("shellscript", "a=${b#c} # d\necho \"$e\" $f", "b f");
    check("dockerfile", "FROM a:1 AS b\n# c\nRUN d", "FROM a AS b RUN d");
    check("graphql", "type A { \"\"\"b\nc\"\"\" d: E! # f\n}", "A d E");
    check("sql", "SELECT a.b FROM c -- d", "a b c");
    check("fortran", "call a(b%c) ! d", "a b c");
    check("fortran", "CALL a(b%c)\nEnd If\nSUBROUTINE d(E)", "a b c d E");
    check("sql", "SELECT a from B Where c", "a B c");
    check("cmake", "IF(a) Return() if(b)", "a b");
    let members = sites("echo x", Language::from_id("shellscript")).members;
    assert_eq!(members.len(), 2);
}

/// Text made of special characters, so that odd combinations occur often.
fn broken() -> impl Strategy<Value = String> {
    #[rustfmt::skip]
    let pieces = prop::sample::select(vec![
        "\"", "'", "`", "\\", "\n", "\r\n", "\r", "/", "*", "#", "//", "/*", "*/", "--", "[[", "]]", "[=[",
        "R\"x(", "r#\"", "\"#", "${", "{", "}", "<", ">", "</", "/>", "<a", "(", ")", "[", "]", ".", "..", "::",
        "->", "?.", "@", "$", "_", "é", "名", "😀", "\u{feff}", "\u{2028}", "a", "f", "0x1", "1e", "1.", "#if 0",
        "#endif", "#define", "'a", "b'", "f\"", "return", "macro_rules!", "#[", "\"\"\"", "'''", " ", "\t",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

fn lines_before(text: &str, at: usize) -> usize {
    let before = &text[..at];
    let ends = |byte| before.matches(byte).count();
    let whole = ends('\n') + ends('\r') - before.matches("\r\n").count();
    // Between CR and LF no line has ended yet.
    whole - usize::from(before.ends_with('\r') && text[at..].starts_with('\n'))
}

fn check_any(text: &str) -> Result<(), TestCaseError> {
    for language in LANGUAGES {
        let mut end = 0;
        for token in tokens(text, language) {
            prop_assert!(
                token.start >= end && token.end > token.start,
                "{:?} {token:?}",
                language.ids
            );
            prop_assert!(
                text.is_char_boundary(token.start) && text.is_char_boundary(token.end),
                "{:?}",
                language.ids
            );
            end = token.end;
        }
        let found = sites(text, language);
        for name in found.identifiers {
            let word = text.get(name.range.clone());
            let program = language.family != Family::Text;
            let starts = |word: &str| word.starts_with(|c: char| c == '_' || c == '$' || c.is_alphabetic());
            prop_assert!(
                word.is_some_and(|word| !program || starts(word)),
                "{:?} {word:?}",
                language.ids
            );
            prop_assert_eq!(
                name.line as usize,
                lines_before(text, name.range.start),
                "{:?}",
                language.ids
            );
        }
        for offset in found
            .members
            .iter()
            .map(|m| m.offset)
            .chain(found.calls.iter().map(|c| c.offset))
        {
            prop_assert!(text.is_char_boundary(offset));
        }
    }
    Ok(())
}

#[test]
fn a_raw_identifier_begins_with_a_letter() {
    check_any("r#\u{113ce}").unwrap();
}

proptest! {
    #[test]
    fn random_text_is_cut_into_tokens_on_character_boundaries(text in any::<String>()) {
        check_any(&text)?;
    }

    #[test]
    fn broken_code_is_cut_into_tokens_on_character_boundaries(text in broken()) {
        check_any(&text)?;
    }
}
