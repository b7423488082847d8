package slots

// Queue reads the ready runs of one pool: queued, without a slot, and not delayed. Each call may be
// a round trip to a database, designed as one statement. Its cost must be proportional to the
// results and the skipped keys, not to the number of queued runs. A store's error ends Select with
// that error.
//
// During a Select no one else may assign the pool's slots. Slots may be released, and runs become
// ready or stop being ready: each call reflects its own moment, and no answer makes Select exceed a
// capacity or choose a run twice.
type Queue interface {
	// Priority returns the highest priority below the given one with a ready run; ok is false if there
	// is no such priority.
	Priority(below int) (priority int, ok bool, err error)
	// Keys returns up to n distinct keys that have a ready run at the priority, in byte order from
	// after last, wrapping around to last itself. Fewer than n means that there are no more. Keys at
	// the pool's KeyCapacity are skipped, except the empty key.
	Keys(priority int, last string, n int) ([]Key, error)
	// Oldest returns, for each of the wants in order, the ids of up to N ready runs of the key at the
	// priority, oldest first, ties by id. Fewer than N means that there are no more. The keys are
	// distinct. Oldest must not retain wants: the caller reuses the slice.
	Oldest(priority int, wants []Want) (ids [][]string, err error)
}

// Key is a key with a ready run.
type Key struct {
	Name string
	// Held is the number of the pool's slots that the key holds. Used only if the pool has a
	// KeyCapacity and Name is not empty; otherwise it may be 0.
	Held int
}

// Want asks for up to N runs of a key; N is at least 1.
type Want struct {
	Key string
	N   int
}
