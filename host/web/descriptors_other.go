//go:build !unix

package web

import "math"

// maxDescriptors is unlimited where sockets are not file descriptors.
func maxDescriptors() int { return math.MaxInt32 }
