package terminal

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// What a terminal would obey is shown by its code.
func TestTextShowsControlCharactersByTheirCode(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[2Jgone\x1b]0;title\a":           `\x1b[2Jgone\x1b]0;title\x07`,
		"C1: \u009b31m, DEL: \x7f, NUL: \x00": `C1: \u009b31m, DEL: \x7f, NUL: \x00`,
		"raw C1: \x9b31m":                     `raw C1: \x9b31m`,
		"over\rwritten, over\bstruck":         `over\x0dwritten, over\x08struck`,
		"one\r\n\ttwo\n":                      "one\n    two\n",
		"pay \u202e001\u202c \u2066x\u2069":   `pay \u202e001\u202c \u2066x\u2069`,
		"hidden\u200b\ufeff\u2028\U000e0041":  `hidden\u200b\ufeff\u2028\U000e0041`,
		"Zoë 日本　語 👩\u200d💻 می\u200cخواهم �":   "Zoë 日本　語 👩\u200d💻 می\u200cخواهم �",
	} {
		require.Equal(t, want, Text(text))
	}
	require.Equal(t, `one two\x1b three`, Line(" one\n\ttwo\x1b\r\n three "))
}

// An indented text cannot look like the lines around it, and no line is longer than a terminal is
// wide.
func TestWrapIndentsEveryLineWithinTheWidth(t *testing.T) {
	require.Equal(t, "  a  b\n\n    c", Wrap("a  b\n\n  c\n", "  "))
	for line := range strings.SplitSeq(Wrap("  "+strings.Repeat("word ", 60), "  "), "\n") {
		require.LessOrEqual(t, len(line), Width)
		require.Equal(t, "  word", line[:6])
	}
	require.Equal(t, strings.Repeat("x", 200), Wrap(strings.Repeat("x", 200), ""), "a word is not broken")
}

// Whatever the text, what is shown is safe, and JSON stays the same value.
func FuzzShow(f *testing.F) {
	for _, text := range []string{"", "plain\n", "\x1b[31m\u009b\u202e\U000e0041\xff\xf0\x9f",
		"\u2028\u200b\x7f\b\r\t"} {
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
		for _, s := range []string{shown, Text(text), Line(text)} {
			require.True(t, utf8.ValidString(s))
			for _, r := range s {
				require.True(t, safe(r) || r == '\n', "%q shows %q", s, r)
			}
		}
		require.NotContains(t, Line(text), "\n")
	})
}
