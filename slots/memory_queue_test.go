package slots_test

import (
	"slices"
	"strings"

	"github.com/interlude-go/interlude/slots"
)

// ready is one ready run of a queue in memory.
type ready struct {
	id       string
	key      string
	priority int
	age      int
}

// queue answers seeks by looking through everything, obviously.
type queue struct {
	runs  []ready
	seeks int
}

func (q *queue) Priority(below int) (int, bool, error) {
	q.seeks++
	best, ok := 0, false
	for _, r := range q.runs {
		if r.priority < below && (!ok || r.priority > best) {
			best, ok = r.priority, true
		}
	}
	return best, ok, nil
}

func (q *queue) Key(priority int, after string, inclusive bool) (string, bool, error) {
	q.seeks++
	best, ok := "", false
	for _, r := range q.runs {
		behind := r.key > after || (inclusive && r.key == after)
		if r.priority == priority && behind && (!ok || r.key < best) {
			best, ok = r.key, true
		}
	}
	return best, ok, nil
}

func (q *queue) Oldest(priority int, key string, n int) ([]string, error) {
	q.seeks++
	var own []ready
	for _, r := range q.runs {
		if r.priority == priority && r.key == key {
			own = append(own, r)
		}
	}
	slices.SortFunc(own, func(a, b ready) int {
		if a.age != b.age {
			return a.age - b.age
		}
		return strings.Compare(a.id, b.id)
	})
	var ids []string
	for _, r := range own[:min(n, len(own))] {
		ids = append(ids, r.id)
	}
	return ids, nil
}

// start removes the picked runs from the queue and returns their keys.
func (q *queue) start(ids []string) []string {
	var keys []string
	for _, id := range ids {
		i := slices.IndexFunc(q.runs, func(r ready) bool { return r.id == id })
		keys = append(keys, q.runs[i].key)
		q.runs = slices.Delete(q.runs, i, i+1)
	}
	return keys
}

// use counts held slots by key.
func use(held map[string]int) slots.Use {
	total := 0
	for _, n := range held {
		total += n
	}
	return slots.Use{Total: total, Key: func(key string) (int, error) { return held[key], nil }}
}
