package schema

import "sync"

// maxCache bounds the estimated memory of the cached schemas. A full cache is emptied.
const maxCache = 64 << 20

var shared = cache{compile: Compile}

// Cached is Compile with a cache for the whole process, since hosts use the same few schemas for
// all runs.
func Cached(raw []byte) (*Schema, error) { return shared.get(raw) }

type cache struct {
	compile func(raw []byte) (*Schema, error)

	mu     sync.Mutex
	byText map[string]*Schema // guarded by mu
	memory int                // of byText; guarded by mu
}

// get compiles without the lock, so that a large schema delays no caller of a cached one.
// Concurrent callers with the same new schema may each compile it; all get the first cached one.
func (c *cache) get(raw []byte) (*Schema, error) {
	if s := c.cached(raw); s != nil {
		return s, nil
	}
	s, err := c.compile(raw)
	if err != nil {
		return nil, err
	}
	return c.add(raw, s), nil
}

func (c *cache) cached(raw []byte) *Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byText[string(raw)]
}

func (c *cache) add(raw []byte, s *Schema) *Schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.byText[string(raw)]; first != nil {
		return first
	}
	if c.byText == nil || c.memory+s.size.Memory > maxCache {
		c.byText, c.memory = make(map[string]*Schema), 0
	}
	c.byText[string(raw)] = s
	c.memory += s.size.Memory
	return s
}
