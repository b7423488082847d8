package interaction_test

import (
	"strings"
	"testing"

	"github.com/interlude-go/interlude/interaction"
)

// Every reply is digested once when it comes, and once more when its key comes again.
func BenchmarkDigest(b *testing.B) {
	for name, text := range map[string]string{"short": "yes, ship it", "longest": strings.Repeat("x",
		interaction.MaxReplyText)} {
		b.Run(name, func(b *testing.B) {
			reply := interaction.Reply{ID: 1, Text: text}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				reply.Digest()
			}
		})
	}
}
