package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/host/render"
)

func lines(diff []render.Line) string {
	var b strings.Builder
	for _, l := range diff {
		fmt.Fprintf(&b, "%s %d %d %s\n", l.Change, l.Before, l.After, outline(l.Parts))
	}
	return b.String()
}

// N6: the lines of a diff.
func TestN6Diff(t *testing.T) {
	require.Empty(t, render.Diff("a\n", "a\n"))
	require.Equal(t, `same 1 1 'a'
removed 2 0 'pay ' token.changed'10' ' euros'
added 0 2 'pay ' token.changed'1000' ' euros'
same 3 3 'c'
`, lines(render.Diff("a\npay 10 euros\nc\n", "a\npay 1000 euros\nc\n")))
	require.Equal(t, "removed 1 0 'a' br\nadded 0 1 'a'\n", lines(render.Diff("a", "a\n")), "a line break is a change")
	require.Equal(t, "added 0 1 'x'\n", lines(render.Diff("", "x\n")))
	numbered := func(n int) (s string) {
		for i := range n {
			s += fmt.Sprintln(i)
		}
		return s
	}
	require.Equal(t, `skipped 17 0 
same 18 18 '17'
same 19 19 '18'
same 20 20 '19'
added 0 21 'new'
`, lines(render.Diff(numbered(20), numbered(20)+"new\n")))
	long := strings.Repeat("x\n", render.MaxDiff)
	require.Len(t, render.Diff(long, "y\n"), render.MaxDiff+1)
}

// N6: side by side, a removed line is next to the added line in its place.
func TestN6SidesPairRemovedAndAddedLines(t *testing.T) {
	var b strings.Builder
	for _, p := range render.Sides(render.Diff("a\n1\n2\n3\nb\n4\n", "a\none\nb\n4\n5\n")) {
		for _, side := range []*render.Line{p.Before, p.After} {
			if side == nil {
				b.WriteString("-;")
				continue
			}
			fmt.Fprintf(&b, "%s %d %d;", side.Change, side.Before, side.After)
		}
		b.WriteByte('\n')
	}
	require.Equal(t, `same 1 1;same 1 1;
removed 2 0;added 0 2;
removed 3 0;-;
removed 4 0;-;
same 5 3;same 5 3;
same 6 4;same 6 4;
-;added 0 5;
`, b.String())
	require.Empty(t, render.Sides(nil))
}

// N6: a diff has every line of both texts, or counts it.
func TestN6ADiffIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c d", "", " ", "\n", "\n",
				"\n", "é\u202e"})).
				Draw(t, "pieces"), "")
		})
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		var a, b []string
		for line := range strings.Lines(before) {
			a = append(a, strings.TrimSuffix(line, "\n"))
		}
		for line := range strings.Lines(after) {
			b = append(b, strings.TrimSuffix(line, "\n"))
		}
		if before == after {
			return
		}
		i, j := 0, 0
		for _, l := range render.Diff(before, after) {
			switch shown := drawn(l.Parts); l.Change {
			case render.Skipped:
				require.Equal(t, a[i:i+l.Before], b[j:j+l.Before])
				i, j = i+l.Before, j+l.Before
			case render.Same:
				require.Equal(t, []string{a[i], b[j]}, []string{shown, shown})
				i, j = i+1, j+1
				require.Equal(t, []int{i, j}, []int{l.Before, l.After})
			case render.Removed:
				require.Equal(t, a[i], shown)
				i++
				require.Equal(t, i, l.Before)
			case render.Added:
				require.Equal(t, b[j], shown)
				j++
				require.Equal(t, j, l.After)
			}
		}
		require.Equal(t, []int{len(a), len(b)}, []int{i, j})
	})
}
