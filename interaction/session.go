package interaction

import "bytes"

// SessionHandle is how an engine finds its session again when a run goes on: opaque bytes, and the
// engine that they belong to. An engine hands it over with a turn, the store keeps it with the run,
// and the engine gets it back with the next turn. Nobody else reads the bytes.
type SessionHandle struct {
	Engine  string `json:"engine"`
	Version string `json:"version,omitempty"` // of the engine, where the form of the bytes depends on it
	Data    []byte `json:"data"`              // 1 to MaxSessionHandle bytes
}

// MaxSessionHandle is the largest SessionHandle.Data in bytes. A run whose turn ends with a longer
// one fails: its wait could never be resumed.
const MaxSessionHandle = 64 << 10

// Clone returns a copy that shares nothing with the handle, nil of nil.
func (h *SessionHandle) Clone() *SessionHandle {
	if h == nil {
		return nil
	}
	return &SessionHandle{Engine: h.Engine, Version: h.Version, Data: bytes.Clone(h.Data)}
}

// Equal reports whether two handles have the same content; nil equals nil only.
func (h *SessionHandle) Equal(other *SessionHandle) bool {
	if h == nil || other == nil {
		return h == other
	}
	return h.Engine == other.Engine && h.Version == other.Version && bytes.Equal(h.Data, other.Data)
}
