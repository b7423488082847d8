package process

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func allLines(tb testing.TB, r io.Reader, limit int) []Line {
	tb.Helper()
	l := NewLineReader(r, nil, limit)
	l.Allow(1 << 30)
	var got []Line
	for {
		next, err := l.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		require.NoError(tb, err)
		next.Text = bytes.Clone(next.Text)
		got = append(got, next)
	}
}

// I11: a line of any length is read in bounded memory, and the next one is whole.
func TestLineReaderCutsALongLine(t *testing.T) {
	for _, n := range []int{9, 10, 11, 64 << 10, 64<<10 + 1, 10 << 20} {
		got := allLines(t, io.MultiReader(strings.NewReader(strings.Repeat("x", n)), strings.NewReader("\nnext")), 10)
		require.Len(t, got, 2)
		require.Equal(t, strings.Repeat("x", min(n, 10)), string(got[0].Text))
		require.Equal(t, n > 10, got[0].Cut)
		require.Equal(t, int64(n+1), got[0].Length)
		require.Equal(t, "next", string(got[1].Text))
	}
}

// I11: a stream without line breaks ends at its allowance.
func TestLineReaderEndsAFloodWithoutLineBreaks(t *testing.T) {
	l := NewLineReader(endless{}, nil, 10)
	l.Allow(1 << 20)
	_, err := l.Next()
	require.ErrorIs(t, err, ErrFlood)
	require.LessOrEqual(t, cap(l.buf), 1<<10)
}

// endless is an agent that never ends its line.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// I11: the lines do not depend on how the output is split.
func FuzzLines(f *testing.F) {
	f.Add("a\nbb\r\n\nccc", 2)
	f.Add("föx\n🎈🎈🎈\n", 5)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = min(max(limit, 1), 1<<16)
		whole := allLines(t, strings.NewReader(text), limit)
		pieces := allLines(t, iotest.OneByteReader(strings.NewReader(text)), limit)
		require.Equal(t, whole, pieces)
		var offset int64
		for _, l := range whole {
			require.LessOrEqual(t, len(l.Text), limit)
			raw := text[offset : offset+l.Length]
			require.True(t, strings.HasPrefix(raw, string(l.Text)))
			if utf8.ValidString(raw) {
				require.True(t, utf8.Valid(l.Text), "a cut splits no character")
			}
			offset += l.Length
		}
		require.Equal(t, int64(len(text)), offset)
	})
}

func BenchmarkLines(b *testing.B) {
	for name, text := range map[string]string{
		"short": strings.Repeat(strings.Repeat("x", 200)+"\n", 1000),
		"long":  strings.Repeat("x", 4<<20) + "\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				l := NewLineReader(strings.NewReader(text), nil, 1<<20)
				l.Allow(1 << 30)
				for {
					if _, err := l.Next(); err != nil {
						break
					}
				}
			}
		})
	}
}
