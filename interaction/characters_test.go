package interaction_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
)

// N4: of all of Unicode, each character that cannot be seen, is an unusual space or changes the
// direction of others is written out, in a value and in prose.
func TestN4EveryHiddenCharacterIsWrittenOut(t *testing.T) {
	unseen := []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Zs,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Noncharacter_Code_Point,
		unicode.Bidi_Control, unicode.Join_Control, unicode.White_Space}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		hides := unicode.In(r, unseen...) || !unicode.IsGraphic(r) || strings.ContainsRune("\u2800\ufffc", r)
		if r == ' ' || r == '\t' || r == '\n' {
			hides = false
		}
		in, named := "a"+string(r)+"b", fmt.Sprintf(`a\u{%04X}b`, r)
		kind := interaction.CharacterOf(r)
		strict, prose := in, in
		if kind&interaction.Hidden != 0 {
			strict = named
			if kind&interaction.SingleSpace == 0 {
				prose = named
			}
		}
		if hides && strict != named || interaction.Visible(in) != strict ||
			interaction.VisibleProse(in) != prose {
			t.Errorf("%U: hides %v, shown as %q, in prose %q", r, hides, interaction.Visible(in),
				interaction.VisibleProse(in))
		}
	}
}

// N4: what people write in their languages stays as it is in prose; the same characters elsewhere do
// not.
func TestN4ProseKeepsTheWorldsScripts(t *testing.T) {
	for _, prose := range []string{"👩‍💻 ❤️ ❤️‍🔥 🏳️‍🌈 1️⃣ #️⃣ 👩🏽‍🚀 👨‍👩‍👧‍👦",
		"می\u200cخواهم", "क्\u200dष क्\u200cष", "ශ්\u200dරී", "র\u200d্য", "അവന്\u200d വന്നു",
		"بَ\u200cب ب\u200cَب", "Combien\u00a0? 12\u202f345", "日本\u3000語", "one\n\n  two\tthree", "שלום", "ä é"} {
		require.Equal(t, prose, interaction.VisibleProse(prose))
	}
	require.Equal(t, "one\ntwo", interaction.VisibleProse("one\r\ntwo"))
	for in, want := range map[string]string{
		"a\ufe0fb":             `a\u{FE0F}b`,
		"❤\ufe0f\ufe0f":        `❤️\u{FE0F}`,
		"1\ufe0f2":             `1\u{FE0F}2`,
		"a\u200db":             `a\u{200D}b`,
		"👩\u200d\u200d💻":       `👩\u{200D}\u{200D}💻`,
		"👩\u200d":              `👩\u{200D}`,
		"a\u200cb":             `a\u{200C}b`,
		"دا\u200cد":            `دا\u{200C}د`, // an alef joins nothing anyway
		"ا\u200cب":             `ا\u{200C}ب`,
		"ب\u200ca":             `ب\u{200C}a`,
		"क\u200cक":             `क\u{200C}क`,
		"क्\u200c":             `क्\u{200C}`,
		"র\u200dক":             `র\u{200D}ক`, // a joiner keeps this letter only before a virama
		"ক\u200d্":             `ক\u{200D}্`, // and before a virama only this letter
		"a\u00a0\u00a0b":       `a\u{00A0}\u{00A0}b`,
		"\u3000a":              `\u{3000}a`,
		"a \u202f":             `a \u{202F}`,
		"a \u202fb":            `a \u{202F}b`,
		"\U0001f3f4\U000e0067": `🏴\u{E0067}`,
	} {
		require.Equal(t, want, interaction.VisibleProse(in), "%+q", in)
	}
	require.Equal(t, `👩\u{200D}💻 می\u{200C}خواهم 12\u{00A0}345`,
		interaction.Visible("👩‍💻 می\u200cخواهم 12\u00a0345"))
}

// N4: only the marks of joining scripts, from U+0610 to U+08FF, are Vowel.
func TestN4VowelsAreOfJoiningScripts(t *testing.T) {
	for r, want := range map[rune]interaction.Character{'\u0301': 0, '\u060f': 0, '\u0610': interaction.Vowel,
		'\u064e': interaction.Vowel, '\u08ff': interaction.Vowel, '\u0900': 0} {
		require.Equal(t, want, interaction.CharacterOf(r), "%U", r)
	}
}

// N4: an option is shown with its value unless the label, which is prose, shows each character of it.
func TestN4AnOptionShowsItsValue(t *testing.T) {
	for o, want := range map[interaction.Option]string{
		{Label: "Yes", Value: "Yes"}:             "",
		{Label: "Yes", Value: "yes"}:             "yes",
		{Label: "a\u00a0b", Value: "a\u00a0b"}:   `a\u{00A0}b`,
		{Label: "👩‍💻", Value: "👩‍💻"}:             `👩\u{200D}💻`,
		{Label: "yes ", Value: "yes "}:           "yes ",
		{Label: "Keep", Value: "delete\u202e"}:   `delete\u{202E}`,
		{Label: "x\u200b", Value: "x\u200b"}:     "",
		{Label: "one\ntwo", Value: "one\ntwo"}:   "",
		{Label: "one\r\ntwo", Value: "one\ntwo"}: "",
	} {
		label, value := o.Shown()
		require.Equal(t, want, value, "%+q", o.Label)
		require.Equal(t, interaction.VisibleProse(o.Label), label)
	}
}

// N4: white space that a screen would fold, or that moves text off its edge, is counted.
func TestN4LongWhiteSpaceIsCounted(t *testing.T) {
	blanks := func(n int) string { return strings.Repeat(" ", n) }
	for in, want := range map[string]string{
		"x" + blanks(4000) + "; rm -rf /":             "x[4000 white-space characters]; rm -rf /",
		"x\n" + blanks(4000) + "y":                    "x[4001 white-space characters]y",
		"x" + strings.Repeat("\n", 40) + "y":          "x[40 white-space characters]y",
		"x" + strings.Repeat("\t", 40) + "y":          "x[40 white-space characters]y",
		"x" + strings.Repeat("\n"+blanks(3), 9) + "y": "x[36 white-space characters]y",
		"x" + strings.Repeat("\u00a0", 40) + "y":      "x[40 × U+00A0]y",
		"if x {\n\t\t\treturn\n}\n\n\nend":            "if x {\n\t\t\treturn\n}\n\n\nend",
		blanks(20) + "x\n" + blanks(30) + "y":         blanks(20) + "x\n" + blanks(30) + "y",
	} {
		require.Equal(t, want, interaction.Visible(in))
		require.Equal(t, want, interaction.VisibleProse(in))
	}
}

// N4, decision 20: JSON keeps its order, and escapes only what would be hidden.
func TestN4JSONIsReadable(t *testing.T) {
	in := `{"old":"a \u003cb\u003e \u00e9 \ud83c\udf88 \/","new":"\u202e \ud800 \u0000 \" \\u003c` + "\u200b" +
		`","n":1.10,"x":"` + strings.Repeat(" ", 50) + `"}`
	want := `{"old":"a <b> é 🎈 /","new":"\u202e \ud800 \u0000 \" \\u003c\u{200B}","n":1.10,` +
		`"x":"[50 white-space characters]"}`
	require.Equal(t, want, interaction.VisibleJSON([]byte(in), ""))
	require.Equal(t, "{\n  \"b\": [\n    1\n  ],\n  \"a\": \"<\"\n}",
		interaction.VisibleJSON([]byte(`{"b":[1],"a":"\u003c"}`), "  "))
	for in, want := range map[string]string{`"\u003c\u003e"`: `"<>"`, `"\ud83cxudf88"`: `"\ud83cxudf88"`,
		`"\ud83c\u003c"`: `"\ud83c<"`, `"\ud83c\t"`: `"\ud83c\t"`, `"\ud83c"`: `"\ud83c"`} {
		require.Equal(t, want, interaction.VisibleJSON([]byte(in), ""))
	}
	require.Equal(t, `no JSON\u{202E}`, interaction.VisibleJSON([]byte("no JSON\u202e"), "  "))
}

// N4: whatever the text, nothing hidden is left, and two JSON texts that are shown alike but for
// long white space have the same value.
func FuzzVisible(f *testing.F) {
	for _, s := range []string{"", "a\u202eb\xff", "👩‍💻\ufe0f", "x                     y", "\r\n",
		"می\u200cخ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range interaction.Visible(s) {
			require.Zero(t, interaction.CharacterOf(r)&interaction.Hidden)
		}
		require.Equal(t, interaction.Visible(s), interaction.Visible(interaction.Visible(s)))
		require.True(t, utf8.ValidString(interaction.VisibleProse(s)))
		body, err := json.Marshal(s)
		require.NoError(t, err)
		for _, r := range interaction.VisibleJSON(body, "") {
			require.Zero(t, interaction.CharacterOf(r)&interaction.Hidden)
		}
	})
}

// N4: a text is not split within a grapheme.
func TestN4BreakTearsNoCharacter(t *testing.T) {
	for _, whole := range []string{"👩‍💻", "❤️‍🔥", "👩🏽‍🚀", "1️⃣", "é", "e\u0301\u0323", "🇩🇪", "🇦🇿"} {
		text := "ab🇫🇷" + whole + "c"
		for limit := len("ab🇫🇷"); limit < len("ab🇫🇷"+whole); limit++ {
			require.Equal(t, "ab🇫🇷", text[:interaction.Break(text, limit)], "%q %d", whole, limit)
		}
		require.Equal(t, "ab🇫🇷"+whole, text[:interaction.Break(text, len(text)-1)])
	}
	require.Equal(t, 3, interaction.Break("abc", 9))
	require.Equal(t, 3, interaction.Break("abc", 3))
	require.Equal(t, len("ab🇩"), interaction.Break("ab🇩c", len("ab🇩")), "half a flag is a letter of its own")
	require.Zero(t, interaction.Break("\x80\x80\x80", 2), "no character begins in these bytes")
	require.Equal(t, 201, interaction.Break("a"+strings.Repeat("\u0301", 200), 202), "there is no end to its marks")
}

// N4: each byte of invalid UTF-8 is shown by its number, in arguments and in prose.
func TestN4InvalidBytesAreShown(t *testing.T) {
	for _, show := range []func(string) string{interaction.Visible, interaction.VisibleProse} {
		require.Equal(t, `a\x{80}\x{FF}b`, show("a\x80\xffb"))
		require.Equal(t, `\x{FF}`, show("\xff"))
	}
}

// N3, N4: EditableJSON keeps the value of a JSON text, and makes every character visible.
func TestN3EditableJSONKeepsTheValue(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"b\u202ec"}`:                          `{"a":"b\u202ec"}`,
		"{\"a\":\"b\u202ec\u200b\"}":                `{"a":"b\u202ec\u200b"}`,
		"{\r\n\t\"\U000E0041\": 1.50}":              "{\r\n\t\"" + `\udb40\udc41` + `": 1.50}`,
		`["` + strings.Repeat(" ", 16) + `x"]`:      `["` + strings.Repeat(`\u0020`, 16) + `x"]`,
		"[\n" + strings.Repeat(" ", 20) + "1\n]":    "[\n" + strings.Repeat(" ", 20) + "1\n]",
		`["` + strings.Repeat(" ", 15) + "é\u00ad]": `["` + strings.Repeat(" ", 15) + `é\u00ad]`,
	} {
		got := interaction.EditableJSON([]byte(text))
		require.Equal(t, want, got)
		var before, after any
		if json.Unmarshal([]byte(text), &before) == nil {
			require.NoError(t, json.Unmarshal([]byte(got), &after))
			require.Equal(t, before, after)
		}
	}
}
