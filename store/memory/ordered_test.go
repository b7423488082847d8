package memory

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The ordered set behaves like a sorted slice.
func TestOrderedSetMatchesSortedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := newOrdered(cmp.Compare[int])
		var plain []int
		number := rapid.IntRange(0, 20)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				n := number.Draw(t, "n")
				set.add(n)
				if i, found := slices.BinarySearch(plain, n); !found {
					plain = slices.Insert(plain, i, n)
				}
			},
			"remove": func(t *rapid.T) {
				n := number.Draw(t, "n")
				set.remove(n)
				if i, found := slices.BinarySearch(plain, n); found {
					plain = slices.Delete(plain, i, i+1)
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(plain), set.size)
				place := number.Draw(t, "place")
				limit := number.Draw(t, "limit")
				before := func(n int) bool { return n < place }
				i, _ := slices.BinarySearch(plain, place)

				require.Equal(t, cut(plain[i:], limit), visited(set.from, before, limit))
				back := slices.Clone(plain[:i])
				slices.Reverse(back)
				require.Equal(t, cut(back, limit), visited(set.back, before, limit))
				first, ok := set.first(before)
				require.Equal(t, i < len(plain), ok)
				if ok {
					require.Equal(t, plain[i], first)
				}
			},
		})
	})
}

func cut(items []int, limit int) []int { return append([]int{}, items[:min(limit, len(items))]...) }

// visited are the first items that a walk visits.
func visited(walk func(before, visit func(int) bool), before func(int) bool, limit int) []int {
	items := []int{}
	walk(before, func(n int) bool {
		if len(items) == limit {
			return false
		}
		items = append(items, n)
		return true
	})
	return items
}

// I13: the tree stays balanced, also when items come in order, as times do.
func TestOrderedSetStaysBalanced(t *testing.T) {
	set := newOrdered(cmp.Compare[int])
	const n = 1 << 14
	for i := range n {
		set.add(i)
	}
	var depth func(*treap[int]) int
	depth = func(t *treap[int]) int {
		if t == nil {
			return 0
		}
		return 1 + max(depth(t.left), depth(t.right))
	}
	require.Less(t, depth(set.root), 4*14, "a few times the logarithm of its size")
}
