package slots

// DefaultPool is the pool of a run that names none.
const DefaultPool = "default"

// DefaultCapacity is the capacity of the default pool when nobody configured it.
const DefaultCapacity = 16

// Pool is a set of execution slots that runs share.
type Pool struct {
	Name string `json:"name"`
	// Capacity is how many runs of the pool may hold a slot at one time; at least 1.
	Capacity int `json:"capacity"`
	// KeyCapacity is how many of them may share one key (a tenant, say); 0 means no limit of its own.
	KeyCapacity int `json:"key_capacity,omitempty"`
}
