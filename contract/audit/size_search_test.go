//go:build search

package audit

const (
	FlipStride = 151
	everyLog   = true
)
