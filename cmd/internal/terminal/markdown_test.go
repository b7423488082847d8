package terminal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
)

// N5: a document has its structure on a terminal, and no part of it is hidden.
func TestN5MarkdownIsDrawn(t *testing.T) {
	source := "# Release **2.0**\n\nSee [the plan](https://example.com/p) & <b>this</b>.\n\n- one\n- two `a b`\n" +
		"  1. inner\n\n> said\n> so\n\n| name | eur |\n|---|--:|\n| Ada | 12 |\n\n" +
		"```go\nif x { // \u202ehidden\n```\n\n---\n\nend"
	want := `? 1  # Release 2.0

   See the plan (https://example.com/p) & <b>this</b>.

   • one
   • two ` + "`a b`" + `
     1. inner

   │ said
   │ so

   name │ eur
   ─────┼────
   Ada  │  12

     go
     if x { // \u{202E}hidden

   ────

   end`
	require.Equal(t, want, Markdown(source, Layout{First: "? 1  ", Indent: "   "}))
	styled := Markdown("a **b** ~~c~~", Layout{Styled: true})
	require.Equal(t, "a \x1b[1mb\x1b[0m \x1b[2m~c~\x1b[0m", styled)
	require.Equal(t, "?", Markdown(" \n", Layout{First: "? "}))
}

// N5: long lines are broken between words, code anywhere, and each line is indented.
func TestN5LinesOfADocumentAreIndented(t *testing.T) {
	source := strings.Repeat("word ", 40) + "\n\n```\n" + strings.Repeat("x", 200) + "\n```\n"
	for line := range strings.Lines(Markdown(source, Layout{First: "  ", Indent: "  "})) {
		line = strings.TrimSuffix(line, "\n")
		require.LessOrEqual(t, len(line), Width)
		require.True(t, line == "" || strings.HasPrefix(line, "  "), line)
	}
}

// N5: whatever the source, no control character reaches the terminal, and letters and digits are
// all drawn, in their order.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"a\x1b[2Jb", "[a](b \"c\") ![d](e)", "1. x\n\n   y\n2. z", "|a|\n|-|\n|b|c|", "> - > x",
		"[x]: /url 'title'\n\n&amp; \\* <!-- c -->", "~~~ sh e\ncode\n", "    four\n\ttab", "\u200bz\u202e"} {
		f.Add(s)
	}
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return r
			}
			return -1
		}, s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		drawn := Markdown(source, Layout{First: "  ", Indent: "  "})
		require.NotContains(t, drawn, "\x1b")
		special := func(r rune) bool { return r < ' ' && r != '\n' || r > '~' } // shown by name
		if !strings.ContainsFunc(source, special) && !strings.Contains(source, strings.Repeat(" ", 8)) {
			if got, want := plain(drawn), plain(source); strings.Contains(source, "|") {
				require.True(t, within(want, got), "%q lacks some of %q", got, want) // a table folds cells
			} else {
				require.Equal(t, want, got)
			}
		}
	})
}

// within reports whether a text has each letter of another at least as often.
func within(part, whole string) bool {
	for _, r := range part {
		if strings.Count(part, string(r)) > strings.Count(whole, string(r)) {
			return false
		}
	}
	return true
}

// N5: the columns of a table are aligned, also with wide and combining characters; long cells are
// folded, and a narrow screen shows a list.
func TestN5TablesAreAligned(t *testing.T) {
	source := "| Name | Amount | Note |\n|---|--:|:-:|\n| 山田 | 7 | **ok** |\n| Zoe\u0308 | 1200 | `x` |\n| a | b |\n"
	require.Equal(t, `  Name │ Amount │ Note
  ─────┼────────┼─────
  山田 │      7 │  ok
  Zoë │   1200 │ `+"`x`"+`
  a    │      b │`, strings.ReplaceAll(Markdown(source, Layout{First: "  ", Indent: "  "}), "Zoe\u0308 ", "Zoë"))
	long := "| File | Change |\n|---|---|\n| a.go | " + strings.Repeat("the words of a change ", 5) + "|\n| b.go | " +
		strings.Repeat("字", 40) + " |\n"
	wide := Markdown(long, Layout{})
	require.Equal(t, `File │ Change
─────┼`+strings.Repeat("─", 74)+`
a.go │ the words of a change the words of a change the words of a change the
     │ words of a change the words of a change
─────┼`+strings.Repeat("─", 74)+`
b.go │ `+strings.Repeat("字", 36)+`
     │ `+strings.Repeat("字", 4), wide)
	three := "| File | Change | By |\n|---|---|---|\n| a.go | the words of a change | " + strings.Repeat("字", 12) +
		" |\n| b.go | a |\n"
	require.Equal(t, `File: a.go
Change: the words of
a change
By:
字字字字字字字字字字
字字
────
File: b.go
Change: a
By:`, Markdown(three, Layout{Room: 20}))
	require.Equal(t, "File │ Change\n─────┼──────────────────────\na.go │ the words of a change\n"+
		"     │ the words of a change", strings.Join(strings.Split(Markdown(long, Layout{Room: 28}), "\n")[:4], "\n"))
	require.Len(t, strings.Split(Markdown("|"+strings.Repeat("a|", 9000)+"\n|"+strings.Repeat("-|", 9000)+"\n",
		Layout{}), "\n"), 9000, "more columns than the screen has")
	require.Equal(t, "a", Markdown("|a|\n|-|\n", Layout{}))
	many := strings.Repeat("|head", 12) + "|\n" + strings.Repeat("|-", 12) + "|\n"
	require.Contains(t, Markdown(many+strings.Repeat("|"+strings.Repeat("x", 30), 12)+"|\n", Layout{}), "head: xxx")
}

// N6: an edit is shown as its lines before and after.
func TestN6AnEditIsShownAsADiff(t *testing.T) {
	require.Equal(t, "  {\n-   \"eur\": 7,\n+   \"eur\": 5,\n    \"to\": \"Ada\"\n  }",
		Diff("{\n  \"eur\": 7,\n  \"to\": \"Ada\"\n}\n", "{\n  \"eur\": 5,\n  \"to\": \"Ada\"\n}\n", Layout{}))
	many := "u\nv\nw\nx\ny\nz\n"
	require.Equal(t, "  … 3 equal lines\n  x\n  y\n  z\n- a\n+ b", Diff(many+"a\n", many+"b\n", Layout{}))
}

// N6: a change is shown with its path, its lines, words in bold, and each hidden character by name.
func TestN6ChangesAreShownWithEveryCharacter(t *testing.T) {
	all := []interaction.Change{
		{Path: "a\u202e.sql", Kind: interaction.ChangeEdit, Before: "pay 10\n", After: "pay\u200b 1000\r\n\x1b[31mx"},
		{Path: "new", Kind: interaction.ChangeCreate},
	}
	shown := Changes(all, Layout{Indent: "  "})
	require.Contains(t, shown, `  edit a\u{202E}.sql (-1 +2 lines)`+"\n  - pay 10\n"+`  + pay\u{200B} 1000\u{000D}`+"\n")
	require.Contains(t, shown, "(no line break at the end)\n  create new (-0 +0 lines)")
	require.NotContains(t, shown, "\x1b")
	styled := Changes(all, Layout{Styled: true})
	require.Contains(t, styled, "\x1b[1;31m10\x1b[0m", "the changed word")
	many := "v\nw\nx\ny\nz\n"
	require.Equal(t, "  … 2 equal lines\n  x                            │   x\n  y                            │   y\n"+
		"  z                            │   z\n- "+strings.Repeat("a", 28)+" │ + b\n"+
		"↳ a                            │\n"+strings.Repeat(" ", 30)+" │ + c",
		Diff(many+strings.Repeat("a", 29)+"\n", many+"b\nc\n", Layout{Columns: 64}), "side by side")
	long := Changes([]interaction.Change{{Path: "x", Kind: interaction.ChangeCreate, After: strings.Repeat("+ y", 60)}},
		Layout{})
	for _, line := range strings.Split(long, "\n")[1:] {
		require.Regexp(t, `^(\+|↳) `, line, "no part of a text looks like another line")
	}
}
