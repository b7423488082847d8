//go:build !race

package audit_test

// flipStride is the distance of the flipped bits. It has no divisor in common with 8, so that every
// bit of a byte is flipped in some byte.
const flipStride = 61
