package slots

import "slices"

// Top is above every priority: Select asks first for the highest priority below it.
const Top = int(^uint(0) >> 1)

// Select returns the ids of up to want ready runs to start, in order, within the pool's capacity,
// and the key that was served last. Held is how many of the pool's slots are held. Last is the key
// that was served last before; it is a hint that spreads the turns over several calls, and may be
// lost.
//
// For each priority Select calls Priority and Keys once, and Oldest mostly once, at worst a few
// times (fill says how many). If fewer runs are ready than slots are free, it calls Priority once
// more. These calls look at a few runs for each picked one, and at each key that has no room. If
// runs cease to be ready between two calls, Select repeats the priority, a few times, because keys
// that Keys did not return may have ready runs.
func Select(p Pool, held int, q Queue, want int, last string) (ids []string, served string, _ error) {
	free := min(want, p.Capacity-held)
	c := choice{pool: p, queue: q, served: last}
	revisits := maxRevisits
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
		if others && revisits > 0 {
			revisits--
			continue
		}
		below = priority
	}
	return c.ids, c.served, nil
}

// maxRevisits bounds how often one Select repeats a priority, over all priorities.
const maxRevisits = 8

// choice is the state of one Select.
type choice struct {
	pool   Pool
	queue  Queue
	ids    []string
	served string
	picked map[string]int    // so far, by key; of keys that have a bound of their own
	filled int               // keys that have no room any more because of picked
	before map[lane][]string // picked by rounds that are repeated: the queue still returns them
}

// lane is a key at a priority.
type lane struct {
	priority int
	key      string
}

// share is one key's part in the turns of a priority.
type share struct {
	key    string
	held   int      // slots before this selection
	room   int      // most that the key may start
	ids    []string // its oldest ready runs, as far as fill loaded them
	more   bool     // there may be more of them
	picked int      // how many of ids are picked
}

// round shares free slots among the keys of one priority, a slot a turn. Others says that slots are
// left, and that more keys may wait there than were asked.
func (c *choice) round(priority, free int) (others bool, _ error) {
	shares, others, err := c.keysWithRoom(priority, free)
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
				s.picked++
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

// remember notes what a round picked, for the case that Select repeats the priority.
func (c *choice) remember(priority int, shares []share) {
	if c.before == nil {
		c.before = make(map[lane][]string)
	}
	for _, s := range shares {
		l := lane{priority, s.key}
		c.before[l] = append(c.before[l], s.ids[:s.picked]...)
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

// keysWithRoom returns a share for up to free keys with room, beginning after the key served last
// and once around. The queue knows what room the keys had before this selection. Its answer may
// contain keys that this selection has filled since, so keysWithRoom asks for as many more. Others
// says that there may be more keys.
func (c *choice) keysWithRoom(priority, free int) (_ []share, others bool, _ error) {
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

// fill loads the oldest runs of each key, as many as round can pick: first an equal part of the
// free slots for each key, then what some keys did not need in equal parts for the others. So it
// loads in proportion to what is picked.
//
// When one call of Oldest satisfies the share e of the hungry keys, no more than the share e of the
// slots is left for the others. So each call leaves at most e*(1-e), a quarter, of slots times
// keys: n slots and k keys need no more than 1+log4(n*k) calls.
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
