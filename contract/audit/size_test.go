//go:build !race && !search

package audit

const (
	// FlipStride is the distance of the flipped bits. It has no divisor in common with 8, so that
	// every bit of a byte is flipped in some byte.
	FlipStride = 1201
	// everyLog says that an allowance is tried in each log that it concerns, and not only in one.
	// .ci/search does that.
	everyLog = false
)
