package lifecycle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// TestATextIsCutBetweenItsCharacters: what is kept is as much as fits, and still UTF-8.
func TestATextIsCutBetweenItsCharacters(t *testing.T) {
	text := "aé€😀" + strings.Repeat("€b", 5)
	for limit := range len(text) + 3 {
		kept, cut := bounded(text, limit)
		require.Equal(t, limit < len(text), cut, "%d bytes", limit)
		require.True(t, utf8.ValidString(kept), "%d bytes", limit)
		require.True(t, strings.HasPrefix(text, kept))
		if require.LessOrEqual(t, len(kept), limit); cut {
			_, next := utf8.DecodeRuneInString(text[len(kept):])
			require.Greater(t, len(kept)+next, limit, "the next character would not fit")
		}
	}
	kept, cut := bounded("a\xffb", 5)
	require.Equal(t, "a\uFFFDb", kept)
	require.False(t, cut)
}

// TestALongOutputIsCutAndSaysSo: each text is kept up to its limit; a longer one is cut, and its
// event says that it was.
func TestALongOutputIsCutAndSaysSo(t *testing.T) {
	const message, final, detail = 65_536, 262_144, 4_096
	for name, over := range map[string]int{"just as long": 0, "one byte longer": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := sinking(func(ctx context.Context, _ engine.Turn, s engine.Sink) (engine.Outcome, error) {
					o := asking("?")
					o.FinalText = strings.Repeat("f", final+over)
					return o, errors.Join(
						s.Message(ctx, engine.Message{Text: strings.Repeat("m", message+over)}),
						s.Warn(ctx, engine.Diagnostic{Code: fsm.WarnEngineDiagnostic, Detail: strings.Repeat("w",
							detail+over)}),
					)
				})
				lc, stop := serve(t, Config{Store: newStore(t), Engine: e})
				submit(t, lc, "r")
				synctest.Wait()
				require.NoError(t, lc.Cancel(t.Context(), "r", strings.Repeat("c", detail+over)))
				require.Equal(t, strings.Repeat("c", detail), in(t, lc.Client, "r", fsm.StateCanceled).CancelReason)
				told := make(map[string]bool)
				for event, err := range lc.Events(t.Context(), "r", 0) {
					require.NoError(t, err)
					var data struct {
						Text, Detail string
						Truncated    bool
					}
					require.NoError(t, event.Decode(&data))
					limit := map[string]int{
						contract.TypeMessageIntermediate: message, contract.TypeMessageFinal: final,
						contract.TypeWarning: detail,
					}[event.Type]
					if limit == 0 {
						continue
					}
					told[event.Type] = true
					require.Len(t, data.Text+data.Detail, limit)
					require.Equal(t, over > 0 && data.Text != "", data.Truncated, event.Type)
				}
				require.Len(t, told, 3)
				stop()
			})
		})
	}
}
