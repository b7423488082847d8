package process

import "testing"

// What a turn pays for being sure that nothing is left of it.
func BenchmarkEndByToken(b *testing.B) {
	for b.Loop() {
		endByToken("NOBODY", 0)
	}
}
