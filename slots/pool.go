package slots

import (
	"errors"
	"fmt"
	"regexp"
)

// DefaultPool is the pool of a run that names none.
const DefaultPool = "default"

// DefaultCapacity is the capacity of the default pool when nobody configured it.
const DefaultCapacity = 16

// MaxCapacity is the largest capacity of a pool.
const MaxCapacity = 1_000_000

// MaxName is the longest name of a pool, and of an engine, in bytes.
const MaxName = 63

// ErrInvalidPool is matched by every error of Pool.Validate.
var ErrInvalidPool = errors.New("slots: invalid pool")

var poolName = regexp.MustCompile(fmt.Sprintf(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,%d}$`, MaxName-1))

// Pool is a set of execution slots that runs share. Among the runs that wait for one, priority is
// strict: nobody ages, and a run of a low priority waits for as long as there are others of a
// higher one. What must not wait for them gets a pool of its own.
type Pool struct {
	// Name is 1 to MaxName of [A-Za-z0-9._/-], beginning with a letter or digit.
	Name string `json:"name"`
	// Capacity is how many runs of the pool may hold a slot at one time; 1 to MaxCapacity.
	Capacity int `json:"capacity"`
	// KeyCapacity is how many of them may share one key (a tenant, say); 0 means no limit of its
	// own.
	KeyCapacity int `json:"key_capacity,omitempty"`
}

// Validate says which field is wrong; the error matches ErrInvalidPool.
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
