package slots_test

import (
	"fmt"
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

// queue answers by a plain search, and counts its calls.
type queue struct {
	runs []ready
	pool slots.Pool
	held map[string]int // slots by key

	priorities, keys, looks int // calls
	rows                    int // keys and ids that it answered with
	passed                  int // keys without room that it passed over
}

func (q *queue) calls() int { return q.priorities + q.keys + q.looks }

func (q *queue) Priority(below int) (int, bool, error) {
	q.priorities++
	best, ok := 0, false
	for _, r := range q.runs {
		if r.priority < below && (!ok || r.priority > best) {
			best, ok = r.priority, true
		}
	}
	return best, ok, nil
}

func (q *queue) Keys(priority int, last string, n int) ([]slots.Key, error) {
	q.keys++
	var names []string
	for _, r := range q.runs {
		if r.priority == priority {
			names = append(names, r.key)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	after, found := slices.BinarySearch(names, last)
	if found {
		after++
	}
	var keys []slots.Key
	for _, name := range slices.Concat(names[after:], names[:after]) {
		switch {
		case len(keys) == n:
		case name != "" && q.pool.KeyCapacity > 0 && q.held[name] >= q.pool.KeyCapacity:
			q.passed++
		default:
			keys = append(keys, slots.Key{Name: name, Held: q.held[name]})
		}
	}
	q.rows += len(keys)
	return keys, nil
}

func (q *queue) Oldest(priority int, wants []slots.Want) ([][]string, error) {
	q.looks++
	all := make([][]string, len(wants))
	for i, want := range wants {
		if want.N < 1 {
			panic(fmt.Sprintf("%+v: N is at least 1", want))
		}
		all[i] = q.oldest(priority, want)
		q.rows += len(all[i])
	}
	return all, nil
}

func (q *queue) oldest(priority int, want slots.Want) (ids []string) {
	var own []ready
	for _, r := range q.runs {
		if r.priority == priority && r.key == want.Key {
			own = append(own, r)
		}
	}
	slices.SortFunc(own, func(a, b ready) int {
		if a.age != b.age {
			return a.age - b.age
		}
		return strings.Compare(a.id, b.id)
	})
	for _, r := range own[:min(want.N, len(own))] {
		ids = append(ids, r.id)
	}
	return ids
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

// choose selects from the queue, with this pool and these held slots by key.
func (q *queue) choose(p slots.Pool, held map[string]int, want int, last string) (ids []string, served string,
	_ error) {
	q.pool, q.held = p, held
	return slots.Select(p, total(held), q, want, last)
}

func total(held map[string]int) (sum int) {
	for _, n := range held {
		sum += n
	}
	return sum
}
