package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// lane is the runs with the same pool, priority and key. Lanes of one pool and priority take turns.
type lane struct {
	pool     string
	priority int
	key      string
}

func laneOf(r store.Run) lane { return lane{r.Pool, r.Priority, r.Key} }

// picks judges which runs a claim picked, given the model before the claim. Each handle only has a
// hint of whose turn it is among the keys, so picks checks what must hold for any right choice.
type picks struct {
	*model
	node    string
	now     time.Time
	limit   int
	engines []string // the engines of the claim; nil for any
	suspect bool     // the claim asks for suspects
	got     []string
	drained bool // the claim says that no ready run is left
	// noSuspects: the claim says that no suspect is ready.
	noSuspects bool
	picked     map[string]bool
}

// fault returns the first promise that the choice breaks, or "".
func (p *picks) fault() string {
	own := p.sticky()
	own = own[:min(len(own), p.limit)]
	if len(p.got) > p.limit {
		return "more runs than asked for"
	}
	if len(p.got) < len(own) || !slices.Equal(own, p.got[:len(own)]) {
		return "the node's own sticky runs come first, oldest first: " + strings.Join(own, " ")
	}
	p.picked = map[string]bool{}
	for _, id := range p.got {
		if p.picked[id] {
			return id + " is picked twice"
		}
		p.picked[id] = true
	}
	fresh := p.got[len(own):]
	lanes := p.lanes()
	for _, id := range fresh {
		s := p.runs[id]
		if s == nil || !slices.Contains(lanes[laneOf(s.run)], id) {
			return id + " is not ready"
		}
	}
	for _, check := range []func(map[lane][]string) string{p.ages, p.capacity, p.priorities, p.turns, p.work, p.left} {
		if broken := check(lanes); broken != "" {
			return broken
		}
	}
	return ""
}

// left checks that a claim with Drained or NoSuspects leaves no ready run, or no suspect.
func (p *picks) left(lanes map[lane][]string) string {
	if p.noSuspects {
		for _, r := range p.where(func(r store.Run) bool {
			return isReady(r, p.now) && r.Suspect() && slices.Contains(p.engines, r.Engine)
		}) {
			return r.ID + " is a suspect that is ready, and the claim says that none is"
		}
	}
	for _, ids := range lanes {
		for _, id := range ids {
			if p.drained && !p.picked[id] {
				return id + " is ready, and the claim says that nothing is left"
			}
		}
	}
	return ""
}

// sticky returns the node's queued runs that hold their slot.
func (p *picks) sticky() []string {
	if p.suspect {
		return nil
	}
	return ids(by(p.where(func(r store.Run) bool {
		return r.State == fsm.StateQueued && r.Slot && r.Owner == p.node
	}), queuedAt))
}

func queuedAt(r store.Run) time.Time { return r.QueuedAt }

// lanes returns the ready runs of the claim's engines by lane, the oldest first.
func (p *picks) lanes() map[lane][]string {
	lanes := map[lane][]string{}
	ready := p.where(func(r store.Run) bool {
		return isReady(r, p.now) && (p.engines == nil ||
			slices.Contains(p.engines, r.Engine) && r.Suspect() == p.suspect)
	})
	for _, r := range by(ready, queuedAt) {
		lanes[laneOf(r)] = append(lanes[laneOf(r)], r.ID)
	}
	return lanes
}

func (p *picks) count(waiting []string) int {
	n := 0
	for _, id := range waiting {
		if p.picked[id] {
			n++
		}
	}
	return n
}

// ages checks that the oldest runs of each lane were picked.
func (p *picks) ages(lanes map[lane][]string) string {
	for l, waiting := range lanes {
		for _, id := range waiting[:p.count(waiting)] {
			if !p.picked[id] {
				return "an older run waits: " + id + " with key " + l.key
			}
		}
	}
	return ""
}

// free returns how many slots the pool, and the key in it, have left after the claim. Without a
// limit the number is very large.
func (p *picks) free(pool, key string) (ofPool, ofKey int) {
	ofPool, ofKey = p.pools[pool].Capacity, p.pools[pool].KeyCapacity
	if ofKey == 0 || key == "" {
		ofKey = 1 << 30
	}
	for id, s := range p.runs {
		if s.run.Pool == pool && (s.run.Slot || p.picked[id]) {
			ofPool--
			if s.run.Key == key {
				ofKey--
			}
		}
	}
	return ofPool, ofKey
}

// capacity checks that no pool or key exceeds its capacity, and that a pool with a capacity below
// its use gets no slot.
func (p *picks) capacity(lanes map[lane][]string) string {
	for l, waiting := range lanes {
		if p.count(waiting) == 0 {
			continue
		}
		if ofPool, ofKey := p.free(l.pool, l.key); ofPool < 0 || ofKey < 0 {
			return "capacity is exceeded of pool " + l.pool + ", key " + l.key
		}
	}
	return ""
}

func (p *picks) startable(l lane, waiting []string) bool {
	_, ofKey := p.free(l.pool, l.key)
	return p.count(waiting) < len(waiting) && ofKey > 0
}

// priorities checks that in each pool no run was picked while a run of higher priority could have
// been started.
func (p *picks) priorities(lanes map[lane][]string) string {
	for high, waiting := range lanes {
		if !p.startable(high, waiting) {
			continue
		}
		for low, others := range lanes {
			if low.pool == high.pool && low.priority < high.priority && p.count(others) > 0 {
				return "a run of higher priority waits with key " + high.key
			}
		}
	}
	return ""
}

// turns checks that no key of a priority got two runs more than another key that still waits and
// has room.
func (p *picks) turns(lanes map[lane][]string) string {
	for poor, waiting := range lanes {
		if !p.startable(poor, waiting) {
			continue
		}
		for rich, others := range lanes {
			if rich.pool == poor.pool && rich.priority == poor.priority && p.count(others) > p.count(waiting)+1 {
				return "key " + rich.key + " got more than its turn, key " + poor.key + " waits"
			}
		}
	}
	return ""
}

// work checks that no slot stays free that a waiting run could have, unless the claim has reached
// its limit.
func (p *picks) work(lanes map[lane][]string) string {
	if len(p.got) == p.limit {
		return ""
	}
	for l, waiting := range lanes {
		if ofPool, _ := p.free(l.pool, l.key); ofPool > 0 && p.startable(l, waiting) {
			return "a slot of pool " + l.pool + " stays free and a run of key " + l.key + " waits"
		}
	}
	return ""
}
