package slots

// Queue looks at the ready runs of one pool: queued, without a slot, and not held back by a
// not-before time. Each call may be a journey to a database, and is meant to be one statement
// there. Its cost must be in proportion to what it returns and to the keys that it leaves out, and
// not depend on how many runs are queued. A store's error ends Select with that error.
//
// While one Select goes on nobody else may give the pool's slots away. Slots may come free
// meanwhile, and runs become ready or cease to be: each call answers for its own moment, and no
// answer makes Select exceed a capacity or choose a run twice.
type Queue interface {
	// Priority returns the highest priority below the given one at which a run is ready; ok is
	// false when there is none.
	Priority(below int) (priority int, ok bool, err error)
	// Keys returns the first n of the keys, each once, that have a ready run at the priority, in
	// turn: in byte order those after last, then those from the first one of all up to last itself.
	// If it returns fewer, there are no more. Left out are the keys that hold the pool's
	// KeyCapacity already; the empty key never is, nor any when the pool has none.
	Keys(priority int, last string, n int) ([]Key, error)
	// Oldest returns for each of the wants, in their order, the ids of up to N ready runs of the
	// key at the priority, oldest first and of equals the lower id first. If it returns fewer,
	// there are no more. The keys differ. Oldest keeps nothing of the wants: the caller uses the
	// slice again.
	Oldest(priority int, wants []Want) (ids [][]string, err error)
}

// Key is a key that has a ready run.
type Key struct {
	Name string
	// Held is how many of the pool's slots the key holds. It is looked at when the pool has a
	// KeyCapacity and Name is not empty, and may be 0 otherwise.
	Held int
}

// Want asks for up to N runs of a key; N is at least 1.
type Want struct {
	Key string
	N   int
}
