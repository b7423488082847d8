//go:build !unix

package web

import "math"

// maxDescriptors is unlimited where sockets are not descriptors.
func maxDescriptors() int { return math.MaxInt32 }
