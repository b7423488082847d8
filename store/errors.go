package store

import "errors"

// Results of a store that has written nothing.
var (
	ErrNotFound    = errors.New("store: not found")
	ErrExists      = errors.New("store: id exists already")
	ErrConflict    = errors.New("store: record changed since it was read")
	ErrStaleEpoch  = errors.New("store: worker's lease or epoch is no longer valid")
	ErrUnknownPool = errors.New("store: unknown pool")
	ErrInvalid     = errors.New("store: invalid")
	ErrClosed      = NewError(ErrUnavailable, "store: closed")
	// ErrCorrupt: the stored data cannot be decoded.
	ErrCorrupt = errors.New("store: corrupt")
	// ErrNewer: a later release wrote the record, with a feature that this one does not know. The
	// record stays as it is. Upgrade. It matches ErrCorrupt.
	ErrNewer = NewError(ErrCorrupt, "store: written by a later release")
)

// Classes of a store's errors that callers handle alike for every store. The failed call may have
// been stored or not: repeat it with the same id or key.
var (
	// ErrUnavailable: the store does not serve the call now. It is closed, cannot be reached, may
	// not be written, or is held by others for too long. The call may succeed later.
	ErrUnavailable = errors.New("store: unavailable")
	// ErrFull: no space is left where the store keeps its data. Calls succeed when there is.
	ErrFull = errors.New("store: no space is left")
)

// NewError returns an error for a store to declare: it has the text, and matches kind, for example
// ErrUnavailable.
func NewError(kind error, text string) error { return &ownError{kind, text} }

// ownError is a store's error of a kind above.
type ownError struct {
	kind error
	text string
}

func (e *ownError) Error() string { return e.text }
func (e *ownError) Unwrap() error { return e.kind }
