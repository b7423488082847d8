package approval_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/approval"
)

// K4: what a screen does not show, or shows elsewhere, is written out.
func TestVisibleHidesNothing(t *testing.T) {
	for in, want := range map[string]string{
		"ls -l\tä 漢 🎈\n":                                "ls -l\tä 漢 🎈\n",
		"ls" + strings.Repeat(" ", 4000) + "; rm -rf /": "ls[4000 white-space characters]; rm -rf /",
		"ls" + strings.Repeat("\n\u00a0", 50) + "rm":    "ls[100 white-space characters]rm",
		"rm \u202eslaer\u202c":                          `rm \u{202E}slaer\u{202C}`,
		"a\x1b[2Kb\rc\x00":                              `a\u{001B}[2Kb\u{000D}c\u{0000}`,
		"r\u200bm\u2066 \ufeff\u00ad\u3164\U000e0041":   `r\u{200B}m\u{2066} \u{FEFF}\u{00AD}\u{3164}\u{E0041}`,
		"\xff\xfe": `\x{FF}\x{FE}`,
		"":         "",
	} {
		require.Equal(t, want, approval.Visible(in))
	}
	require.Equal(t, `{"a":"<b>\u{202E}"}`, approval.JSON(map[string]string{"a": "<b>\u202e"}))
	require.Contains(t, approval.JSON(func() {}), "cannot be shown")
}

// K4: of what is too long the beginning and the end are shown, and how much is not.
func FuzzCut(f *testing.F) {
	f.Add("ls "+strings.Repeat("é", 500)+" rm -rf /", 200)
	f.Add("short", 100)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		if limit < 100 || !utf8.ValidString(s) {
			return
		}
		shown, hidden := approval.Cut(s, limit)
		require.True(t, utf8.ValidString(shown))
		require.LessOrEqual(t, len(shown), limit)
		if hidden == 0 {
			require.Equal(t, s, shown)
			return
		}
		gap := fmt.Sprintf("\n[… %d more bytes are not shown …]\n", hidden)
		require.Equal(t, len(s), len(shown)-len(gap)+hidden)
		at := strings.Index(shown, gap)
		require.Positive(t, at)
		require.True(t, strings.HasPrefix(s, shown[:at]))
	})
}
