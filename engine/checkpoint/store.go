package checkpoint

import "context"

// MaxBody is the largest version in bytes.
const MaxBody = 64 << 20

// Store stores versions. It must be safe for concurrent use, and shared by all processes that may
// execute the run.
//
// The turn retries failed calls, with growing pauses for about 11 s, except errors that wrap
// ErrPermanent.
//
// If the store is a Deleter, unneeded versions are removed.
type Store interface {
	// Get returns the body stored under the key; false if missing.
	Get(ctx context.Context, key string) (body []byte, found bool, err error)
	// Set stores body under a new key. When it returns nil the version survives a crash of process
	// and machine; otherwise nothing or the whole version is stored, never a part.
	Set(ctx context.Context, key string, body []byte) error
}

// Deleter is implemented by a Store that can remove versions.
type Deleter interface {
	// Delete removes the version; a missing version is not an error.
	Delete(ctx context.Context, key string) error
}
