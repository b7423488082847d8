package approval_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/approval"
)

// K4, N4: a value is shown as JSON, with hidden characters written out.
func TestJSONHidesNothing(t *testing.T) {
	require.Equal(t, `{"a":"<b>\u{202E}"}`, approval.JSON(map[string]string{"a": "<b>\u202e"}))
	require.Contains(t, approval.JSON(func() {}), "cannot be shown")
}

// K4: a long text is shown with its beginning, its end and the size of the omitted part.
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
