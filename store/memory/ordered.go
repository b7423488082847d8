package memory

import "math/rand/v2"

// ordered is a treap, balanced by random priorities: adding, removing and seeking cost O(log n). It
// is not safe for concurrent use.
type ordered[T any] struct {
	root    *treap[T]
	compare func(a, b T) int
	size    int
}

type treap[T any] struct {
	item        T
	weight      uint64
	left, right *treap[T]
}

func newOrdered[T any](compare func(a, b T) int) *ordered[T] { return &ordered[T]{compare: compare} }

func (o *ordered[T]) add(item T) {
	o.remove(item)
	less, greater := o.split(o.root, item)
	o.root = merge(merge(less, &treap[T]{item: item, weight: rand.Uint64()}), greater)
	o.size++
}

func (o *ordered[T]) remove(item T) {
	at := &o.root
	for *at != nil {
		c := o.compare(item, (*at).item)
		switch {
		case c < 0:
			at = &(*at).left
		case c > 0:
			at = &(*at).right
		default:
			*at = merge((*at).left, (*at).right)
			o.size--
			return
		}
	}
}

func (o *ordered[T]) split(t *treap[T], item T) (before, rest *treap[T]) {
	if t == nil {
		return nil, nil
	}
	if o.compare(t.item, item) < 0 {
		t.right, rest = o.split(t.right, item)
		return t, rest
	}
	before, t.left = o.split(t.left, item)
	return before, t
}

// merge joins two trees, with all of a before all of b.
func merge[T any](a, b *treap[T]) *treap[T] {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.weight > b.weight:
		a.right = merge(a.right, b)
		return a
	default:
		b.left = merge(a, b.left)
		return b
	}
}

// from calls visit with the items from the place on, in order, until visit returns false. Before
// must agree with the order.
func (o *ordered[T]) from(before func(T) bool, visit func(T) bool) { ascend(o.root, before, visit) }

func ascend[T any](t *treap[T], before, visit func(T) bool) bool {
	if t == nil {
		return true
	}
	if before(t.item) {
		return ascend(t.right, before, visit)
	}
	return ascend(t.left, before, visit) && visit(t.item) && ascend(t.right, before, visit)
}

// back calls visit with the items before the place, the last first, until visit returns false.
func (o *ordered[T]) back(before func(T) bool, visit func(T) bool) { descend(o.root, before, visit) }

func descend[T any](t *treap[T], before, visit func(T) bool) bool {
	if t == nil {
		return true
	}
	if !before(t.item) {
		return descend(t.left, before, visit)
	}
	return descend(t.right, before, visit) && visit(t.item) && descend(t.left, before, visit)
}

func (o *ordered[T]) first(before func(T) bool) (item T, ok bool) {
	o.from(before, func(t T) bool {
		item, ok = t, true
		return false
	})
	return item, ok
}
