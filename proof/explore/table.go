package explore

import "hash/maphash"

// table numbers states in the order in which they were visited. It is a hash table with open
// addressing.
type table struct {
	states []State
	slots  []uint32 // 1 + a state's number; 0 is free
	seed   maphash.Seed
}

func newTable() *table { return &table{slots: make([]uint32, 1<<12), seed: maphash.MakeSeed()} }

func (t *table) size() int { return len(t.states) }

// at returns a state. The pointer is valid until the next put.
func (t *table) at(i uint32) *State { return &t.states[i] }

// put returns the state's number, and whether it is new.
func (t *table) put(s *State) (number uint32, isNew bool) {
	if 2*len(t.states) >= len(t.slots) {
		t.grow()
	}
	i := t.find(s)
	if t.slots[i] != 0 {
		return t.slots[i] - 1, false
	}
	t.states = append(t.states, *s)
	t.slots[i] = uint32(len(t.states))
	return t.slots[i] - 1, true
}

// find returns the slot of the state, or the free slot where it belongs.
func (t *table) find(s *State) uint64 {
	mask := uint64(len(t.slots) - 1)
	for i := maphash.Comparable(t.seed, *s) & mask; ; i = (i + 1) & mask {
		if n := t.slots[i]; n == 0 || t.states[n-1] == *s {
			return i
		}
	}
}

func (t *table) grow() {
	t.slots = make([]uint32, 2*len(t.slots))
	for n := range t.states {
		t.slots[t.find(&t.states[n])] = uint32(n + 1)
	}
}
