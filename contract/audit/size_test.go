//go:build !race

package audit_test

// flipStride flips each nth bit. It shares no divisor with 8, so that it comes to each bit of a
// byte.
const flipStride = 61
