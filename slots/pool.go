package slots

import (
	"errors"
	"fmt"
	"regexp"
)

// DefaultPool is the pool of runs that name no other.
const DefaultPool = "default"

// DefaultCapacity is the capacity of the default pool unless configured.
const DefaultCapacity = 16

// MaxCapacity is the largest capacity of a pool.
const MaxCapacity = 1_000_000

// MaxName is the longest name of a pool, and of an engine, in bytes.
const MaxName = 63

// ErrInvalidPool is matched by every error of Pool.Validate.
var ErrInvalidPool = errors.New("slots: invalid pool")

var poolName = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,%d}$`, MaxName-1))

// Pool is a shared set of execution slots. Priority is strict, without ageing: a low-priority run
// waits as long as runs of higher priority are ready. Give runs that must not wait for them a
// separate pool.
type Pool struct {
	// Name is 1 to MaxName of [A-Za-z0-9._/-], beginning with a letter or digit.
	Name string `json:"name"`
	// Capacity limits the runs of the pool that hold a slot; 1 to MaxCapacity.
	Capacity int `json:"capacity"`
	// KeyCapacity limits the slots held by runs of one key, such as a tenant; 0: no limit.
	KeyCapacity int `json:"key_capacity,omitempty"`
}

// Validate returns an error that names the invalid field and matches ErrInvalidPool.
func (p Pool) Validate() error {
	switch {
	case !poolName.MatchString(p.Name):
		return fmt.Errorf("%w: name is %.80q, want 1 to 63 of [A-Za-z0-9._/-], beginning with a letter or digit",
			ErrInvalidPool, p.Name)
	case p.Capacity < 1 || p.Capacity > MaxCapacity:
		return fmt.Errorf("%w: capacity of %s is %d, want 1 to %d", ErrInvalidPool, p.Name, p.Capacity, MaxCapacity)
	case p.KeyCapacity < 0 || p.KeyCapacity > MaxCapacity:
		return fmt.Errorf("%w: key capacity of %s is %d, want 0 to %d", ErrInvalidPool, p.Name, p.KeyCapacity,
			MaxCapacity)
	}
	return nil
}
