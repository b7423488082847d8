package slots

import "slices"

// Top is above every priority: the place where a look at the queue begins.
const Top = int(^uint(0) >> 1)

// Select returns the ids of up to want ready runs to start, in order, within the pool's capacity,
// and the key that was served last. Held is how many of the pool's slots are held. Last is the key
// that was served last before; it is a hint that spreads the turns over several calls, and may be
// lost.
//
// Calls of the queue: for each priority one of Priority, one of Keys, and mostly one of Oldest, at
// worst a few (fill says how many); and one last of Priority where runs are fewer than slots. They
// look at a few runs for each picked one, and at each key that has no room. Where runs cease to be
// ready between two calls, a priority is looked at again, a few times: keys that were not asked may
// wait there.
func Select(p Pool, held int, q Queue, want int, last string) (ids []string, served string, _ error) {
	free := min(want, p.Capacity-held)
	c := choice{pool: p, queue: q, served: last}
	again := retries
	for below := Top; len(c.ids) < free; {
		priority, ok, err := q.Priority(below)
		others := false
		if err == nil && ok {
			others, err = c.round(priority, free-len(c.ids))
		}
		if err != nil {
			return nil, last, err
		}
		if !ok {
			break
		}
		if others && again > 0 {
			again--
			continue
		}
		below = priority
	}
	return c.ids, c.served, nil
}

// retries bound how often one Select looks again at a priority.
const retries = 8

// choice is one Select on its way.
type choice struct {
	pool   Pool
	queue  Queue
	ids    []string
	served string
	picked map[string]int    // so far, by key; of keys that have a bound of their own
	filled int               // keys that have no room any more because of it
	before map[lane][]string // picked by rounds that are made again: the queue still shows them
}

// lane is a key at a priority.
type lane struct {
	priority int
	key      string
}

// share is one key's part in the turns of a priority.
type share struct {
	key  string
	held int      // slots before this selection
	room int      // most that the key may start
	ids  []string // its oldest ready runs, as far as looked at
	more bool     // there may be more of them
	went int      // how many of them are picked
}

// round shares free slots among the keys of one priority, a slot a turn. Others says that slots are
// left, and that more keys may wait there than were asked.
func (c *choice) round(priority, free int) (others bool, _ error) {
	shares, others, err := c.partakers(priority, free)
	if err == nil {
		err = c.fill(priority, free, shares)
	}
	if err != nil {
		return false, err
	}
	for turn, more := 0, true; more; turn++ {
		more = false
		for i := range shares {
			if s := &shares[i]; turn < len(s.ids) && free > 0 {
				c.pick(s, s.ids[turn])
				s.went++
				free--
				more = true
			}
		}
	}
	if others = others && free > 0; others {
		c.remember(priority, shares)
	}
	return others, nil
}

// remember notes what a round picked that may be made again.
func (c *choice) remember(priority int, shares []share) {
	if c.before == nil {
		c.before = make(map[lane][]string)
	}
	for _, s := range shares {
		l := lane{priority, s.key}
		c.before[l] = append(c.before[l], s.ids[:s.went]...)
	}
}

func (c *choice) pick(s *share, id string) {
	c.ids = append(c.ids, id)
	c.served = s.key
	if !c.bounded(s.key) {
		return
	}
	if c.picked == nil {
		c.picked = make(map[string]int)
	}
	c.picked[s.key]++
	if s.held+c.picked[s.key] == c.pool.KeyCapacity {
		c.filled++
	}
}

// bounded reports whether the key has a bound of its own.
func (c *choice) bounded(key string) bool { return c.pool.KeyCapacity > 0 && key != "" }

// partakers are up to free keys with room, beginning after the last served one and once around. The
// queue knows what room the keys had before this selection; those filled since may be among its
// answer, so as many more are asked for. Others says that there may be more of them.
func (c *choice) partakers(priority, free int) (_ []share, others bool, _ error) {
	asked := free + c.filled
	keys, err := c.queue.Keys(priority, c.served, asked)
	if err != nil {
		return nil, false, err
	}
	shares := make([]share, 0, min(free, len(keys)))
	for _, k := range keys {
		room := free
		if c.bounded(k.Name) {
			room = min(room, c.pool.KeyCapacity-k.Held-c.picked[k.Name])
		}
		if room > 0 && len(shares) < free {
			shares = append(shares, share{key: k.Name, held: k.Held, room: room, more: true})
		}
	}
	return shares, len(keys) == asked, nil
}

// fill looks at as many runs of each key as the turns can come to: an equal part each, and what
// some keys do not need in equal parts for the others, so that the look stays in proportion to what
// is picked.
//
// When the share e of the hungry keys is satisfied by a look, no more than the share e of the slots
// is left for the others. So each look leaves at most e*(1-e), a quarter, of slots times keys: n
// slots and k keys need no more than 1+log4(n*k) looks.
func (c *choice) fill(priority, free int, shares []share) error {
	hungry, wants := make([]*share, 0, len(shares)), make([]Want, 0, len(shares))
	for left := free; left > 0; {
		hungry, wants = hungry[:0], wants[:0]
		for i := range shares {
			if shares[i].more {
				hungry = append(hungry, &shares[i])
			}
		}
		if len(hungry) == 0 {
			return nil
		}
		part := (left + len(hungry) - 1) / len(hungry)
		for _, s := range hungry {
			wants = append(wants, Want{s.key, min(s.room, len(s.ids)+part) + len(c.before[lane{priority, s.key}])})
		}
		ids, err := c.queue.Oldest(priority, wants)
		if err != nil {
			return err
		}
		for i, s := range hungry {
			had := c.before[lane{priority, s.key}]
			s.more = len(ids[i]) == wants[i].N && wants[i].N < s.room+len(had)
			ids[i] = slices.DeleteFunc(ids[i], func(id string) bool { return slices.Contains(had, id) })
			left -= len(ids[i]) - len(s.ids)
			s.ids = ids[i]
		}
	}
	return nil
}
