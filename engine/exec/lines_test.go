package exec

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

// allLines reads every line.
func allLines(tb testing.TB, r io.Reader, limit int) []line {
	tb.Helper()
	l := newLines(r, nil, limit)
	l.allow(1 << 30)
	var got []line
	for {
		next, err := l.next()
		if errors.Is(err, io.EOF) {
			return got
		}
		require.NoError(tb, err)
		next.text = bytes.Clone(next.text)
		got = append(got, next)
	}
}

// I11: a line of any length is read in bounded memory, and the next one is whole.
func TestALongLineIsCutAndTheNextIsWhole(t *testing.T) {
	for _, n := range []int{9, 10, 11, 64 << 10, 64<<10 + 1, 10 << 20} {
		got := allLines(t, io.MultiReader(strings.NewReader(strings.Repeat("x", n)), strings.NewReader("\nnext")), 10)
		require.Len(t, got, 2)
		require.Equal(t, strings.Repeat("x", min(n, 10)), string(got[0].text))
		require.Equal(t, n > 10, got[0].cut)
		require.Equal(t, int64(n+1), got[0].length)
		require.Equal(t, "next", string(got[1].text))
		require.Equal(t, int64(n+1), got[1].offset)
	}
}

// I11: a stream without line breaks ends at its allowance.
func TestAFloodWithoutLineBreaksEnds(t *testing.T) {
	l := newLines(endless{}, nil, 10)
	l.allow(1 << 20)
	_, err := l.next()
	require.ErrorIs(t, err, errFlood)
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

// I11: wherever the output is split into pieces, the lines are the same.
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
			require.Equal(t, offset, l.offset)
			require.LessOrEqual(t, len(l.text), limit)
			raw := text[offset : offset+l.length]
			require.True(t, strings.HasPrefix(raw, string(l.text)))
			if utf8.ValidString(raw) {
				require.True(t, utf8.Valid(l.text), "a cut splits no character")
			}
			offset += l.length
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
				l := newLines(strings.NewReader(text), nil, 1<<20)
				l.allow(1 << 30)
				for {
					if _, err := l.next(); err != nil {
						break
					}
				}
			}
		})
	}
}
