package flow_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/flow"
)

// M1: a stream stores its text once per interval, up to the end of the last line or word; a long text
// is stored earlier. NewStream needs the context of a step.
func TestM1WhenAStreamStoresItsText(t *testing.T) {
	_, err := flow.NewStream(t.Context(), time.Second)
	require.ErrorContains(t, err, "needs the context of a step")

	type piece struct {
		after time.Duration
		text  string
	}
	long := strings.Repeat("x", 16<<10)
	for name, test := range map[string]struct {
		pieces []piece
		stored []string // before the flush
		rest   string
	}{
		"before the interval": {[]piece{{time.Second - 1, "one two"}}, nil, "one two"},
		"after it":            {[]piece{{time.Second, "one two thr"}}, []string{"one two "}, "thr"},
		"a line":              {[]piece{{time.Second, "one\ntwo thr"}}, []string{"one\n"}, "two thr"},
		"a word":              {[]piece{{time.Second, "one"}, {0, "self and"}}, []string{"oneself "}, "and"},
		"the next interval": {[]piece{{time.Second, "a b"}, {time.Second - 1, " c "}, {1, "d "}},
			[]string{"a ", "b c d "}, ""},
		"a long text":        {[]piece{{0, long[2:] + " x"}}, []string{long[2:] + " "}, "x"},
		"nearly a long text": {[]piece{{0, long[3:] + " x"}}, nil, long[3:] + " x"},
		"a long word":        {[]piece{{time.Second, long}}, []string{long}, ""},
		"nearly a long word": {[]piece{{time.Second, long[1:]}}, nil, long[1:]},
		"blank lines":        {[]piece{{time.Second, " \n\n"}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := new(desk)
				_, err := d.turn(t, func(c *flow.Ctx, _ string) (string, error) {
					return flow.Step(c, "s", func(ctx context.Context) (string, error) {
						s, err := flow.NewStream(ctx, time.Second)
						require.NoError(t, err)
						for _, p := range test.pieces {
							time.Sleep(p.after)
							require.NoError(t, s.Write(p.text))
						}
						require.Equal(t, test.stored, d.said)
						return "", s.Flush()
					})
				})
				require.NoError(t, err)
				require.Equal(t, test.rest, strings.Join(d.said[len(test.stored):], "|"))
			})
		})
	}
}
