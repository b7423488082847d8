package slots

// Queue looks at the ready runs of one pool: queued, without a slot, and not held back by a not-before time.
// Each call is one seek; its cost must not depend on how many runs are queued. A store's error ends Select with that error.
type Queue interface {
	// Priority returns the highest priority below the given one at which a run is ready.
	Priority(below int) (priority int, ok bool, err error)
	// Key returns the first key, in byte order, after the given one that has a ready run at the priority; with
	// inclusive, the given key itself counts.
	Key(priority int, after string, inclusive bool) (key string, ok bool, err error)
	// Oldest returns the ids of up to n ready runs of the key at the priority, oldest first.
	Oldest(priority int, key string, n int) (ids []string, err error)
}

// Use is what a pool's slots are held for.
type Use struct {
	Total int
	// Key returns how many slots the key holds. It is called for keys that are not empty, when KeyCapacity is set.
	Key func(key string) (int, error)
}

// Top is above every priority: the place where a look at the queue begins.
const Top = int(^uint(0) >> 1)

// Select returns the ids of up to want ready runs to start, in order, within the pool's capacity, and the key that was
// served last. Last is the key that was served last before; it is a hint that spreads the turns over several
// calls, and may be lost.
//
// Seeks: a few for each picked run, each key that has no room, and each priority.
func Select(p Pool, use Use, q Queue, want int, last string) (ids []string, served string, _ error) {
	free := min(want, p.Capacity-use.Total)
	c := choice{pool: p, use: use, queue: q, picked: make(map[string]int), served: last}
	for below := Top; len(c.ids) < free; {
		priority, ok, err := q.Priority(below)
		if err == nil && ok {
			err = c.round(priority, free-len(c.ids))
		}
		if err != nil {
			return nil, last, err
		}
		if !ok {
			break
		}
		below = priority
	}
	return c.ids, c.served, nil
}

// choice is one Select on its way.
type choice struct {
	pool   Pool
	use    Use
	queue  Queue
	ids    []string
	picked map[string]int // by key, so far
	served string
}

// share is one key's part in the turns of a priority.
type share struct {
	key  string
	room int      // most that the key may start
	ids  []string // its oldest ready runs, as far as looked at
	more bool     // there may be more of them
}

// round shares free slots among the keys of one priority, a slot a turn.
func (c *choice) round(priority, free int) error {
	shares, err := c.partakers(priority, free)
	if err == nil {
		err = c.fill(priority, free, shares)
	}
	if err != nil {
		return err
	}
	for turn, more := 0, true; more && free > 0; turn++ {
		more = false
		for _, s := range shares {
			if turn < len(s.ids) && free > 0 {
				c.ids = append(c.ids, s.ids[turn])
				c.picked[s.key]++
				c.served = s.key
				free--
				more = true
			}
		}
	}
	return nil
}

// partakers are up to free keys with room, beginning after the last served one and once around.
func (c *choice) partakers(priority, free int) ([]*share, error) {
	last := c.served
	var shares []*share
	around := func(from string, inclusive bool, until func(key string) bool) error {
		for len(shares) < free {
			key, ok, err := c.queue.Key(priority, from, inclusive)
			if err != nil || !ok || !until(key) {
				return err
			}
			room := free
			if c.pool.KeyCapacity > 0 && key != "" {
				held, err := c.use.Key(key)
				if err != nil {
					return err
				}
				room = min(room, c.pool.KeyCapacity-held-c.picked[key])
			}
			if room > 0 {
				shares = append(shares, &share{key: key, room: room, more: true})
			}
			from, inclusive = key, false
		}
		return nil
	}
	if err := around(last, false, func(string) bool { return true }); err != nil {
		return nil, err
	}
	if err := around("", true, func(key string) bool { return key <= last }); err != nil {
		return nil, err
	}
	return shares, nil
}

// fill looks at as many runs of each key as the turns can come to: an equal part each, and what some keys do not
// need in equal parts for the others, so that the look stays in proportion to what is picked.
func (c *choice) fill(priority, free int, shares []*share) error {
	for left := free; left > 0; {
		var hungry []*share
		for _, s := range shares {
			if s.more {
				hungry = append(hungry, s)
			}
		}
		if len(hungry) == 0 {
			return nil
		}
		part := (left + len(hungry) - 1) / len(hungry)
		for _, s := range hungry {
			n := min(s.room, len(s.ids)+part)
			ids, err := c.queue.Oldest(priority, s.key, n)
			if err != nil {
				return err
			}
			left -= len(ids) - len(s.ids)
			s.ids, s.more = ids, len(ids) == n && n < s.room
		}
	}
	return nil
}
