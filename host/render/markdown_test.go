package render_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/render"
)

// outline writes nodes as (kind/text child child).
func outline(nodes []render.Element) string {
	var parts []string
	for _, n := range nodes {
		s := string(n.Kind)
		if n.Class != "" {
			s += "." + n.Class
		}
		if n.Number != 0 {
			s += string(rune('0' + n.Number))
		}
		if n.Address != "" {
			s += "@" + n.Address
		}
		switch {
		case n.Kind == render.Text:
			s = "'" + n.Text + "'"
		case n.Text != "":
			s += "'" + n.Text + "'"
		}
		if len(n.Children) > 0 {
			s += "(" + outline(n.Children) + ")"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

// N5, decision 19: the elements of each construct of Markdown.
func TestN5Markdown(t *testing.T) {
	for source, want := range map[string]string{
		"":      "",
		"plain": "p('plain')",
		"# Deploy `api`\n\nto *prod*, **now**, ~~later~~": "h1('Deploy ' code'api') p('to ' em('prod') ', ' strong('now') ', ' del('later'))",
		"Title\n===\ntext":                   "h1('Title') p('text')",
		"- a\n- b\n  - c":                    "ul(li(p('a')) li(p('b') ul(li(p('c')))))",
		"3. a\n9. b":                         "ol(li'3.'(p('a')) li'9.'(p('b')))",
		"> a\n> b":                           "quote(p('a\nb'))",
		"a  \nb":                             "p('a' br 'b')",
		"***":                                "hr",
		"```go\nfunc f() {}\n```\nafter":     "pre'go'(token.keyword'func' ' ' token.name'f' '() {}') p('after')",
		"before\n\n    x := 1\n\nafter":      "p('before') pre('x := 1') p('after')",
		"| a | b |\n|---|--:|\n| 1 | 2 |":    "table(row(cell('a') cell.right('b')) row(cell('1') cell.right('2')))",
		"[a](https://x.y/z)":                 "p(link@https://x.y/z('a (https://x.y/z)'))",
		"<https://x.y> https://z.w":          "p(link@https://x.y('https://x.y') ' ' link@https://z.w('https://z.w'))",
		`a \* b &lt; c`:                      "p('a * b &lt; c')",
		"![alt](https://x.y/i.png \"t\")":    `p('![alt](https://x.y/i.png t)')`,
		"<b onclick=x>hi</b>\n\n<!-- no -->": "p('<b onclick=x>hi</b>') p('<!-- no -->')",
		"[a]: https://x.y 'hidden'":          "p('[a]: ' link@https://x.y('https://x.y') ' 'hidden'')",
		"[a](javascript:alert(1))":           "p(em('a (javascript:alert(1))'))",
	} {
		require.Equal(t, want, outline(render.Markdown(source)), "%q", source)
	}
}

// N5: constructs in which a reader of Markdown drops characters are shown as written.
func TestN5WhatWouldBeDroppedIsShownAsWritten(t *testing.T) {
	for _, source := range []string{
		"| a |\n|---|\n| 1 | pay ada |",
		"```go {pay ada}\nx\n```",
		"[a](https://x.y 'pay ada')",
		"[a](https://x.y (pay ada))",
		"a[^1]\n\n[^1]: pay ada",
		"<details><summary>a</summary>pay ada</details>",
		strings.Repeat("> ", 40) + "pay ada",
		strings.Repeat(">", render.MaxSource) + "pay ada",
		strings.Repeat("x", render.MaxSource) + "pay ada",
		"\xff pay ada",
	} {
		require.Contains(t, drawn(render.Markdown(source)), "pay ada", "%q", source)
	}
	require.Equal(t, "source'| a |\n|---|\n| 1 | b |'", outline(render.Markdown("| a |\n|---|\n| 1 | b |")))
}

func drawn(nodes []render.Element) string {
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString(n.Text)
		b.WriteString(drawn(n.Children))
	}
	return b.String()
}

// N5: sources that would keep a parser busy for seconds or minutes are drawn in full, and soon.
func TestN5HostileSourcesAreDrawn(t *testing.T) {
	var ticks strings.Builder
	for i := 1; ticks.Len()+i < render.MaxSource; i++ {
		ticks.WriteString(strings.Repeat("`", i) + "a ")
	}
	sources := []string{ticks.String()}
	for _, unit := range []string{"[", "*a_", "`", "<", "![", "a**b", "~", "[a](", "> ", "- ", "1. ", "|", "\\", "    a\n",
		"&", "[](", "**", "_a", "<a", "https://", "a@", "a\n\n", "|-\n", "- a\n", "```\n", "```x\n", "*a **b ", "[a]: b\n"} {
		sources = append(sources, strings.Repeat(unit, render.MaxSource/len(unit)))
	}
	for _, source := range sources {
		require.Equal(t, letters(source), letters(drawn(render.Markdown(source))), "%.9q", source)
	}
}

func TestHighlightKeepsTheSource(t *testing.T) {
	for _, language := range []string{"", "go", "python", "sql", "json", "yaml", "diff", "ts", "html", "sh", "none"} {
		for _, source := range []string{"", "x", "func a() { return \"b\" } // c\r\n", "select 'a' -- b\n\n",
			"\t{\"a\": [1, null]}"} {
			require.Equal(t, source, drawn(render.Highlight(language, source)), "%s %q", language, source)
		}
	}
}

// FuzzMarkdown: every character that is neither blank nor a mark is drawn, in its order (N5).
func FuzzMarkdown(f *testing.F) {
	for _, source := range []string{"# a\n\n- b\n 1. c", "| a |\n|-|\n| b | c |", "```x\ny", "[a](b \"c\")", "> a\nb\n***\nc", "a\n  b\\\nc", "\t- a\n\t\tb"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		want := letters(source)
		got := letters(drawn(render.Markdown(source)))
		require.Equal(t, want, got, "%q", source)
	})
}

// letters are the letters and digits, which are never marks.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return r
	}, s)
}
