package checkpoint

import "context"

// MaxBody is the largest version in bytes.
const MaxBody = 64 << 20

// Store stores versions. It must be safe for concurrent use, and shared by all processes that may
// execute the run.
//
// A call that fails is retried by the turn, with growing pauses for about 11 s: the store need not
// retry. An error that wraps ErrPermanent is not retried.
//
// A store may also have a method Delete(ctx, key) error, as Deleter says; versions that no attempt
// needs any more are then removed.
type Store interface {
	// Get returns what Set stored under the key; false when there is nothing.
	Get(ctx context.Context, key string) (body []byte, found bool, err error)
	// Set stores body under a key that was never used before. When it returns nil the version
	// survives a crash of process and machine; otherwise there is either nothing or the whole
	// version under the key, and never a part of it.
	Set(ctx context.Context, key string, body []byte) error
}

// Deleter is implemented by a Store that can remove versions.
type Deleter interface {
	// Delete removes the version; a missing version is not an error.
	Delete(ctx context.Context, key string) error
}
