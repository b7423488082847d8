//go:build unix && !linux

package process_test

// zombie: whoever ended these processes waits for them here, or their parent is init.
func zombie(int) bool { return false }
