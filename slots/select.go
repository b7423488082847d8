package slots

import "slices"

// top is above every priority: Select starts with the highest priority below it.
const top = int(^uint(0) >> 1)

// Select returns the ids of up to want ready runs to start, in order, within the pool's capacity,
// and the key served last. Held is the number of held slots of the pool. Last is the key served
// last by the previous call; it is a hint for fairness across calls, and may be lost.
//
// For each priority Select calls Priority and Keys once, and Oldest usually once, at worst a few
// times (see fill). If fewer runs are ready than slots are free, it calls Priority once more. These
// calls read a few runs per selected run, and every key without room. If runs stop being ready
// between two calls, Select repeats the priority, a few times, because keys that Keys did not
// return may have ready runs.
func Select(p Pool, held int, q Queue, want int, last string) (ids []string, served string, _ error) {
	free := min(want, p.Capacity-held)
	c := choice{pool: p, queue: q, served: last}
	revisits := maxRevisits
	for below := top; len(c.ids) < free; {
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

// maxRevisits limits how often one Select repeats a priority, over all priorities.
const maxRevisits = 8

// choice is the state of one Select.
type choice struct {
	pool   Pool
	queue  Queue
	ids    []string
	served string
	picked map[string]int    // so far, by limited key
	filled int               // keys without room because of picked
	before map[lane][]string // picked by repeated rounds: the queue still returns them
}

// lane is a key at a priority.
type lane struct {
	priority int
	key      string
}

// share is one key's part in a priority's turns.
type share struct {
	key    string
	held   int      // slots before this selection
	room   int      // most that the key may start
	ids    []string // its oldest ready runs loaded so far
	more   bool     // there may be more
	picked int      // how many of ids are picked
}

// round distributes free slots among the keys of one priority, one per turn. Others reports that
// slots are left and that more keys may have ready runs.
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

// remember records the picks of a round, in case Select repeats the priority.
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

// bounded reports whether KeyCapacity applies to the key.
func (c *choice) bounded(key string) bool { return c.pool.KeyCapacity > 0 && key != "" }

// keysWithRoom returns a share for up to free keys with room, starting after the key served last
// and wrapping around. The queue knows only the room before this selection, so keysWithRoom asks
// for as many extra keys as this selection has filled. Others reports that there may be more keys.
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
// free slots for each key, then the unused parts, divided equally among the other keys. The loaded
// runs are thus proportional to the picked ones.
//
// If one call of Oldest satisfies the share e of the hungry keys, at most the share e of the slots
// is left for the others. Each call thus leaves at most e*(1-e), a quarter, of slots times keys: n
// slots and k keys need at most 1+log4(n*k) calls.
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
