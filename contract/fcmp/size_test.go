//go:build !race

package fcmp

// stride tries each nth of the cases that are enumerated.
const stride = 1
