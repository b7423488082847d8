package interaction

import "bytes"

// SessionHandle identifies an engine's session: opaque bytes, and the engine that owns and
// interprets them. The engine returns it from a turn, the store keeps it with the run, and the
// engine receives it in the next turn.
type SessionHandle struct {
	Engine  string `json:"engine"`
	Version string `json:"version,omitempty"` // of the engine, if the format of the bytes depends on
	// it
	Data []byte `json:"data"` // 1 to MaxSessionHandle bytes
}

// MaxSessionHandle limits SessionHandle.Data, in bytes. A turn that returns more fails the run,
// since it could not be resumed.
const MaxSessionHandle = 64 << 10

// Clone returns a deep copy, nil for nil.
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
