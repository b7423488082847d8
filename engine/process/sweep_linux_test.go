package process

import "testing"

// What a turn pays for being sure that nothing is left of it.
func BenchmarkSweep(b *testing.B) {
	for b.Loop() {
		sweep("NOBODY", 0)
	}
}
