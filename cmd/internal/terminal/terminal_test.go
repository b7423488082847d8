package terminal

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
)

// N4: a script without input is no person at a terminal.
func TestTheNullDeviceIsNoTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	require.False(t, Is(null))
}

// N4: characters that control a terminal are shown by their code.
func TestTextShowsControlCharactersByTheirCode(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[2Jgone\x1b]0;title\a":              `\u{001B}[2Jgone\u{001B}]0;title\u{0007}`,
		"C1: \u009b31m, DEL: \x7f, NUL: \x00":    `C1: \u{009B}31m, DEL: \u{007F}, NUL: \u{0000}`,
		"raw C1: \x9b31m":                        `raw C1: \x{9B}31m`,
		"over\rwritten, over\bstruck":            `over\u{000D}written, over\u{0008}struck`,
		"one\r\n\ttwo\n":                         "one\n    two\n",
		"pay \u202e001\u202c \u2066x\u2069":      `pay \u{202E}001\u{202C} \u{2066}x\u{2069}`,
		"hidden\u200b\ufeff\u2028\U000e0041":     `hidden\u{200B}\u{FEFF}\u{2028}\u{E0041}`,
		"Zoë 日本　語 👩\u200d💻 می\u200cخواهم �":      "Zoë 日本　語 👩\u200d💻 می\u200cخواهم �",
		"x" + strings.Repeat(" ", 4000) + "; rm": "x[4000 white-space characters]; rm",
	} {
		require.Equal(t, want, Text(text))
	}
	require.Equal(t, `one two\u{001B} three`, Line(" one\n\ttwo\x1b\r\n three "))
	require.Equal(t, "x[4000 white-space characters]y", Line("x"+strings.Repeat(" ", 4000)+"y"))
	require.Equal(t, `👩\u{200D}💻\n \ta\u{00A0}b`, Name("👩\u200d💻\n \ta\u00a0b"))
}

// An indented text cannot look like the lines around it, and no line exceeds the width of the
// terminal.
func TestWrapIndentsEveryLineWithinTheWidth(t *testing.T) {
	require.Equal(t, "  a  b\n\n    c", Wrap("a  b\n\n  c\n", "  "))
	for line := range strings.SplitSeq(Wrap("  "+strings.Repeat("word ", 60), "  "), "\n") {
		require.LessOrEqual(t, len(line), Width)
		require.Equal(t, "  word", line[:6])
	}
	require.Equal(t, strings.Repeat("x", 200), Wrap(strings.Repeat("x", 200), ""), "a word is not broken")
}

// For every text, the output is safe, and JSON keeps its value.
func FuzzShow(f *testing.F) {
	for _, text := range []string{"", "plain\n", "\x1b[31m\u009b\u202e\U000e0041\xff\xf0\x9f",
		"\u2028\u200b\x7f\b\r\t", "a                     b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body, err := json.Marshal(text)
		require.NoError(t, err)
		shown := JSON(body)
		var want, got string
		require.NoError(t, json.Unmarshal(body, &want))
		require.NoError(t, json.Unmarshal([]byte(shown), &got))
		require.Equal(t, want, got)
		for _, s := range []string{shown, Text(text), Line(text), Name(text), Value(body, "")} {
			require.True(t, utf8.ValidString(s))
			for _, r := range s {
				prose := interaction.SingleSpace | interaction.Hidden
				safe := interaction.CharacterOf(r)&interaction.Hidden == 0 || interaction.CharacterOf(r) == prose ||
					strings.ContainsRune("\u200c\u200d\ufe0f", r)
				require.True(t, safe, "%q shows %q", s, r)
			}
		}
		require.NotContains(t, Line(text), "\n")
	})
}

// N4: the terminal names every hidden character of Unicode, in prose, on a line and in names.
func TestN4TheTerminalNamesEveryHiddenCharacter(t *testing.T) {
	const chunk = 0x1000
	for first := rune(0); first <= unicode.MaxRune; first += chunk {
		var in, named, prose strings.Builder
		for r := first; r < first+chunk; r++ {
			kind := interaction.CharacterOf(r)
			if kind&interaction.Hidden == 0 || !utf8.ValidRune(r) {
				continue
			}
			in.WriteString("a" + string(r))
			name := fmt.Sprintf(`a\u{%04X}`, r)
			named.WriteString(name)
			if kind&interaction.SingleSpace != 0 {
				name = "a" + string(r)
			}
			prose.WriteString(name)
		}
		text := in.String() + "b"
		require.Equal(t, named.String()+"b", Name(text))
		require.Equal(t, prose.String()+"b", Text(text))
		require.Equal(t, prose.String()+"b", Line(text))
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		require.False(t, strings.ContainsFunc(JSON(quoted), func(r rune) bool {
			return interaction.CharacterOf(r)&interaction.Hidden != 0
		}))
	}
}

// N4: a long line keeps the spaces between its words.
func TestN4WrapFoldsNoBlanks(t *testing.T) {
	require.Equal(t, strings.Repeat("x", 60)+"   a \u00a0b\n"+strings.Repeat("y", 70),
		Wrap(strings.Repeat("x", 60)+"   a \u00a0b  "+strings.Repeat("y", 70), ""))
}
